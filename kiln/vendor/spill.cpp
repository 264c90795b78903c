#include "kiln/vendor/spill.h"

#include <algorithm>
#include <set>

#include "kiln/rewrite/edit.h"
#include "kiln/vendor/trace.h"

namespace kiln::vendor {
using namespace isa;

namespace {

std::int64_t peak_of(const Program& p, const std::vector<Span>& spans, Memory memory) {
  std::vector<bool> other(p.tensors.size());
  for (TensorId id = 0; id < p.tensors.size(); ++id) other[id] = p.tensors[id].memory != memory;
  std::vector<std::int64_t> change(p.body.size() + 2);
  for (TensorId id = 0; id < p.tensors.size(); ++id) {
    if (other[id] || spans[id].first == kNone) continue;
    change[spans[id].first] += p.tensors[id].bytes_per_partition();
    change[spans[id].last + 1] -= p.tensors[id].bytes_per_partition();
  }
  std::int64_t now = 0, most = 0;
  for (const std::int64_t by : change) most = std::max(most, now += by);
  return most;
}

// A row of the table that copies `src` to `dst`.
InstructionId add_copy(Program& p, Opcode opcode, TensorId dst, TensorId src, LocId loc) {
  const InstructionInfo& row = info(opcode);
  const Instruction made = rewrite::default_instruction(p, opcode, loc);
  rewrite::arg_of(p, made, row.result) = rewrite::add_access(p, whole(p, dst));
  rewrite::arg_of(p, made, row.semantics->facts.copies) = rewrite::add_access(p, whole(p, src));
  p.instructions.push_back(made);
  return static_cast<InstructionId>(p.instructions.size() - 1);
}

TensorId add_like(Program& p, TensorId id, Memory memory) {
  p.tensors.push_back(p.tensors[id]);
  p.tensors.back().memory = memory;
  p.tensors.back().address.reset();
  return static_cast<TensorId>(p.tensors.size() - 1);
}

// Where each tensor is used, as positions in the body.
std::vector<std::vector<std::uint32_t>> uses_of(const Program& p) {
  std::vector<std::vector<std::uint32_t>> uses(p.tensors.size());
  for (std::uint32_t i = 0; i < p.body.size(); ++i) {
    if (p.body[i].kind != Node::Kind::instruction) continue;
    for_each_use(p, p.instructions[p.body[i].index], [&](const Access& access, Use) {
      if (uses[access.tensor].empty() || uses[access.tensor].back() != i) uses[access.tensor].push_back(i);
    });
  }
  return uses;
}

// Tiles in PSUM that are read long after they were written wait in SBUF.
std::int64_t leave_psum(Program& p, const Arch& arch) {
  if (peak_of(p, spans_of(p), Memory::psum) <= arch.psum_partition_bytes) return 0;
  const auto uses = uses_of(p);
  std::vector<std::uint32_t> last_write(p.tensors.size());
  for (std::uint32_t i = 0; i < p.body.size(); ++i) {
    if (p.body[i].kind != Node::Kind::instruction) continue;
    for_each_use(p, p.instructions[p.body[i].index], [&](const Access& access, Use use) {
      if (use != Use::read) last_write[access.tensor] = i;
    });
  }
  std::vector<TensorId> name(p.tensors.size(), kNone);
  Block body;
  std::int64_t count = 0;
  const std::size_t tensors = p.tensors.size();
  for (std::uint32_t i = 0; i < p.body.size(); ++i) {
    const Node node = p.body[i];
    body.push_back(node);
    if (node.kind != Node::Kind::instruction) continue;
    name.resize(p.tensors.size(), kNone);
    use_instead(p, node.index, name);
    std::vector<TensorId> done;
    for_each_use(p, p.instructions[node.index], [&](const Access& access, Use use) {
      const TensorId id = access.tensor;
      if (use == Use::read || id >= tensors || last_write[id] != i || !is_free_tile(p.tensors[id], Memory::psum))
        return;
      if (uses[id].back() != i) done.push_back(id);
    });
    for (const TensorId id : done) {
      const TensorId made = add_like(p, id, Memory::sbuf);
      name.resize(p.tensors.size(), kNone);
      name[id] = made;
      body.push_back({Node::Kind::declare, made});
      body.push_back(
          {Node::Kind::instruction, add_copy(p, Opcode::tensor_copy, made, id, p.instructions[node.index].loc)});
      ++count;
    }
  }
  p.body = std::move(body);
  return count;
}

// SBUF while the program runs through it.
class Belady {
 public:
  Belady(Program& program, const Arch& arch)
      : p_(program),
        capacity_((arch.sbuf_partition_bytes - arch.sbuf_reserved_bytes) * 15 / 16),
        uses_(uses_of(program)),
        original_(program.tensors.size()),
        state_(program.tensors.size()) {}
  Spilled run();

