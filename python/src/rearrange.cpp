// t.rearrange: dimensions by name, split, permuted and merged.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <map>

#include "python/src/tensor.h"

namespace kiln::python {
namespace {

using Group = std::vector<std::string>;  // the names in one dimension, outermost first

[[noreturn]] void bad_pattern(std::string found) {
  bad_index(std::move(found),
            "write tuples of names, with a tuple of names for a dimension that is split or merged, the same "
            "names on "
            "both sides: t.rearrange(('p', ('a', 'b')), ('p', 'b', 'a'), {'a': 4})");
}

std::string name_of(nb::handle value) {
  if (!PyUnicode_Check(value.ptr())) bad_pattern(fmt::format("a name of type {}", kind_of(value)));
  return text_of(value);
}

bool is_sequence(nb::handle value) { return PyTuple_Check(value.ptr()) || PyList_Check(value.ptr()); }

std::vector<Group> to_groups(nb::handle pattern) {
  if (!is_sequence(pattern)) bad_pattern(fmt::format("a pattern of type {}", kind_of(pattern)));
  std::vector<Group> groups;
  for (nb::handle item : pattern) {
    Group group;
    if (is_sequence(item)) {
      for (nb::handle name : item) group.push_back(name_of(name));
    } else {
      group.push_back(name_of(item));
    }
    if (group.empty()) bad_pattern("a dimension without a name");
    groups.push_back(std::move(group));
  }
  return groups;
}

Group flat(const std::vector<Group>& groups) {
  Group names;
  for (const Group& g : groups) names.insert(names.end(), g.begin(), g.end());
  return names;
}

// Both sides name the same things, each once.
void check_names(const Group& src, const Group& dst) {
  Group a = src, b = dst;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  for (const Group* side : {&a, &b}) {
    const auto twice = std::adjacent_find(side->begin(), side->end());
    if (twice != side->end()) bad_pattern(fmt::format("the name {} twice on one side", *twice));
  }
  if (a != b)
    bad_pattern(fmt::format("names {} on one side and {} on the other", fmt::join(src, ", "), fmt::join(dst, ", ")));
}

std::map<std::string, std::int64_t> to_sizes(nb::handle fixed, const Group& names) {
  std::map<std::string, std::int64_t> sizes;
  if (fixed.is_none()) return sizes;
  if (!PyDict_Check(fixed.ptr())) bad_pattern(fmt::format("fixed_sizes of type {}", kind_of(fixed)));
  for (const auto& [key, value] : nb::borrow<nb::dict>(fixed)) {
    const std::string name = name_of(key);
    if (std::find(names.begin(), names.end(), name) == names.end())
      bad_pattern(fmt::format("a size for {}, which the pattern does not name", name));
    sizes[name] = to_int(value, "a size in fixed_sizes");
  }
  return sizes;
}

// The sizes of the names in one dimension; one may be left out.
isa::Shape sizes_of(const Group& group, std::int64_t total, const std::map<std::string, std::int64_t>& fixed) {
  isa::Shape sizes;
  std::int64_t known = 1;
  int unknown = -1;
  for (const std::string& name : group) {
    const auto it = fixed.find(name);
    if (it == fixed.end() && unknown >= 0)
      bad_index(fmt::format("no sizes for {} and {}", group[unknown], name),
                "give all names of a dimension but one a size: fixed_sizes={'a': 4}");
    if (it == fixed.end()) unknown = static_cast<int>(sizes.size());
    sizes.push_back(it == fixed.end() ? 1 : it->second);
    known *= sizes.back();
  }
  if (unknown >= 0 && known > 0) sizes[unknown] = total / known;
  if (known < 1 || (unknown >= 0 ? total % known : known != total))
    bad_index(fmt::format("sizes {} for the names {} of a dimension of {}", fmt::join(sizes, ", "),
                          fmt::join(group, ", "), total),
              "the product of the sizes is the dimension's size");
  return sizes;
}

}  // namespace

Tensor rearrange(const Tensor& t, nb::handle src, nb::handle dst, nb::handle fixed_sizes) {
  const std::vector<Group> from = to_groups(src), to = to_groups(dst);
  const Group names = flat(from), wanted = flat(to);
  check_names(names, wanted);
  if (static_cast<int>(from.size()) != t.view.rank())
    bad_pattern(fmt::format("a pattern of {} dimensions for a tensor of {}", from.size(), t.view.rank()));
  const auto fixed = to_sizes(fixed_sizes, names);
  isa::View v = t.view;
  for (int d = t.view.rank() - 1; d >= 0; --d) {
    const isa::Shape sizes = sizes_of(from[d], t.view.dim(d), fixed);
    if (sizes.size() > 1) v = v.reshape_dim(d, sizes);
  }
  std::vector<int> order;
  for (const std::string& name : wanted)
    order.push_back(static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin()));
  v = v.permute(order);
  int end = static_cast<int>(wanted.size());
  for (auto group = to.rbegin(); group != to.rend(); ++group) {
    const int first = end - static_cast<int>(group->size());
    if (group->size() > 1) v = v.flatten_dims(first, end - 1);
    end = first;
  }
  return with(t, v);
}

}  // namespace kiln::python
