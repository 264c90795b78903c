#include "kiln/vendor/hoist.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <unordered_map>

#include "kiln/isa/semantics/cost.h"
#include "kiln/vendor/trace.h"

namespace kiln::vendor {
using namespace isa;

namespace {

using Key = std::vector<std::int64_t>;
std::uint64_t hash_of(const Key& key) {
  std::uint64_t h = 1469598103934665603u;
  for (const std::int64_t v : key) h = (h ^ static_cast<std::uint64_t>(v)) * 1099511628211u;
  return h;
}

// A result that an earlier instruction left in a tile.
struct Result {
  InstructionId inst;
  std::uint32_t version;  // of the tile, when it was made
};
// By the hash of what the instruction computes. Programs may have millions, so the key is not kept: an instruction that
// computes the same now had the same key, because a key has the versions of all that is read.
using Results = std::unordered_map<std::uint64_t, Result>;

// What loads of one tensor in HBM would take and save.
struct Kept {
  std::int64_t bytes = 0;  // per partition, of all different parts
  std::int64_t again = 0;  // loads that load what was loaded before
  std::vector<TensorId> tiles;
};

class Hoister {
 public:
  Hoister(Program& program, const Arch& arch, const CompilerSpec& compiler)
      : p_(program), arch_(arch), compiler_(compiler), writers_(writers_of(program)) {}
  std::int64_t run();

 private:
  // What an instruction computes, or nothing when it cannot be left out.
  bool key_of(InstructionId id, Key& key) const;
  void add(Key& key, const Arg& arg) const;
  void add(Key& key, const Access& access) const;
  int result_of(const Instruction& inst) const;
  TensorId source_of(InstructionId id) const;
  TensorId tile_of(InstructionId id) const;
  // The instruction of `results` that computes what has this key; null when there is none.
  const Result* find(const Results& results, const Key& key) const;
  void choose_kept();
  void scan(bool choosing);
  void write(InstructionId id);
  bool same_kind(TensorId a, TensorId b) const;
  void remove();
  void undo();
  std::int64_t capacity() const { return arch_.sbuf_partition_bytes - arch_.sbuf_reserved_bytes; }

  Program& p_;
  const Arch& arch_;
  const CompilerSpec& compiler_;
  std::vector<std::uint32_t> writers_, version_;
  std::map<TensorId, Kept> kept_;  // by tensor in HBM
  std::vector<bool> is_kept_;
  std::vector<TensorId> instead_;  // by tile
  std::vector<bool> left_out_;     // by instruction
  // The program before instructions were removed, as far as that changes it.
  Block body_before_;
  std::vector<ArgBefore> changed_;
  std::size_t accesses_before_ = 0;
  std::int64_t count_ = 0;
};

// The position of the only output.
int Hoister::result_of(const Instruction& inst) const {
  const auto& params = info(inst.opcode).params;
  int found = -1;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!params[i].is_output() || p_.arg(inst, static_cast<int>(i)).kind == Arg::Kind::none) continue;
    if (found >= 0 || params[i].kind == ParamKind::inout) return -1;
    found = static_cast<int>(i);
  }
  return found;
}

void Hoister::add(Key& key, const Access& access) const {
  const TensorId tensor = instead_[access.tensor] == kNone ? access.tensor : instead_[access.tensor];
  key.insert(key.end(), {static_cast<std::int64_t>(tensor), version_[tensor], static_cast<std::int64_t>(access.dtype),
                         access.partition.constant, access.offset.constant, access.rank});
  for (int d = 0; d < access.rank; ++d) key.insert(key.end(), {access.dims[d].stride, access.dims[d].count});
}

void Hoister::add(Key& key, const Arg& arg) const {
  key.push_back(static_cast<std::int64_t>(arg.kind));
  if (arg.kind == Arg::Kind::integers) {
    key.insert(key.end(), p_.integers.begin() + arg.index, p_.integers.begin() + arg.index + arg.count);
  } else if (arg.kind != Arg::Kind::none) {
    key.push_back(arg.integer);
  }
}

bool Hoister::key_of(InstructionId id, Key& key) const {
  const Instruction& inst = p_.instructions[id];
  const InstructionInfo& row = info(inst.opcode);
  const int result = result_of(inst);
  if (result < 0 || inst.dep_count > 0 || row.semantics->facts.meets) return false;
  const Arg& out = p_.arg(inst, result);
  if (out.kind != Arg::Kind::access) return false;
  const Access& dst = p_.accesses[out.index];
  if (!is_whole(p_, dst) || writers_[dst.tensor] != 1 || !is_free_tile(p_.tensors[dst.tensor], Memory::sbuf))
    return false;
  if (row.semantics->state && row.semantics->state(CostQuery(p_, inst, arch_)) != 0) return false;
  key.assign(1, static_cast<std::int64_t>(inst.opcode));
  for (std::size_t i = 0; i < row.params.size(); ++i) {
    if (static_cast<int>(i) == result) continue;
    const Arg& arg = p_.arg(inst, static_cast<int>(i));
    if (arg.kind == Arg::Kind::reg || arg.kind == Arg::Kind::accesses || arg.kind == Arg::Kind::reals) return false;
    if (arg.kind != Arg::Kind::access) {
      add(key, arg);
      continue;
    }
    if (!is_fixed(p_, p_.accesses[arg.index])) return false;
    add(key, p_.accesses[arg.index]);
  }
  return true;
}

