#include "kiln/sim/deposit.h"

#include <algorithm>

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

// A store of a whole tile to neighbouring bytes, which are known before it.
bool is_candidate(const Program& program, const Instruction& inst) {
  const InstView view(program, inst);
  if (!is_plain_copy(view)) return false;
  const Access &to = view.access(to_of(view)), &from = view.access(from_of(view));
  const Tensor &output = program.tensors[to.tensor], &tile = program.tensors[from.tensor];
  return output.role == Role::output && !is_on_chip(output.memory) && tile.memory == Memory::sbuf &&
         is_declared_storage(tile) && to.dtype == from.dtype && to.dynamic == kNone && from.dynamic == kNone &&
         tile.partitions() * tile.bytes_per_partition() >= kMinBytes && to.count() == from.count() &&
         is_dense(to.dims, to.rank) && covers(from, tile);
}

// Walks the program in its written order. The store lies in the block that declares the tile, so what stands
// between the two is all that happens between them.
class Search {
 public:
  using Stores = std::unordered_map<TensorId, const Instruction*>;
  Search(const Program& program, Stores& stores) : program_(program), stores_(stores), seen_(program.tensors.size()) {
    analysis::for_each_statement(program, [&](const analysis::Statement& s) {
      ++now_;
      if (s.is_declaration()) seen_[s.node.index] = {s.loop, now_, now_};
      if (s.is_instruction()) instruction(s.loop, program_.instructions[s.node.index]);
    });
  }

 private:
  struct Seen {
    LoopId declared_in = kNone;
    std::int64_t declared = 0, touched = 0;  // 0: not yet
  };

  void instruction(LoopId loop, const Instruction& inst) {
    const bool ends = is_candidate(program_, inst) && is_alone(loop, inst);
    for_each_use(program_, inst, [&](const Access& a, Use) {
      seen_[a.tensor].touched = now_;
      stores_.erase(a.tensor);  // it lives on after its store
    });
    if (ends) stores_[tile_of(InstView(program_, inst)).tensor] = &inst;
  }

  bool is_alone(LoopId loop, const Instruction& store) const {
    const InstView view(program_, store);
    const Seen& tile = seen_[tile_of(view).tensor];
    return tile.declared_in == loop && seen_[target_of(view).tensor].touched < tile.declared;
  }

  const Program& program_;
  Stores& stores_;
  std::vector<Seen> seen_;
  std::int64_t now_ = 0;
};

}  // namespace

Deposits::Deposits(const Program& program, bool may_deposit) : program_(program) {
  if (!may_deposit) return;
  if (std::ranges::any_of(program.instructions, [&](const Instruction& i) { return is_candidate(program, i); }))
    Search(program, stores_);
}

std::shared_ptr<Storage> Deposits::place(TensorId id, const Bindings& bindings, const LoopStack& loops) const {
  const auto store = stores_.find(id);
  if (store == stores_.end()) return nullptr;
  const Tensor& t = program_.tensors[id];
  const Access& to = target_of(InstView(program_, *store->second));
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
