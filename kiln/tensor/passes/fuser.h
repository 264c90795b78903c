// Fuser: a fusion while it is made. Regions grow op by op (fuse.cpp); then what they leave in HBM is found
// (region_stores.cpp).
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kiln/tensor/passes/fuse.h"

namespace kiln::tensor {

class Fuser {
 public:
  Fuser(const Graph& graph, const FuseOptions& options) : graph_(graph), options_(options), uses_(graph.uses()) {}
  Fusion run();

 private:
  static bool is_source(OpCode code) {
    return code == OpCode::input || code == OpCode::constant || code == OpCode::iota;
  }
  bool is_computed(Value v) const;
  Value base_of(Value v) const;
  bool joins_on_chip(const Op& op) const;
  bool is_long_join(const Op& op, const std::set<std::int64_t>& rows) const;
  std::int64_t widest_of(int region) const;
  bool outgrows_partitions(int region, const std::set<std::int64_t>& rows, std::int64_t elements,
                           std::int64_t most_rows) const;
  bool loads_matrices_again(const std::set<int>& merged, Value v, Value from) const;
  std::optional<Strided> access_of(Value v) const;
  bool gathers_rows(int region) const;
  bool prepares_rows(int region, const Op& product) const;
  bool is_given_copy(Value v) const;
  bool joins_tail(Value v);
  bool are_in_parts(Value v, int region) const;
  void place(Value v);
  std::set<std::int64_t> common(Value v, std::size_t i, std::set<std::int64_t> rows) const;
  bool makes_cycle(const std::set<int>& merged, const Op& op) const;
  bool meet(const std::set<int>& merged, std::set<std::int64_t>& rows) const;
  bool reaches(int from, const std::set<int>& targets, std::vector<int>& state) const;
  std::vector<Value> outside(Value v) const;
  void merge(int into, int from);
  void add_views(Value v, int region);
  void order();
  std::optional<Source> view_that_is_stored(Value output);
  void find_stores();
  bool is_join(Value v) const;
  bool is_plain_join(Value v) const;
  void inline_joins();
  void inline_parts(Value join, Value part_of, Strided to, const std::vector<int>& uses);
  void join_siblings();
  std::vector<Value> read_by(int region) const;
  bool are_siblings(int a, int b) const;
  Value given_by(const Output& output, const std::vector<int>& uses) const;
  bool is_split(Value given, const std::vector<int>& uses) const;
  void split_output(int index, Value given);

  const Graph& graph_;
  FuseOptions options_;
  std::vector<int> uses_;
  std::set<Value> in_parts_;  // of norms whose rows lie on several partitions each
  Fusion f_;
};

}  // namespace kiln::tensor