// The tensor in HBM that an instruction loads from; kNone when it does not.
TensorId Hoister::source_of(InstructionId id) const {
  TensorId found = kNone;
  for_each_use(p_, p_.instructions[id], [&](const Access& access, Use use) {
    if (use == Use::read && is_hbm(p_.tensors[access.tensor].memory)) found = access.tensor;
  });
  return found;
}

TensorId Hoister::tile_of(InstructionId id) const {
  const Instruction& inst = p_.instructions[id];
  return p_.accesses[p_.arg(inst, result_of(inst)).index].tensor;
}

const Result* Hoister::find(const Results& results, const Key& key) const {
  const auto found = results.find(hash_of(key));
  Key other;
  return found != results.end() && key_of(found->second.inst, other) && other == key ? &found->second : nullptr;
}

bool Hoister::same_kind(TensorId a, TensorId b) const {
  const Tensor &s = p_.tensors[a], &t = p_.tensors[b];
  return s.shape == t.shape && s.dtype == t.dtype && s.memory == t.memory;
}

void Hoister::write(InstructionId id) {
  for_each_use(p_, p_.instructions[id], [&](const Access& access, Use use) {
    if (use != Use::read) ++version_[access.tensor];
  });
}

// Goes through the body once. `choosing`: only to find what loads of each tensor in HBM would take.
void Hoister::scan(bool choosing) {
  version_.assign(p_.tensors.size(), 0);
  instead_.assign(p_.tensors.size(), kNone);
  left_out_.assign(p_.instructions.size(), false);
  Results loaded, computed;
  Key key;
  for (const Node& node : p_.body) {
    if (node.kind == Node::Kind::loop) return;  // what loops leave behind is not followed
    if (node.kind != Node::Kind::instruction) continue;
    const InstructionId id = node.index;
    if (key_of(id, key)) {
      const TensorId tile = tile_of(id), source = source_of(id);
      const Result* const found = source == kNone ? nullptr : find(loaded, key);
      const Result* earlier = found && (choosing || is_kept_[source]) ? found : nullptr;
      if (!found && !choosing && source == kNone) earlier = find(computed, key);
      const TensorId before = earlier ? tile_of(earlier->inst) : kNone;
      if (earlier && version_[before] == earlier->version && same_kind(before, tile)) {
        if (choosing) {
          ++kept_[source].again;
          kept_[source].tiles.push_back(tile);
        } else {
          instead_[tile] = before;
          left_out_[id] = true;
          ++count_;
          continue;
        }
      } else if (choosing && source != kNone) {
        kept_[source].bytes += p_.tensors[tile].bytes_per_partition();
        kept_[source].tiles.push_back(tile);
      }
      write(id);
      const Result made{id, version_[tile]};
      if (source != kNone && !(choosing && found)) loaded[hash_of(key)] = made;
      if (source == kNone) computed[hash_of(key)] = made;
      continue;
    }
    write(id);
  }
}

void Hoister::choose_kept() {
  is_kept_.assign(p_.tensors.size(), false);
  if (arch_.generation < compiler_.keeps_loads) return;
  scan(true);
  std::vector<std::pair<std::int64_t, TensorId>> order;
  for (const auto& [tensor, kept] : kept_) {
    if (kept.again > 0)
      order.push_back({-kept.again * kept.bytes / static_cast<std::int64_t>(kept.tiles.size()), tensor});
  }
  std::sort(order.begin(), order.end());
  const std::vector<Span> spans = spans_of(p_);
  std::vector<bool> gone(p_.tensors.size());
  std::int64_t resident = 0;
  for (const auto& [gain, tensor] : order) {
    const Kept& kept = kept_[tensor];
    std::vector<bool> without = gone;
    for (const TensorId tile : kept.tiles) without[tile] = true;
    if (resident + kept.bytes + sbuf_peak(p_, spans, without) > capacity()) continue;
    resident += kept.bytes;
    gone = std::move(without);
    is_kept_[tensor] = true;
  }
}

void Hoister::remove() {
  accesses_before_ = p_.accesses.size();
  Block body;
  body.reserve(p_.body.size());
  for (const Node& node : p_.body) {
    if (node.kind == Node::Kind::declare && instead_[node.index] != kNone) continue;
    if (node.kind == Node::Kind::instruction && left_out_[node.index]) continue;
    body.push_back(node);
    if (node.kind != Node::Kind::instruction) continue;
    const std::vector<ArgBefore> changed = use_instead(p_, node.index, instead_);
    changed_.insert(changed_.end(), changed.begin(), changed.end());
  }
  std::swap(p_.body, body);
  body_before_ = std::move(body);
}

void Hoister::undo() {
  p_.body = std::move(body_before_);
  for (const ArgBefore& before : std::views::reverse(changed_)) p_.args[before.index] = before.arg;
  p_.accesses.resize(accesses_before_);
}

std::int64_t Hoister::run() {
  const bool rolled =
      std::any_of(p_.body.begin(), p_.body.end(), [](const Node& node) { return node.kind == Node::Kind::loop; });
  if (rolled) return 0;
  choose_kept();
  scan(false);
  if (count_ == 0) return 0;
  remove();
  const std::vector<Span> spans = spans_of(p_);
  if (sbuf_peak(p_, spans, std::vector<bool>(p_.tensors.size())) <= capacity()) return count_;
  undo();  // what is kept longer must fit
  return 0;
}

}  // namespace

std::int64_t hoist(Program& program, const Arch& arch, const CompilerSpec& compiler) {
  return Hoister(program, arch, compiler).run();
}

}  // namespace kiln::vendor
