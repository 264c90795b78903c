// Cutting a program that is too large for one kernel into pieces that run one after the other, what they hand on going
// through HBM. Cuts lie where few bytes are handed on; what repeats, such as the layers of a model, is cut at the same
// places every time, so that its pieces are equal.
#pragma once

#include <vector>

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

// A result of a piece: a value of the whole program, and which of its outputs that is; -1: handed on to other pieces.
struct PieceResult {
  Value value;
  int output = -1;
};

struct Piece {
  Graph graph;                       // inputs a0, a1, ... and outputs r0, r1, ...: equal pieces have equal text
  std::vector<Value> arguments;      // values of the whole program, by input
  std::vector<PieceResult> results;  // by output
};

// Of a program without calls. A piece has at most `most_ops` ops, unless it cannot be cut; a program that has no more
// is one piece. Constants, and what is computed from them alone by elementwise ops, are in every piece that reads them.
std::vector<Piece> cut(const Graph& graph, std::int64_t most_ops);

// How many ops of a program count: all but inputs and what is in every piece.
std::int64_t counted_ops(const Graph& graph);

}  // namespace kiln::tensor
