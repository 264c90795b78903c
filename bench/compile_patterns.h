// Tensor programs that the compiler is measured on: building blocks of transformers at published shapes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kiln/tensor/ir/graph.h"

namespace kiln::bench {

struct Pattern {
  std::string name;
  std::function<tensor::Graph()> make;
  int peer = 0;                           // instructions of the peer, DMA, scaffolding and compute; 0: none on record
  std::vector<std::string> donated = {};  // inputs that may be overwritten
  double bytes = 0;                       // that have to be moved; 0: all inputs and outputs once
};
std::vector<Pattern> patterns();
std::vector<Pattern> broad_patterns();   // compile_broad.cpp
std::vector<Pattern> expert_patterns();  // compile_experts.cpp
std::vector<Pattern> narrow_patterns();  // compile_narrow.cpp
std::vector<Pattern> row_patterns();     // compile_rows.cpp

// A layer of a transformer: norms, grouped heads, rotated positions, causal attention, SwiGLU.
struct LayerShape {
  std::int64_t tokens = 128, hidden = 1024, heads = 16, kv_heads = 8, depth = 128, inner = 3072;
};
tensor::Graph layer(const LayerShape& shape = {}, DType dtype = DType::bfloat16);

// Embedding, equal layers, and the logits of the last token.
struct ModelShape {
  LayerShape layer = {};
  int layers = 28;
  std::int64_t vocabulary = 151669;
};
tensor::Graph model(const ModelShape& shape = {}, DType dtype = DType::bfloat16);

}  // namespace kiln::bench
