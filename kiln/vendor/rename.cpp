#include "kiln/vendor/rename.h"

#include <algorithm>
#include <ranges>

#include "kiln/analysis/box.h"
#include "kiln/vendor/trace.h"

namespace kiln::vendor {
using namespace isa;
using analysis::Box;

namespace {

constexpr std::size_t kMostBoxes = 64;  // parts of a tile that are followed

bool contains(const Box& outer, const Box& inner) {
  if (outer.rank != inner.rank || outer.step > outer.width) return outer == inner;
  for (int d = 0; d < outer.rank; ++d) {
    if (outer.lo[d] > inner.lo[d] || outer.hi[d] < inner.hi[d]) return false;
  }
  return true;
}

// What of a tile is read later on.
struct Needed {
  std::vector<Box> boxes;
  bool all = false;  // too many parts, or not known
};

class Renamer {
 public:
  explicit Renamer(Program& program) : p_(program), needed_(program.tensors.size()) {}
  std::int64_t run();

 private:
  bool is_followed(TensorId id) const { return is_free_tile(p_.tensors[id], Memory::sbuf); }
  Box box_of(const Access& access) const {
    return analysis::BoxShape(p_, access, false)
        .at(access.partition.constant, access.offset.constant * size_bytes(access.dtype));
  }
  void look_back(std::uint32_t position);
  void need(const Access& access);
  void give_new_names();

  Program& p_;
  struct Start {
    std::uint32_t position;
    TensorId tile;
  };
  std::vector<Needed> needed_;  // by tensor
  std::vector<Start> starts_;   // tiles that begin anew at a statement, from the last statement to the first
  std::int64_t count_ = 0;
};

void Renamer::need(const Access& access) {
  Needed& n = needed_[access.tensor];
  if (n.all) return;
  if (!is_fixed(p_, access) || n.boxes.size() >= kMostBoxes) {
    n.all = true;
    return;
  }
  const Box box = box_of(access);
  if (std::none_of(n.boxes.begin(), n.boxes.end(), [&](const Box& b) { return contains(b, box); }))
    n.boxes.push_back(box);
}

// From the last statement to the first: a write ends the need for what it covers, a read begins it.
void Renamer::look_back(std::uint32_t position) {
  const Instruction& inst = p_.instructions[p_.body[position].index];
  std::vector<TensorId> written;
  for_each_use(p_, inst, [&](const Access& access, Use use) {
    if (use != Use::write || !is_followed(access.tensor)) return;
    written.push_back(access.tensor);
    if (!is_fixed(p_, access)) return;
    const Box box = box_of(access);
    std::vector<Box>& boxes = needed_[access.tensor].boxes;
    std::erase_if(boxes, [&](const Box& b) { return contains(box, b); });
    if (boxes.empty()) boxes.shrink_to_fit();  // there may be millions of tiles
  });
  for_each_use(p_, inst, [&](const Access& access, Use use) {
    if (use != Use::write && is_followed(access.tensor)) need(access);
  });
  // Of one statement from the last to the first, too.
  for (const TensorId id : std::views::reverse(written)) {
    if (!needed_[id].all && needed_[id].boxes.empty()) starts_.push_back({position, id});
  }
}

void Renamer::give_new_names() {
  std::vector<TensorId> name(p_.tensors.size(), kNone);
  std::vector<std::uint32_t> begun(p_.tensors.size());
  Block body;
  body.reserve(p_.body.size());
  for (std::uint32_t i = 0; i < p_.body.size(); ++i) {
    for (; !starts_.empty() && starts_.back().position == i; starts_.pop_back()) {
      const TensorId id = starts_.back().tile;
      if (begun[id]++ == 0) continue;  // the first time, the tile itself
      if (begun[id] == 2) ++count_;
      const TensorId made = static_cast<TensorId>(p_.tensors.size());
      p_.tensors.push_back(p_.tensors[id]);
      name[id] = made;
      body.push_back({Node::Kind::declare, made});
    }
    body.push_back(p_.body[i]);
    if (p_.body[i].kind != Node::Kind::instruction) continue;
    name.resize(p_.tensors.size(), kNone);
    use_instead(p_, p_.body[i].index, name);
  }
  p_.body = std::move(body);
}

std::int64_t Renamer::run() {
  for (const Node& node : p_.body) {
    if (node.kind == Node::Kind::loop) return 0;
  }
  for (std::uint32_t i = static_cast<std::uint32_t>(p_.body.size()); i-- > 0;) {
    if (p_.body[i].kind == Node::Kind::instruction) look_back(i);
  }
  give_new_names();
  return count_;
}

}  // namespace

std::int64_t rename(Program& program, const Arch&, const CompilerSpec&) { return Renamer(program).run(); }

}  // namespace kiln::vendor
