#include "kiln/emit/merge_cores.h"

#include "kiln/isa/launch.h"

namespace kiln::emit {
namespace {

class Merge {
 public:
  Merge(const Outline& first, const isa::Program& first_program, const Outline& second,
        const isa::Program& second_program)
      : first_(first), second_(second), programs_{&first_program, &second_program} {
    twin_.resize(second.entities.size(), isa::kNone);
  }

  bool match_arguments() {
    const auto arguments = [](const isa::Program& p) {
      std::vector<isa::TensorId> ids;
      for (isa::TensorId id = 0; id < p.tensors.size(); ++id) {
        const isa::Role role = p.tensors[id].role;
        if (role == isa::Role::input || role == isa::Role::inout) ids.push_back(id);
      }
      return ids;
    };
    const auto ours = arguments(*programs_[0]), theirs = arguments(*programs_[1]);
    if (ours.size() != theirs.size()) return false;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const isa::Tensor &a = programs_[0]->tensors[ours[i]], &b = programs_[1]->tensors[theirs[i]];
      if (a.name != b.name || a.shape != b.shape || a.dtype != b.dtype) return false;
      twin_[second_.tensor(theirs[i])] = first_.tensor(ours[i]);
    }
    return true;
  }

  // Compares first; writes when nothing can differ any more.
  bool blocks(std::vector<Item>& a, const std::vector<Item>& b, bool write) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (write) {
        add_second(a[i], b[i]);
      } else if (!same(a[i], b[i])) {
        return false;
      }
      if (!blocks(a[i].body, b[i].body, write)) return false;
    }
    return true;
  }

 private:
  bool same(const Item& a, const Item& b) {
    if (a.kind != b.kind || a.key != b.key || a.width != b.width || a.makes.size() != b.makes.size()) return false;
    if (a.lower != b.lower || a.upper != b.upper || a.step != b.step) return false;
    for (std::size_t i = 0; i < a.numbers.size(); ++i) {
      if (i % a.width && a.numbers[i] != b.numbers[i]) return false;
    }
    for (std::size_t r = 0; r < a.refs.size(); ++r) {
      if (twin_[b.refs[r].entity] != a.refs[r].entity) return false;
    }
    for (std::size_t k = 0; k < a.makes.size(); ++k) twin_[b.makes[k]] = a.makes[k];
    if (b.variable != isa::kNone) twin_[b.variable] = a.variable;
    return a.kind != Item::Kind::declare || same_name(a, b);
  }

  // What the cores share, they find by its name.
  bool same_name(const Item& a, const Item& b) const {
    const isa::Tensor &x = programs_[0]->tensors[a.source], &y = programs_[1]->tensors[b.source];
    return !isa::is_shared(x) || x.name == y.name;
  }

  static void add_second(Item& a, const Item& b) {
    for (std::size_t i = 0; i < a.numbers.size(); i += a.width) a.numbers[i + 1] = b.numbers[i] - a.numbers[i];
  }

  const Outline &first_, &second_;
  const isa::Program* programs_[2];
  std::vector<Entity> twin_;  // by entity of the second outline: that of the first
};

}  // namespace

bool merge_cores(Outline& first, const isa::Program& first_program, const Outline& second,
                 const isa::Program& second_program) {
  Merge merge(first, first_program, second, second_program);
  if (!merge.match_arguments() || !merge.blocks(first.items, second.items, false)) return false;
  return merge.blocks(first.items, second.items, true);
}

}  // namespace kiln::emit
