#include "kernels/sparse/resident_rows.h"

namespace kiln::kernels {
using namespace isa;

namespace {
constexpr std::int64_t kShare = 2;  // of SBUF: the rest is for what streams by
}

ResidentRows::ResidentRows(Kernel& k, const View& matrix, const Index& n0, std::int64_t n, std::int64_t used)
    : k_(k), matrix_(matrix), n0_(n0), n_(n) {
  const Arch& chip = arch(k.program().target);
  stays_ = used * n * size_bytes(matrix.dtype()) * kShare <= chip.sbuf_partition_bytes - chip.sbuf_reserved_bytes;
}

View ResidentRows::tile(std::int64_t t) {
  if (const auto found = tiles_.find(t); found != tiles_.end()) return found->second;
  const std::int64_t height = std::min(kTile, matrix_.dim(0) - t * kTile);
  const View tile = k_.sbuf({height, n_}, matrix_.dtype());
  k_.dma_copy({.dst = tile, .src = matrix_(ds(t * kTile, height), ds(n0_, n_))});
  if (stays_) tiles_[t] = tile;
  return tile;
}

}  // namespace kiln::kernels