 private:
  struct State {
    TensorId now = kNone;    // the tensor that holds it, kNone: not in SBUF
    TensorId home = kNone;   // its place in HBM, if it has one with the same content
    std::uint32_t next = 0;  // index into uses
  };
  bool is_tile(TensorId id) const { return id < original_ && is_free_tile(p_.tensors[id], Memory::sbuf); }
  std::uint32_t next_use(TensorId id) const {
    const State& s = state_[id];
    return s.next < uses_[id].size() ? uses_[id][s.next] : kNone;
  }
  void step(std::uint32_t position);
  void bring(TensorId id, bool read, LocId loc);
  void make_room(std::int64_t bytes, const std::vector<TensorId>& needed, LocId loc);
  void add(InstructionId id, TensorId tile) {
    body_.push_back({Node::Kind::instruction, id});
    const Tensor& t = p_.tensors[tile];
    done_.bytes += t.size() * size_bytes(t.dtype);
  }

  Program& p_;
  std::int64_t capacity_;
  std::vector<std::vector<std::uint32_t>> uses_;
  std::size_t original_;
  std::vector<State> state_;
  std::vector<TensorId> name_;  // for use_instead
  std::set<TensorId> in_;       // tiles in SBUF
  std::int64_t taken_ = 0;
  Block body_;
  Spilled done_;
};

void Belady::make_room(std::int64_t bytes, const std::vector<TensorId>& needed, LocId loc) {
  while (taken_ + bytes > capacity_) {
    TensorId farthest = kNone;
    for (const TensorId id : in_) {
      if (std::find(needed.begin(), needed.end(), id) != needed.end()) continue;
      if (farthest == kNone || next_use(id) > next_use(farthest)) farthest = id;
    }
    if (farthest == kNone) return;
    State& s = state_[farthest];
    if (next_use(farthest) != kNone && s.home == kNone) {
      s.home = add_like(p_, farthest, Memory::hbm);
      body_.push_back({Node::Kind::declare, s.home});
      add(add_copy(p_, Opcode::dma_copy, s.home, s.now, loc), farthest);
      ++done_.stores;
    }
    s.now = kNone;
    in_.erase(farthest);
    taken_ -= p_.tensors[farthest].bytes_per_partition();
  }
}

void Belady::bring(TensorId id, bool read, LocId loc) {
  State& s = state_[id];
  const bool first = s.now == kNone && s.home == kNone && s.next == 0;
  if (first) {
    s.now = id;
  } else {
    s.now = add_like(p_, id, Memory::sbuf);
    body_.push_back({Node::Kind::declare, s.now});
    if (read && s.home != kNone) {
      add(add_copy(p_, Opcode::dma_copy, s.now, s.home, loc), id);
      ++done_.loads;
    }
  }
  in_.insert(id);
  taken_ += p_.tensors[id].bytes_per_partition();
}

void Belady::step(std::uint32_t position) {
  const InstructionId inst = p_.body[position].index;
  const LocId loc = p_.instructions[inst].loc;
  std::vector<TensorId> needed, written;
  for_each_use(p_, p_.instructions[inst], [&](const Access& access, Use use) {
    if (!is_tile(access.tensor)) return;
    needed.push_back(access.tensor);
    if (use != Use::read) written.push_back(access.tensor);
  });
  for (const TensorId id : needed) {
    if (in_.contains(id)) continue;
    make_room(p_.tensors[id].bytes_per_partition(), needed, loc);
    bring(id, true, loc);
  }
  body_.push_back(p_.body[position]);
  name_.resize(p_.tensors.size(), kNone);
  for (const TensorId id : needed) name_[id] = state_[id].now == id ? kNone : state_[id].now;
  use_instead(p_, inst, name_);
  for (const TensorId id : needed) name_[id] = kNone;
  for (const TensorId id : written) state_[id].home = kNone;
  for (const TensorId id : needed) {
    State& s = state_[id];
    while (s.next < uses_[id].size() && uses_[id][s.next] <= position) ++s.next;
    if (next_use(id) == kNone && in_.erase(id)) taken_ -= p_.tensors[id].bytes_per_partition();
  }
}

Spilled Belady::run() {
  for (std::uint32_t i = 0; i < p_.body.size(); ++i) {
    if (p_.body[i].kind == Node::Kind::instruction) {
      step(i);
    } else {
      body_.push_back(p_.body[i]);
    }
  }
  p_.body = std::move(body_);
  return done_;
}

}  // namespace

Spilled spill(Program& program, const Arch& arch) {
  for (const Node& node : program.body) {
    if (node.kind == Node::Kind::loop) return {};
  }
  const std::int64_t from_psum = leave_psum(program, arch);
  Spilled done;
  if (peak_of(program, spans_of(program), Memory::sbuf) > arch.sbuf_partition_bytes - arch.sbuf_reserved_bytes)
    done = Belady(program, arch).run();
  done.from_psum = from_psum;
  return done;
}

}  // namespace kiln::vendor
