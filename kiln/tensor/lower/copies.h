// What is moved and not computed: joins, rows replaced by index, ranges at an index known at run time, outputs that are
// views of what lies in HBM.
#pragma once

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

struct Copies {
  isa::Kernel& k;
  const Graph& graph;
  const Fusion& fusion;
  Storage& storage;
  const Arch& arch;
  const RegionOptions& options;
  const std::set<Value>& in_place;                        // updates of what lies there already
  std::optional<std::pair<Value, isa::Index>> pass = {};  // of a loop's body: the input that counts its passes

  void emit(Value v);                         // an op of a region of copies
  void alias(Value v);                        // a range from a place known at run time, read where it lies
  void alias_part(Value part, Value update);  // what an update in place changes, stored where it belongs
  void output(int index);                     // from its source
  void ramp(Value v);                         // fills the storage of an iota
  void ramp(const isa::View& dst, std::int64_t n);
  void place(const isa::View& dst, const Strided& to, Value v);  // a value, wherever it comes from
  void move(const isa::View& dst, const Strided& to, const isa::View& src, const Strided& from);

 private:
  bool turn(const isa::View& dst, const Dims& to, isa::Index at, const isa::View& src, const Dims& from,
            isa::Index from_at);
  // regroup.cpp: dimensions that change places around short runs. False when a copy as it is takes no longer.
  bool regroup(const isa::View& dst, const Strided& whole, const isa::View& src, const Strided& source);
  bool thin_out(const isa::View& dst, Dims to, const isa::Index& at, const isa::View& src, Dims from,
                const isa::Index& from_at);
  // transpose.cpp: the same in blocks of one size, where dimension `other` follows each other in the source.
  bool turn_blocks(const isa::View& to_view, const Dims& to, const isa::Index& at, const isa::View& from_view,
                   const Dims& from, const isa::Index& from_at, std::size_t other);
  void fill(const isa::View& dst, const Strided& to, double x);
  bool is_on_chip(Value v) const { return fusion.regions[fusion.region_of[v]].kind != Region::Kind::copies; }
  // Where a value lies in HBM; one number for all elements is written there first.
  std::pair<isa::View, Strided> stored(Value v);
  void join(const isa::View& dst, const Strided& to, Value v);
  void scatter(Value v);
  void scatter_in_order(Value v);       // scatter.cpp
  void scatter_rows_in_order(Value v);  // the same, when the table is there
  // scatter_sums.cpp
  struct Rows {  // that are added, and where
    isa::View indices, updates;
    std::int64_t first_index, index_stride, first_update, stride, column, row;
  };
  bool adds_in_blocks(Value v) const;
  void add_block(const isa::View& dst, const Rows& from, const isa::Index& first, std::int64_t n,
                 const isa::View& spoiled);
  void scatter_sums(Value v);
  void convolve(const std::vector<Value>& ops);  // convolve.cpp: one, and what is done to its result
  void multiply_mx(Value v);                     // mx_product.cpp
  isa::View combined(const isa::View& now, const isa::View& more, const std::string& mode, bool truth);
  isa::Reg loaded(const Source& s);  // an index
  isa::View from_start(const isa::View& hbm, const Dims& dims, std::int64_t offset, std::int64_t stride, Value start);
};

}  // namespace kiln::tensor
