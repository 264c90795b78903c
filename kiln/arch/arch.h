// The chip as data: one Arch per NeuronCore generation. Rules and costs read these numbers; no other folder
// knows the difference between generations by name. Figures: docs/architecture.md names the public sources.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

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

struct EngineSpec {
  double clock_ghz;
  int lanes;                // partitions served per cycle
  double elements_wide;     // elements per lane and cycle, any dtype
  double elements_16bit;    // the same for bfloat16 and float16 in the fast modes
  double elements_8bit;     // the same for 8-bit floats in the fast modes
  int min_interval_cycles;  // shortest distance between two instructions
  int start_cycles;         // fixed cost of an instruction that starts a program on the engine (gpsimd)
  int registers;            // 32-bit registers of the sequencer
  double elements_32bit;    // elements per lane and cycle of 32-bit copies inside SBUF; 0: elements_wide
};

struct DmaSpec {
  int engines;
  double bytes_per_ns;                                           // sustained, per engine
  double peak_bytes_per_ns;                                      // theoretical, per engine
  double start_ns;                                               // semaphore to first byte
  double hwdge_issue_ns;                                         // hardware DGE trigger instruction
  double completion_ns;                                          // last byte to the waiting instruction
  double descriptor_ns;                                          // per contiguous run
  double transpose_rate_hbm, transpose_rate_sbuf, compute_rate;  // share of the copy rate
  double gpsimd_bytes_per_ns;                                    // the engine's own DMA, each way; 0 when it has none
};

// What a generation can do that an older one cannot.
struct Features {
  bool hwdge;         // descriptors made by hardware
  bool dma_priority;  // four classes of service
  bool dma_indirect_transpose;
  bool tensor_transpose_mode;  // bit-exact transpose with 16-bit results in PSUM
  bool double_row;             // fp8 matmul with twice the rows
  bool row_tile_32;            // 32-row and 32-column tiles of the tensor engine
  bool mx;                     // microscaling formats
  bool float8_e4m3fn;
  bool psum_bfloat16;      // bfloat16 matmul results, results that span banks
  bool scalar_bit_copy;    // the scalar engine copies bits instead of going through float32
  bool scalar_tensor_ops;  // tensor_copy and tensor_scalar on the scalar engine
  bool scalar_immediate_bias;
  bool vector_fast_modes;
  bool vector_exponential;
  bool vector_xorwow;
  bool alu_gen4;  // abs_max, abs_min, square and relu as first operator
  bool indirect;  // gathered and scattered free dimension
  bool lnc2;      // two cores as one logical core
  bool range_select, nonzero_with_count, gpsimd_rng;
  bool background_transpose;  // a transpose on the tensor engine beside another matmul
  bool separate_ports;        // vector and gpsimd on SBUF, vector and scalar on PSUM at the same time
};

struct Arch {
  Target target;
  std::string_view name;             // trn2
  std::string_view generation_name;  // gen3
  std::string_view core_name;        // NeuronCore-v3
  int generation;                    // 3
  int partitions;
  std::int64_t sbuf_partition_bytes, sbuf_reserved_bytes;
  std::int64_t psum_partition_bytes, psum_bank_bytes;
  int psum_banks;
  std::int64_t hbm_bytes;
  double hbm_bytes_per_ns;  // one stack as a core sees it
  int cores;
  int matmul_rows, matmul_columns;            // stationary limits
  int matmul_moving, matmul_moving_bfloat16;  // moving limits by destination dtype
  int matmul_init_cycles;
  int matmul_fp32_passes;
  int dynamic_address_cycles;  // instruction with a run-time address
  int psum_access_cycles, sbuf_access_cycles;
  std::int64_t max_free_size, max_dim_count, max_dim_stride;
  EngineSpec engine[kEngineCount];
  DmaSpec dma;
  TimingSpec timing;
  Features features;
};

const Arch& arch(Target target);
std::span<const Arch* const> all_archs();
bool parse_target(std::string_view text, Target& out);  // trn1|gen2, trn2|gen3, trn3|gen4

}  // namespace kiln
