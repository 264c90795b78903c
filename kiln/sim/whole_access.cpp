#include "kiln/sim/whole_access.h"

#include "kiln/isa/semantics/operand_rules.h"

namespace kiln::sim {
using namespace isa;

bool is_dense(const Dim* dims, int rank) {
  Dim merged[kMaxRank];
  const int n = merge_dims(dims, rank, merged);
  return n == 0 || (n == 1 && merged[0].stride == 1);
}

bool covers(const Access& a, const Tensor& t) {
  return a.dynamic == kNone && a.offset.constant == 0 && !a.offset.term_count && a.partition.constant == 0 &&
         !a.partition.term_count && a.rows() == t.partitions() && is_dense(a.dims + 1, a.rank - 1) &&
         a.row_size() * size_bytes(a.dtype) == t.bytes_per_partition();
}

}  // namespace kiln::sim
