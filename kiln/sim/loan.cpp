#include "kiln/sim/loan.h"

#include "kiln/sim/declared_storage.h"
#include "kiln/sim/plain_copy.h"

namespace kiln::sim {
using namespace isa;
namespace {

// Shorter pieces far apart are gathered better once than at each use.
constexpr std::int64_t kMinRowBytes = 256;

// Rows without gaps inside and with addresses that do not depend on values.
bool is_plain(const Tile& t) { return t.row_is_contiguous() && !t.row_offset; }

bool is_whole(const Tile& t, const Storage& s) {
  return t.data == s.data && t.is_dense() && t.rows == s.rows && t.count() * t.element_bytes() == s.rows * s.row_bytes;
}

}  // namespace

bool Loans::borrow(const Run& run, Bindings& bindings) {
  const int dst = to_of(run), src = from_of(run);
  if (!may_borrow_) return false;
  const TensorId id = run.access(dst).tensor;
  const Tensor& to = run.tensor(dst);
  if (run.tensor(src).role != Role::input || to.memory != Memory::sbuf || !is_declared_storage(to)) return false;
  const Tile &d = run.tile(dst), &s = run.tile(src);
  Storage& own = *bindings[id].storage;
  if (own.is_external() && !own.is_idle()) return false;  // in an output, which does not know who still writes there
  if (!is_plain(d) || !is_plain(s) || !is_whole(d, own) || d.dtype != s.dtype || d.rows != s.rows) return false;
  if (reinterpret_cast<std::uintptr_t>(s.data) % kTileAlignment || s.row_bytes % kTileAlignment) return false;
  const bool repeats = s.row_bytes == 0;  // one row for all partitions
  if ((s.row_bytes < own.row_bytes && !repeats) || (own.row_bytes < kMinRowBytes && !s.is_dense())) return false;
  loans_[id] = {&run.inst(), run.sequence, bindings[id], d, s};
  bindings.move(id, {std::make_shared<Storage>(d.rows, s.row_bytes, s.data), 0, 0});
  return true;
}

std::optional<Loan> Loans::end(TensorId id, Bindings& bindings) {
  const auto it = loans_.find(id);
  if (it == loans_.end()) return std::nullopt;
  Loan loan = std::move(it->second);
  loans_.erase(it);
  bindings.move(id, loan.own);
  return loan;
}

std::optional<Lent> Loans::replace(TensorId id, Bindings& bindings) {
  Binding from = bindings[id];
  if (!end(id, bindings)) return std::nullopt;
  return Lent{id, std::move(from)};
}

}  // namespace kiln::sim
