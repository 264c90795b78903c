// Pair: a tensor program split over the two cores of a logical core. Each value gets a share (passes/share.h); where an
// op needs another share than its operand has, the cores exchange. The programs of both cores have the same ops and
// differ in where their halves begin, so that they are one kernel for any core.
#pragma once

#include <string>
#include <vector>

#include "kiln/arch/arch.h"
#include "kiln/tensor/passes/share.h"

namespace kiln::tensor {

struct Pairing {
  std::string what;           // outputs, and how often the cores exchange
  std::vector<Share> shares;  // by value
  std::vector<Share> outputs;
  bool through_hbm = false;  // all halves that become wholes
  bool writes_all = false;   // both cores compute and write all, the same bits: nothing is split
  double estimate_ns = 0;
};

// Ways to split a program that all passes have seen, the best estimate first. The last one splits nothing.
std::vector<Pairing> pairings(const Graph& graph, const Arch& arch);

// Whether outputs that both cores write, and the middle of odd extents, hold the same bits: what is made of an exchange
// is rounded in another order.
bool agrees(const Graph& graph, const Pairing& pairing);

// Of the program of one core: whether both write the middle of an output. No value may decide how that is computed,
// since the cores see different ones.
bool writes_middle(const Graph& half);

// The program of one core.
Graph half_of(const Graph& graph, const Pairing& pairing, int core);

}  // namespace kiln::tensor
