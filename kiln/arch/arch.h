// The chip as data: one Arch per NeuronCore generation. Rules and costs read these numbers; no other folder
// knows the difference between generations by name. Figures: docs/architecture.md names the public sources.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kiln/arch/dma_spec.h"
#include "kiln/arch/engine_spec.h"
#include "kiln/arch/features.h"
#include "kiln/arch/link_spec.h"
#include "kiln/arch/timing_spec.h"

namespace kiln {

enum class Target : std::uint8_t { trn1, trn2, trn3 };

enum class Memory : std::uint8_t { hbm, shared_hbm, private_hbm, sbuf, psum };
inline constexpr int kMemoryCount = 5;
std::string_view name(Memory memory);
bool parse_memory(std::string_view text, Memory& out);
constexpr bool is_on_chip(Memory m) { return m == Memory::sbuf || m == Memory::psum; }
constexpr bool is_hbm(Memory m) { return !is_on_chip(m); }

// Numbered as nki.isa.engine.
enum class Engine : std::uint8_t { unknown, tensor, scalar, gpsimd, dma, vector, sync };
inline constexpr int kEngineCount = 7;
std::string_view name(Engine engine);
bool parse_engine(std::string_view text, Engine& out);

inline constexpr int kQuadrantPartitions = 32;  // the unit in which tiles start, on every generation
inline constexpr int kMaxPartitions = 128;      // of any generation: what a core keeps per partition has so many rows

struct Arch {
  Target target{};
  std::string_view name;             // trn2
  std::string_view other_name;       // inf2 for trn1: another chip or stepping with the same core; empty when none
  std::string_view generation_name;  // gen3
  std::string_view core_name;        // NeuronCore-v3
  int generation = 0;                // 3

  // Memories of a core.
  int partitions = 0;
  std::int64_t sbuf_partition_bytes = 0, sbuf_reserved_bytes = 0;
  std::int64_t psum_partition_bytes = 0, psum_bank_bytes = 0;
  int psum_banks = 0;
  std::int64_t hbm_bytes = 0;
  double hbm_bytes_per_ns = 0;  // one stack as a core sees it

  // Limits of operands.
  std::int64_t max_free_elements = 0;                  // of one operand, repeated ones included
  std::int64_t max_dim_count = 0, max_dim_stride = 0;  // of one dimension
  int matmul_rows = 0, matmul_columns = 0;             // stationary
  int matmul_moving = 0, matmul_moving_bfloat16 = 0;   // moving, by destination dtype
  int bn_stats_elements = 0;                           // of one row
  int sequencer_registers = 0;                         // 32-bit registers of each engine's sequencer

  // Cycles of single instructions.
  int matmul_init_cycles = 0;
  int matmul_fp32_passes = 0;
  int matmul_passes_together = 0;  // passes that run as one matmul
  int dynamic_address_cycles = 0;  // instruction with a run-time address
  int sbuf_access_cycles = 0;

  EngineSpec tensor, vector, scalar, gpsimd, sync;
  DmaSpec dma;
  TimingSpec timing;
  LinkSpec links;
  Features features;

  // All zero for Engine::dma and Engine::unknown, which stream nothing.
  const EngineSpec& engine(Engine e) const;
};

const Arch& arch(Target target);
std::span<const Arch* const> all_archs();               // as Target counts
std::string target_names(std::string_view separator);   // trn1|trn2|trn3
bool parse_target(std::string_view text, Target& out);  // trn1 or gen2, trn2 or gen3, trn3 or gen4

}  // namespace kiln
