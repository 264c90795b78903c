// Fuse: ops that share a loop over rows become one region, whose values stay on the chip.
//
// A region has R rows. Each of its values has rows in front: leading dimensions whose product is R, which lie on
// partitions or become loops; what follows is free. Elementwise ops, reductions of free dimensions, products (rows of
// x), joins and views of free dimensions keep rows as they are, so a region grows along them. Everything else that a
// region reads comes from HBM through an access function: inputs, constants, results of other regions, and views of
// these.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "kiln/tensor/passes/strided.h"

namespace kiln::tensor {

// What is moved and not computed, or emits its own loops: a region by itself, from HBM to HBM.
bool is_copy(OpCode code);

// What is put together from its operands along an axis: concat, and what the cores of a pair share in HBM.
bool is_join_op(OpCode code);
// Where along its axis the first operand of a join begins.
std::int64_t join_start(const Op& op);

// Where the elements of a value lie: in the storage of `base`, at these places.
struct Source {
  Value base;
  Strided access;
};

struct Region {
  enum class Kind : std::uint8_t { rows, copies } kind = Kind::rows;
  std::vector<Value> ops;             // operands first
  std::set<std::int64_t> candidates;  // possible R
  std::int64_t rows = 1;              // R
  bool is_dropped = false;            // a join whose parts are written where they belong
  std::vector<Value> sums = {};       // products of ones with all rows of a value that it has: added up along the way
};

struct Store {
  Value value;                     // a value of the region
  int output = -1;                 // into this output of the graph, or
  std::optional<Strided> access;   // nothing: the storage of the value itself
  std::optional<Value> into = {};  // the join whose storage it is
};

struct Fusion {
  std::vector<Region> regions;             // in an order in which they can run
  std::vector<int> region_of;              // by value; -1: not computed in a region
  std::vector<bool> is_stored;             // by value: it has storage in HBM
  std::vector<std::vector<Store>> stores;  // by region: outputs that it writes itself
  std::vector<int> copied;                 // outputs that are copied from their source at the end
  std::vector<Store> copied_parts;         // parts of outputs that are joins: values that no region computes
  std::set<Value> inlined;                 // parts of a join that are written where they belong in it
  std::map<Value, Strided> orders;         // of stored values that do not lie in their own order (stored_order.h)
  std::set<Value> converted;               // values that DMAs make of what they read (stored_order.h)
  bool has_short_runs = false;             // large outputs that a region writes in another order than its own
  bool stores_views = false;               // among these are some that the region sees in another shape
  bool prepares_rows = false;              // a product of many matrices is of the region that computes its rows

  int region(Value v) const { return region_of[v]; }
};

struct FuseOptions {
  bool fuse = true;            // false: every op alone
  bool splits_outputs = true;  // outputs that are joins are written part by part, as soon as a part is there
  bool row_sums = true;        // sums over rows are added up where the rows are
  bool short_runs = true;      // such outputs are written at once; false: copied at the end
  bool read_orders = true;     // results lie in HBM as their readers see them (stored_order.h)
  bool prepares_rows = true;   // rows of products of many matrices are computed where they are multiplied
  double matrix_bytes = 24e6;  // of matrices that several products of a region can hold in SBUF
  auto operator<=>(const FuseOptions&) const = default;
};
Fusion fuse(const Graph& graph, const FuseOptions& options = {});

// The source of a value that is not computed in the asking region, through views.
Source source_of(const Graph& graph, const Fusion& fusion, Value v);
// Nothing for a view of which the elements lie at no fixed strides: an output, whose elements do (strided.h).
std::optional<Source> find_source(const Graph& graph, const Fusion& fusion, Value v);

// The number of leading dimensions whose product is R, the fewest; nothing when there are none.
std::optional<std::size_t> row_dims(const Shape& shape, std::int64_t rows);

}  // namespace kiln::tensor
