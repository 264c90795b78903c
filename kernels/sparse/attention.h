// Block-sparse attention: out = softmax(scale q kᵀ, where the pattern has it) v for each head, in one pass over the
// stored tiles, and its gradients. Rows without anything to attend to are zero.
//
// attention:
//   input  q         [heads, queries, head]  dtype
//   input  k, v      [heads, keys, head]     dtype
//   input  masks     [masks, 128, 128]       float32: 0 where a tile lets through, else kMasked
//   output out       [heads, queries, head]  dtype
//   output minus_lse [heads, queries]        float32, with `statistics`: -ln Σ e^score
//   output unrounded [heads, queries, head]  float32, with `statistics` of another dtype: out before it is rounded
//
// attention_backward:
//   input  q, k, v, masks, minus_lse         as above
//   input  out       [heads, queries, head]  float32: not rounded, since where one weight of a row is nearly 1 its
//                                            gradient is a small difference, which rounding would drown
//   input  dout      [heads, queries, head]  dtype
//   input  dout_of_scores [heads, queries, head] dtype, with `single_keys`: dout with zeros, and so has out, for queries
//                                            that meet one key alone, whose weight is 1 whatever its score is
//   output dq, dk, dv                        as q, k, v
//
// Sums and the softmax are float32. The backward pass keeps the sums of dq of a head in SBUF (query_sums.h).
#pragma once

#include "kernels/sparse/tile_pattern.h"

namespace kiln::kernels {

inline constexpr std::int64_t kMostHead = 512;
inline constexpr float kMasked = -0x1p126f;  // added to scores that do not count

struct AttentionConfig {
  TilePattern pattern;             // queries x keys
  std::vector<std::int64_t> mask;  // of each stored tile: its mask, -1 for none; empty: none has one
  std::int64_t masks = 0;
  std::int64_t heads = 1, head = 0;
  double scale = 1;
  DType dtype = DType::float32;  // float32 or bfloat16
  bool statistics = false;       // of the forward pass, for the backward pass
  bool single_keys = false;      // of the backward pass: some queries meet one key alone
  bool stores_unrounded() const { return statistics && dtype != DType::float32; }
};

isa::Program attention(const AttentionConfig& config, Target target);
isa::Program attention_backward(const AttentionConfig& config, Target target);

}  // namespace kiln::kernels
