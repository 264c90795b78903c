// The compiler: a tensor program in, a program of instructions out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kiln/arch/arch.h"
#include "kiln/isa/launch.h"
#include "kiln/isa/program.h"
#include "kiln/tensor/ir/evaluate.h"
#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

struct CompileOptions {
  Target target = Target::trn2;
  int level = 2;     // 1: rules alone; 2: candidates compared with the timing model; 3: a search (lower/tuner.h)
  int lnc = 1;       // 2: split over the two cores of a pair
  bool fuse = true;  // false: every op goes through HBM, to compare with
  std::int64_t sbuf_bytes = 0;  // of a partition that the program may take; 0: all that the chip has
  // Inputs that the program may overwrite: an update of one is made in place, and the output that it is is the input.
  std::vector<std::string> donated = {};
};

// What the report says of one region.
struct RegionReport {
  int region = 0;
  std::string ops;  // the ops of it, in order
  std::int64_t rows = 0, packed = 1;
  std::int64_t parts = 1;  // partitions that a row lies on
  std::vector<std::int64_t> loops;
  std::size_t alternatives = 1;       // tilings that were compared
  std::vector<std::size_t> in_parts;  // those of them that have rows in parts
  isa::InstructionId first_instruction = 0;
  std::int64_t instructions = 0;  // static, from the first one on
  double hbm_bytes = 0;           // that its operands and results are, once for each time they are moved
  double tile_bytes = 0;          // of a partition of SBUF, were all its tiles alive at once
  double psum_bytes = 0;          // the same of PSUM
};

struct Constant {
  std::string name;  // an input of the program
  Array array;
  Op made_of = {};  // while programs are compared, arrays are left out: the array is what this constant says
};

// A value that goes through HBM between groups.
struct Spill {
  std::string what;
  double bytes = 0;
};

// A program that was built and timed.
struct Alternative {
  std::string what;
  double time_ns = 0;
};

struct Compiled {
  isa::Program program;
  std::optional<isa::Program> peer;            // with lnc 2, the program of core 1; `program` is that of core 0
  std::vector<Constant> constants;             // inputs that the program itself brings
  std::map<std::string, std::string> aliases;  // outputs that are inputs, updated in place
  std::vector<RegionReport> regions;
  double by_tile_limits = 0;  // instructions that tiles of 128 rows would need (lower/tile_limits.h)
  double time_ns = 0;         // predicted, at level 2; of long loops some passes were timed
  std::vector<Spill> spills;
  bool prepares_rows = false;             // computes rows where many matrices meet them
  bool has_short_runs = false;            // writes large outputs in another order than that of their rows
  bool stores_views = false;              // among these are some that a region sees in another shape
  bool has_orders = false;                // results that lie in HBM in another order than their own
  bool regroups = false;                  // has copies in another order, in SBUF
  int refused = 0;                        // programs with larger tiles that did not fit
  std::vector<Alternative> alternatives;  // at level 2, the best first, which is this program
  std::string split;                      // with lnc 2: what each core does

  isa::Launch launch() const;
};

// Throws Error: tensor.R17 (not_yet) for what has no instructions yet, and what check says of a program that does not
// fit.
Compiled compile(const Graph& graph, const CompileOptions& options = {});

// The graph after each pass, by the pass's name, in order, and the processor time that the pass took.
struct PassResult {
  std::string pass;
  Graph graph;
  double seconds = 0;
};
std::vector<PassResult> run_passes(const Graph& graph, Target target = Target::trn2);
std::vector<std::string> pass_names();
// What passes begin with: calls inlined, collectives as kernels, what the chip lacks written with what it has.
Graph before_passes(const Graph& graph, Target target);
// The passes from number `first` on without which there would be no instructions, and none of the others.
Graph run_needed_passes(Graph graph, std::size_t first);

}  // namespace kiln::tensor
