#include "kiln/arch/arch.h"

#include <array>

#include "kiln/arch/generations.h"

namespace kiln {
namespace {
constexpr std::string_view kMemoryNames[kMemoryCount] = {"hbm", "shared_hbm", "private_hbm", "sbuf", "psum"};
constexpr std::string_view kEngineNames[kEngineCount] = {"unknown", "tensor", "scalar", "gpsimd",
                                                         "dma",     "vector", "sync"};
constexpr std::array<const Arch*, 3> kArchs = {&kGen2, &kGen3, &kGen4};

template <class T, std::size_t N>
bool find(const std::string_view (&names)[N], std::string_view text, T& out) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == text) return out = static_cast<T>(i), true;
  }
  return false;
}
}  // namespace

std::string_view name(Memory memory) { return kMemoryNames[static_cast<int>(memory)]; }
std::string_view name(Engine engine) { return kEngineNames[static_cast<int>(engine)]; }
bool parse_memory(std::string_view text, Memory& out) { return find(kMemoryNames, text, out); }
bool parse_engine(std::string_view text, Engine& out) { return find(kEngineNames, text, out); }

const Arch& arch(Target target) { return *kArchs[static_cast<int>(target)]; }
std::span<const Arch* const> all_archs() { return kArchs; }

bool parse_target(std::string_view text, Target& out) {
  for (const Arch* a : kArchs) {
    if (text == a->name || text == a->generation_name) return out = a->target, true;
  }
  return false;
}

}  // namespace kiln
