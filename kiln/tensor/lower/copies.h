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
  const std::set<Value>& in_place;  // updates of what lies there already

  void emit(Value v);      // an op of a region of copies
  void output(int index);  // from its source
  void ramp(Value v);      // fills the storage of an iota

 private:
  bool turn(const isa::View& dst, const Dims& to, isa::Index at, const isa::View& src, const Dims& from,
            isa::Index from_at);
  void move(const isa::View& dst, const Strided& to, const isa::View& src, const Strided& from);
  void fill(const isa::View& dst, const Strided& to, double x);
  void place(const isa::View& dst, const Strided& to, Value v);  // a value, wherever it comes from
  void scatter(Value v);
  isa::Reg start_of(Value v);
};

}  // namespace kiln::tensor
