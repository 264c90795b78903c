#include "kernels/blas/host/blocking.h"

#include <map>
#include <mutex>
#include <tuple>

namespace kiln::blas {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::tuple<Int, Int, Int>, kernels::GemmBlocking> entries;
};
Table& table() {
  static Table t;
  return t;
}

}  // namespace

void set_gemm_blocking(Int m, Int n, Int k, kernels::GemmBlocking blocking) {
  std::lock_guard lock(table().mutex);
  table().entries[{m, n, k}] = blocking;
}

kernels::GemmBlocking gemm_blocking(Int m, Int n, Int k) {
  std::lock_guard lock(table().mutex);
  const auto found = table().entries.find({m, n, k});
  return found == table().entries.end() ? kernels::GemmBlocking{} : found->second;
}

}  // namespace kiln::blas
