// The machine: runs a Launch on arrays. Values are defined by each instruction's `run`; results do not
// depend on the number of threads. Run-time rules (labels run.R1 …) are always on.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/analysis/engine_counts.h"
#include "kiln/arch/arch.h"
#include "kiln/base/error.h"
#include "kiln/isa/launch.h"
#include "kiln/isa/program.h"

namespace kiln::sim {

// What the first operand's tensor of a watched instruction holds after an execution.
struct Sight {
  int core;
  isa::InstructionId instruction;
  std::vector<std::byte> bytes;          // partition by partition
  std::vector<std::uint8_t> is_missing;  // per byte: 1 where nobody has written
};

// What happens when an instruction makes NaN or infinity of numbers.
enum class NanMode : std::uint8_t { off, warn, error };
inline constexpr std::string_view kNanModes[] = {"off", "warn", "error"};
bool parse_nan_mode(std::string_view text, NanMode& out);

// A loop around an instruction by its name, or by that of the register that is its condition (`is_counted` false), and
// the value of its variable, or the number of passes before this one. Outermost loop first.
struct NamedLoop {
  std::string name;
  std::int64_t value;
  bool is_counted = true;
};
using NamedPass = std::vector<NamedLoop>;

class Processes;

struct RunOptions {
  int threads = 0;              // 0: one per processor, as far as there is work for them
  bool plain = false;           // the plain row kernels instead of their fast twins: same values, slowly
  bool fill_unwritten = false;  // elements of outputs that nothing wrote become NaN, or 4 in integers
  NanMode nan = NanMode::warn;
  std::int64_t max_passes = 100'000'000;  // of all loops of a core together; a loop that goes on longer is reported
  std::int64_t max_memory = 0;            // bytes that the tensors may take; 0: kiln::default_max_memory()
  std::function<void()> poll = {};        // called now and then by the thread that issues; may throw to stop the run
  std::atomic<double>* done = nullptr;    // where to say which part is done, 0 to 1, where the program tells
  // The pass of an instruction in the words of whoever unrolled loops to make the program, given those that it has;
  // empty when there is nothing to add. Called for diagnostics, by the thread that issues.
  std::function<std::string(int core, isa::InstructionId, const NamedPass&)> describe_pass = {};
  std::vector<std::vector<isa::InstructionId>> watched = {};  // per core
  std::function<void(const Sight&)> see = {};                 // called by the thread that issues; may throw likewise
  Processes* processes = nullptr;  // who shares the ranks with this process (processes.h); null: nobody
};

// Memory of the caller for one input or output tensor: C order, `bytes` long. Inputs are only read.
struct Buffer {
  void* data = nullptr;
  std::size_t bytes = 0;
};
using Buffers = std::map<std::string, Buffer, std::less<>>;

// How often a dynamic loop was entered, and how many times its body ran in all.
struct LoopCount {
  std::int64_t entries = 0, iterations = 0;
};
// By the loop's variable, or by the register that is its condition.
using LoopCounts = std::map<std::string, LoopCount, std::less<>>;

struct RunReport {
  std::vector<Diagnostic> warnings;
  std::int64_t instructions = 0;  // executed
  analysis::EngineCounts instructions_by_engine{};
  LoopCounts loops;  // dynamic ones, of all cores
};

// Runs programs that passed check::check_program. Every input, output and inout tensor needs a buffer of its exact
// size. Of the cores of a logical core, `shared_hbm` tensors of the same name are one tensor; inputs and outputs are
// shared likewise. The cores meet in sendrecv and core_barrier. Throws Error when a run-time rule is broken, or before
// anything runs when there is not enough memory (memory_need.h); outputs are then unspecified.
RunReport run(const isa::Launch& launch, const Arch& arch, const Buffers& buffers, const RunOptions& options = {});

// The same with buffers for each rank. Inputs of ranks may be the same memory; what a rank writes is its own. Of ranks
// that other processes run, what is written arrives in the buffers that are there; they need none.
RunReport run(const isa::Launch& launch, const Arch& arch, std::span<const Buffers> of_ranks,
              const RunOptions& options = {});

}  // namespace kiln::sim
