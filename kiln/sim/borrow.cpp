// Loads that need no copy: a tile that is loaded whole from an input holds the input's bytes until something
// writes to it. Until then it is read where the input lies; the copy is made before the first write.
#include "kiln/sim/core.h"
#include "kiln/sim/declared_storage.h"

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

// The row-by-row definition of values is left with its copies.
bool Core::borrow(const Run& run) {
  using namespace args::dma_copy;
  if (options_.plain || !common_.may_borrow) return false;
  const TensorId id = run.access(dst).tensor;
  const Tensor& to = program_.tensors[id];
  if (run.tensor(src).role != Role::input || to.memory != Memory::sbuf || !is_declared_storage(to)) return false;
  const Tile &d = run.tile(dst), &s = run.tile(src);
  Storage& own = *bindings_[id].storage;
  if (own.is_external()) return false;  // it lies in an output already: this copy is the only one
  if (!is_plain(d) || !is_plain(s) || !is_whole(d, own) || d.dtype != s.dtype || d.rows != s.rows) return false;
  if (reinterpret_cast<std::uintptr_t>(s.data) % kTileAlignment || s.row_bytes % kTileAlignment) return false;
  if (s.row_bytes < own.row_bytes || (own.row_bytes < kMinRowBytes && !s.is_dense())) return false;
  Loan& loan = loans_[id];
  loan = {&run.inst(), run.sequence, bindings_[id], d, s};
  bindings_[id] = {std::make_shared<Storage>(d.rows, s.row_bytes, s.data), 0, 0};
  return true;
}

// Copies what an instruction is going to write to.
void Core::settle_written(const Instruction& inst) {
  const InstView view(program_, inst);
  const auto& params = view.row().params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const int param = static_cast<int>(i);
    if (!params[i].is_output()) continue;
    if (view.arg(param).kind == Arg::Kind::access) settle(view.access(param).tensor);
    if (view.arg(param).kind == Arg::Kind::accesses) {
      for (const Access& a : view.accesses(param)) settle(a.tensor);
    }
  }
}

void Core::settle(TensorId id) {
  const auto it = loans_.find(id);
  if (it == loans_.end()) return;
  const Loan loan = std::move(it->second);
  loans_.erase(it);
  const InstView view(program_, *loan.load);
  Run run(program_, *loan.load, arch_, resolve_engine(view, arch_), kernels_, state_);
  run.sequence = loan.sequence;
  run.warnings = &common_.warnings;
  bindings_[id] = loan.own;
  operands_.clear();
  using namespace args::dma_copy;
  for (const int param : {dst, src}) {
    run.add_tile(param) = param == dst ? loan.to : loan.from;
    operands_.push_back(
        {param, &view.access(param), bindings_[view.access(param).tensor].storage.get(), run.tile(param)});
  }
  issue(run, 0);
  operands_.clear();
}

}  // namespace kiln::sim
