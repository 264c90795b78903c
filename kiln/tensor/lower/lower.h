// The compiler: a tensor program in, a program of instructions out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kiln/arch/arch.h"
#include "kiln/isa/program.h"
#include "kiln/tensor/ir/evaluate.h"
#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

struct CompileOptions {
  Target target = Target::trn2;
  int level = 2;     // 1: rules alone; 2: candidates compared with the timing model
  bool fuse = true;  // false: every op goes through HBM, to compare with
  // Inputs that the program may overwrite: an update of one is made in place, and the output that it is is the input.
  std::vector<std::string> donated = {};
};

// What the report says of one region.
struct RegionReport {
  int region = 0;
  std::string ops;  // the ops of it, in order
  std::int64_t rows = 0, packed = 1;
  std::vector<std::int64_t> loops;
  std::size_t alternatives = 1;   // tilings that were compared
  std::int64_t instructions = 0;  // static
  double hbm_bytes = 0;           // that its operands and results are, once for each time they are moved
  double tile_bytes = 0;          // of a partition of SBUF, were all its tiles alive at once
};

struct Constant {
  std::string name;  // an input of the program
  Array array;
};

struct Compiled {
  isa::Program program;
  std::vector<Constant> constants;             // inputs that the program itself brings
  std::map<std::string, std::string> aliases;  // outputs that are inputs, updated in place
  std::vector<RegionReport> regions;
  double time_ns = 0;  // predicted, at level 2
};

// Throws Error: tensor.R17 (not_yet) for what has no instructions yet, and what check says of a program that does not
// fit.
Compiled compile(const Graph& graph, const CompileOptions& options = {});

// The graph after each pass, by the pass's name, in order.
struct PassResult {
  std::string pass;
  Graph graph;
};
std::vector<PassResult> run_passes(const Graph& graph);

}  // namespace kiln::tensor
