// RegionOptions: in which of several ways the instructions of a region are made.
#pragma once

#include <cstdint>
#include <tuple>

#include "kiln/tensor/lower/noted.h"

namespace kiln::tensor {

struct RegionOptions {
  Noted<std::int64_t> psum_columns = 2048;    // of a product that stays in PSUM until it is used
  Noted<std::int64_t> hoisted_bytes = 65536;  // per partition: an operand up to this size is loaded once for all rows
  Noted<std::int64_t> row_blocks = 8;         // of 128 rows that meet a matrix while a piece of it is in SBUF
  Noted<std::int64_t> column_tile = 0;        // columns at a time; 0: whole rows
  Noted<std::int64_t> chunk = 2048;           // keys of attention at a time
  Noted<std::int64_t> side_by_side = 1;       // blocks of 128 rows whose instructions come in one order
  Noted<std::int64_t> products_beside = 1;    // the same, of regions with products
  Noted<std::int64_t> passes_together =
      1;                                  // of the innermost loop, whose rows are moved together; more: as many as fit
  Noted<std::int64_t> turned_blocks = 2;  // of 128 columns of 4 bytes that are turned one after the other; 1: by itself
  Noted<std::int64_t> load_blocks = 0;    // of 128 rows of a matrix that a DMA loads; 0: all
  Noted<std::int64_t> key_blocks = 2;     // of attention without largest scores, whose weights are made together
  // Sums of weights where values leave no room for a column of ones: added up by the vector engine and gpsimd in turn,
  // most of them by gpsimd, or counted by the tensor engine, every second ones or all; or it holds weights, and values
  // with ones come by.
  enum class WeightSums : std::uint8_t { in_turn, gpsimd, half, tensor, held };
  Noted<WeightSums> weight_sums = WeightSums::in_turn;
  Noted<bool> terms_added = false;  // to the scores of all heads, by the vector and the tensor engine
  Noted<bool> few_beside = false;   // two heads of few queries side by side
  Noted<bool> few_queries = true;   // attention of few queries with keys on partitions
  Noted<bool> unshifted = true;     // attention without the largest scores, which are computed only where needed
  // Of attention without them: 0: one by one, 1: where keys are few, 2: always; and 4: fewer of them in a pass, 8: none
  // beside each other on partitions.
  Noted<int> heads_together = 1;
  Noted<bool> holds_values = false;       // of several heads together: the tensor engine holds values, not weights
  Noted<bool> stores_together = false;    // results of attention, of all blocks of a group of queries
  Noted<int> spread_rows = 0;             // one row over many partitions: 1: outside of loops' bodies, 2: everywhere
  Noted<bool> whole = true;               // false: without what usually does not run, while programs are compared
  Noted<bool> pairs_on_gpsimd = false;    // operators between two tiles of SBUF
  Noted<bool> pairs_in_turn = false;      // only every second of them
  Noted<bool> factors_on_scalar = false;  // one factor or summand per row
  Noted<bool> terms_shared = false;       // sums of several terms: the vector engine has some, gpsimd the others
  Noted<bool> sums_on_scalar = false;     // of rows
  Noted<bool> moments = true;             // mean and variance of a row in one pass
  Noted<bool> loads_turned = false;       // operands of products with 16-bit elements are turned while they are loaded
  Noted<bool> rows_first = false;         // rows of several blocks are loaded before the matrices that they meet
  Noted<bool> whole_rows = false;         // of products that are finished piece by piece are stored at once
  Noted<std::int64_t> regrouped_bytes = 32768;  // of a partition, that are copied in another order together
  Noted<bool> regroups_matrices = false;        // copies that the tensor engine could turn
  Noted<std::int64_t> turned_by_dma = 0;        // of 16 blocks of 16-bit elements that are turned in SBUF
  enum class Evacuate : std::uint8_t { in_turn, vector, scalar, shared };
  Noted<Evacuate> evacuate = Evacuate::in_turn;  // who empties PSUM

  auto all() const {
    return std::tie(psum_columns, hoisted_bytes, row_blocks, column_tile, chunk, side_by_side, products_beside,
                    passes_together, turned_blocks, load_blocks, key_blocks, weight_sums, terms_added, few_beside,
                    few_queries, unshifted, heads_together, holds_values, stores_together, spread_rows, whole,
                    pairs_on_gpsimd, pairs_in_turn, factors_on_scalar, terms_shared, sums_on_scalar, moments,
                    loads_turned, rows_first, whole_rows, regrouped_bytes, regroups_matrices, turned_by_dma, evacuate);
  }
  void forget_asked() const;
  // Whether a program that was built with these options, which says what was asked for, is the same with others.
  bool is_same_with(const RegionOptions& others) const;
};

}  // namespace kiln::tensor
