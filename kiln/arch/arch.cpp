#include "kiln/arch/arch.h"

#include <array>

#include "kiln/arch/gen2.h"
#include "kiln/arch/gen3.h"
#include "kiln/arch/gen4.h"

namespace kiln {
namespace {
constexpr std::string_view kMemoryNames[kMemoryCount] = {"hbm", "shared_hbm", "private_hbm", "sbuf", "psum"};
constexpr std::string_view kEngineNames[kEngineCount] = {"unknown", "tensor", "scalar", "gpsimd",
                                                         "dma",     "vector", "sync"};
constexpr EngineSpec kNoEngine;

constexpr Arch kGen2 = gen2(), kGen3 = gen3(), kGen4 = gen4();
constexpr std::array<const Arch*, 3> kArchs = {&kGen2, &kGen3, &kGen4};

// What the code counts on beyond the numbers themselves.
constexpr bool is_sound(const Arch& a) {
  return a.partitions <= kMaxPartitions && a.partitions % kQuadrantPartitions == 0 &&
         a.psum_partition_bytes == a.psum_banks * a.psum_bank_bytes;
}
constexpr bool all_sound() {
  for (std::size_t i = 0; i < kArchs.size(); ++i) {
    if (static_cast<std::size_t>(kArchs[i]->target) != i || !is_sound(*kArchs[i])) return false;
  }
  return true;
}
static_assert(all_sound(), "the generations stand in the order of Target");

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

const EngineSpec& Arch::engine(Engine e) const {
  switch (e) {
    case Engine::tensor:
      return tensor;
    case Engine::vector:
      return vector;
    case Engine::scalar:
      return scalar;
    case Engine::gpsimd:
      return gpsimd;
    case Engine::sync:
      return sync;
    case Engine::dma:
    case Engine::unknown:
      break;
  }
  return kNoEngine;
}

const Arch& arch(Target target) { return *kArchs[static_cast<int>(target)]; }
std::span<const Arch* const> all_archs() { return kArchs; }

std::string target_names(std::string_view separator) {
  std::string text;
  for (const Arch* a : kArchs) text.append(text.empty() ? "" : separator).append(a->name);
  return text;
}

bool parse_target(std::string_view text, Target& out) {
  for (const Arch* a : kArchs) {
    if (text == a->name || text == a->generation_name) return out = a->target, true;
  }
  return false;
}

}  // namespace kiln
