#include "kiln/sim/deposit.h"

#include <algorithm>
#include <utility>

#include "kiln/analysis/statements.h"
#include "kiln/isa/uses.h"
#include "kiln/sim/declared_storage.h"
#include "kiln/sim/plain_copy.h"
#include "kiln/sim/whole_access.h"

namespace kiln::sim {
using namespace isa;
namespace {

constexpr std::int64_t kMinBytes = 64 << 10;  // smaller copies are not worth the looking

const Access& tile_of(const InstView& store) { return store.access(from_of(store)); }
const Access& target_of(const InstView& store) { return store.access(to_of(store)); }

// Whether one access is a whole tile and the other neighbouring bytes of HBM, which are known before.
bool is_whole_copy(const Program& program, const Access& of_tile, const Access& of_hbm) {
  const Tensor &hbm = program.tensors[of_hbm.tensor], &tile = program.tensors[of_tile.tensor];
  return !is_on_chip(hbm.memory) && tile.memory == Memory::sbuf && is_declared_storage(tile) &&
         of_hbm.dtype == of_tile.dtype && of_hbm.dynamic == kNone && of_tile.dynamic == kNone &&
         tile.partitions() * tile.bytes_per_partition() >= kMinBytes && of_hbm.count() == of_tile.count() &&
         is_dense(of_hbm.dims, of_hbm.rank) && covers(of_tile, tile);
}

// A store of a whole tile.
bool is_candidate(const Program& program, const Instruction& inst, bool in_inout) {
  const InstView view(program, inst);
  if (!is_plain_copy(view)) return false;
  const Role role = program.tensors[target_of(view).tensor].role;
  return (role == Role::output || (in_inout && role == Role::inout)) &&
         is_whole_copy(program, tile_of(view), target_of(view));
}

bool are_same_bytes(const Program& program, const Access& a, const Access& b) {
  return a.tensor == b.tensor && a.dtype == b.dtype && a.rank == b.rank &&
         std::equal(a.dims, a.dims + a.rank, b.dims) && a.offset.constant == b.offset.constant &&
         std::ranges::equal(program.terms_of(a.offset), program.terms_of(b.offset));
}

// Walks the program in its written order. The store lies in the block that declares the tile, so what stands
// between the two is all that happens between them.
class Search {
 public:
  using Stores = std::unordered_map<TensorId, const Instruction*>;
  Search(const Program& program, bool in_inout, Stores& stores)
      : program_(program), in_inout_(in_inout), stores_(stores), seen_(program.tensors.size()) {
    analysis::for_each_statement(program, [&](const analysis::Statement& s) {
      ++now_;
      if (s.is_declaration()) seen_[s.node.index] = {s.loop, now_, now_, now_, nullptr};
      if (s.is_instruction()) instruction(s.loop, program_.instructions[s.node.index]);
    });
  }

 private:
  struct Seen {
    LoopId declared_in = kNone;
    std::int64_t declared = 0, touched = 0, touched_before = 0;  // 0: not yet
    const Instruction* loaded = nullptr;                         // the first to touch a tile, when it loads all of it
  };

  void instruction(LoopId loop, const Instruction& inst) {
    const bool ends = is_candidate(program_, inst, in_inout_) && is_alone(loop, inst);
    note_load(inst);
    for_each_use(program_, inst, [&](const Access& a, Use) {
      Seen& seen = seen_[a.tensor];
      if (seen.touched != now_) seen.touched_before = std::exchange(seen.touched, now_);
      stores_.erase(a.tensor);  // it lives on after its store
    });
    if (ends) stores_[tile_of(InstView(program_, inst)).tensor] = &inst;
  }

  bool is_alone(LoopId loop, const Instruction& store) const {
    const InstView view(program_, store);
    const Seen &tile = seen_[tile_of(view).tensor], &target = seen_[target_of(view).tensor];
    if (tile.declared_in != loop) return false;
    if (program_.tensors[target_of(view).tensor].role == Role::output) return target.touched < tile.declared;
    // What is an input, too, is loaded from there first; other tiles have their copies when this one comes to life.
    if (!tile.loaded || target.touched_before >= tile.declared) return false;
    const InstView load(program_, *tile.loaded);
    return are_same_bytes(program_, load.access(from_of(load)), target_of(view));
  }

  void note_load(const Instruction& inst) {
    const InstView view(program_, inst);
    if (!in_inout_ || !is_plain_copy(view)) return;
    Seen& tile = seen_[target_of(view).tensor];
    if (tile.declared == 0 || tile.touched != tile.declared) return;
    if (is_whole_copy(program_, target_of(view), tile_of(view))) tile.loaded = &inst;
  }

  const Program& program_;
  const bool in_inout_;
  Stores& stores_;
  std::vector<Seen> seen_;
  std::int64_t now_ = 0;
};

}  // namespace

Deposits::Deposits(const Program& program, bool may_deposit, bool in_inout) : program_(program) {
  if (!may_deposit) return;
  const auto may_be = [&](const Instruction& i) { return is_candidate(program, i, in_inout); };
  if (std::ranges::any_of(program.instructions, may_be)) Search(program, in_inout, stores_);
}

TensorId Deposits::target_of(TensorId id) const {
  const auto store = stores_.find(id);
  return store == stores_.end() ? kNone : sim::target_of(InstView(program_, *store->second)).tensor;
}

std::shared_ptr<Storage> Deposits::place(TensorId id, const Bindings& bindings, const LoopStack& loops) const {
  const auto store = stores_.find(id);
  if (store == stores_.end()) return nullptr;
  const Tensor& t = program_.tensors[id];
  const Access& to = sim::target_of(InstView(program_, *store->second));
  const Binding& output = bindings[to.tensor];
  const std::int64_t begin = loops.evaluate(to.offset) * size_bytes(to.dtype) + output.byte;
  std::byte* data = output.storage->data + begin;
  if (reinterpret_cast<std::uintptr_t>(data) % kTileAlignment) return nullptr;
  const std::int64_t rows = t.partitions(), row_bytes = t.bytes_per_partition();
  auto storage = std::make_shared<Storage>(rows, row_bytes, data);
  const Region target = {0, 1, begin, begin + rows * row_bytes};
  output.storage->drop_finished();
  for (const Storage::Use& use : output.storage->uses) {
    if (use.region.overlaps(target)) storage->uses.push_back({use.task, {0, rows, 0, row_bytes}, use.writes});
  }
  return storage;
}

bool Deposits::is_done(const Run& run, const Operands& operands, const Bindings& bindings) const {
  const int dst = to_of(run), src = from_of(run);
  if (run.tile(dst).data != run.tile(src).data) return false;
  const Storage& tile = *bindings[run.access(src).tensor].storage;
  const auto to = std::ranges::find(operands.list, dst, &Operand::param);
  if (to->storage == &tile) return true;  // a copy onto itself
  for (const Storage::Use& use : tile.uses) to->storage->uses.push_back({use.task, region_of(*to), use.writes});
  return true;
}

}  // namespace kiln::sim
