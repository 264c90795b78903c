#include "kiln/timing/stream.h"

namespace kiln::timing {
namespace {

struct Row {
  const char* name;
  Engine engine;
};
constexpr Row kRows[kStreamCount] = {
    {"tensor", Engine::tensor}, {"vector", Engine::vector}, {"scalar", Engine::scalar},
    {"gpsimd", Engine::gpsimd}, {"sync", Engine::sync},     {"sync stores", Engine::sync},
};

}  // namespace

const char* name(Stream stream) { return kRows[static_cast<int>(stream)].name; }
Engine engine_of(Stream stream) { return kRows[static_cast<int>(stream)].engine; }

Stream stream_of(Engine engine) {
  for (int s = 0; s < kStreamCount; ++s) {
    if (kRows[s].engine == engine) return static_cast<Stream>(s);
  }
  return Stream::sync;
}

}  // namespace kiln::timing
