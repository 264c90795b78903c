// A whole program in the place of an instruction: its pools are appended, what points into them is moved on.
#include <fmt/format.h>

#include "kiln/isa/builder/builder.h"

namespace kiln::isa {
namespace {

std::uint32_t size_of(const auto& pool) { return static_cast<std::uint32_t>(pool.size()); }

class Splicer {
 public:
  Splicer(Program& to, const Program& from) : to_(to), from_(from) {}

  void add_tensors(const std::vector<View>& bound) {
    std::size_t next = 0;
    for (const Tensor& t : from_.tensors) {
      if (t.role != Role::internal) {
        tensors_.push_back(bound.at(next++).tensor());
        continue;
      }
      tensors_.push_back(size_of(to_.tensors));
      to_.tensors.push_back(t);
      to_.tensors.back().name = fmt::format("{}_{}", t.name, tensors_.back());
      to_.tensors.back().loc += size_of(to_.locs);
    }
  }

  Block run() {
    locs_ = size_of(to_.locs);
    to_.locs.insert(to_.locs.end(), from_.locs.begin(), from_.locs.end());
    add_pools();
    add_instructions();
    add_loops();
    return moved(from_.body);
  }

 private:
  Affine moved(Affine a) const {
    a.first_term += terms_;
    return a;
  }
  Block moved(const Block& block) const {
    Block out;
    for (Node n : block) {
      const bool outside = n.kind == Node::Kind::declare && from_.tensors[n.index].role != Role::internal;
      if (outside) continue;
      n.index = n.kind == Node::Kind::declare ? tensors_[n.index]
                                              : n.index + (n.kind == Node::Kind::loop ? loops_ : instructions_);
      out.push_back(n);
    }
    return out;
  }
  Bound moved(Bound b) const {
    if (b.is_register) b.value += registers_;
    return b;
  }

  void add_pools() {
    terms_ = size_of(to_.terms);
    loops_ = size_of(to_.loops);
    registers_ = size_of(to_.registers);
    accesses_ = size_of(to_.accesses);
    dynamics_ = size_of(to_.dynamics);
    integers_ = size_of(to_.integers);
    reals_ = size_of(to_.reals);
    args_ = size_of(to_.args);
    deps_ = size_of(to_.deps);
    strings_ = size_of(to_.strings);
    instructions_ = size_of(to_.instructions);
    for (Term t : from_.terms) {
      t.loop += loops_;
      to_.terms.push_back(t);
    }
    for (Register r : from_.registers) {
      r.name = fmt::format("r{}", to_.registers.size());
      to_.registers.push_back(r);
    }
    for (Access a : from_.accesses) {
      a.tensor = tensors_[a.tensor];
      a.partition = moved(a.partition);
      a.offset = moved(a.offset);
      if (a.dynamic != kNone) a.dynamic += dynamics_;
      to_.accesses.push_back(a);
    }
    for (Dynamic d : from_.dynamics) {
      d.source += d.kind == Dynamic::Kind::scalar_register ? registers_ : accesses_;
      to_.dynamics.push_back(d);
    }
    to_.integers.insert(to_.integers.end(), from_.integers.begin(), from_.integers.end());
    to_.reals.insert(to_.reals.end(), from_.reals.begin(), from_.reals.end());
    to_.strings.insert(to_.strings.end(), from_.strings.begin(), from_.strings.end());
    for (InstructionId d : from_.deps) to_.deps.push_back(d + instructions_);
    for (const Arg& a : from_.args) to_.args.push_back(moved(a));
  }

  Arg moved(Arg a) const {
    switch (a.kind) {
      case Arg::Kind::access:
      case Arg::Kind::accesses:
        a.index += accesses_;
        break;
      case Arg::Kind::integers:
        a.index += integers_;
        break;
      case Arg::Kind::reals:
        a.index += reals_;
        break;
      case Arg::Kind::reg:
        a.index += registers_;
        break;
      default:
        break;
    }
    return a;
  }

  void add_instructions() {
    for (Instruction i : from_.instructions) {
      i.loc += locs_;
      i.first_arg += args_;
      i.first_dep += deps_;
      if (i.name != kNone) i.name += strings_;
      to_.instructions.push_back(i);
    }
  }

  void add_loops() {
    for (const Loop& l : from_.loops) {
      Loop mine = l;
      if (!l.variable.empty()) mine.variable = fmt::format("i{}", to_.loops.size());
      if (l.reg != kNone) mine.reg += registers_;
      mine.lower = moved(l.lower);
      mine.upper = moved(l.upper);
      mine.loc += locs_;
      mine.body = moved(l.body);
      to_.loops.push_back(std::move(mine));
    }
  }

  Program& to_;
  const Program& from_;
  std::vector<TensorId> tensors_;
  std::uint32_t locs_ = 0, terms_ = 0, loops_ = 0, registers_ = 0, accesses_ = 0, dynamics_ = 0, integers_ = 0,
                reals_ = 0, args_ = 0, deps_ = 0, strings_ = 0, instructions_ = 0;
};

}  // namespace

void Kernel::splice(const Program& program, const std::vector<View>& bound) {
  Splicer splicer(program_, program);
  splicer.add_tensors(bound);
  for (const Node& n : splicer.run()) block().push_back(n);
}

}  // namespace kiln::isa
