#include "kiln/sim/storage.h"

#include <cstdlib>
#include <new>

namespace kiln::sim {

void Storage::Free::operator()(std::byte* p) const { std::free(p); }

Storage::Storage(std::int64_t rows, std::int64_t row_bytes, std::byte* external)
    : rows(rows), row_bytes(row_bytes), data(external), shadow(rows * row_bytes), psum(0) {
  if (external) return;
  const std::size_t size = (static_cast<std::size_t>(rows * row_bytes) + 127) / 64 * 64;
  owned_.reset(static_cast<std::byte*>(std::aligned_alloc(64, size)));
  if (!owned_) throw std::bad_alloc();
  data = owned_.get();
}

void Storage::drop_finished() {
  std::erase_if(uses, [](const Use& u) { return u.task->finished(); });
}

}  // namespace kiln::sim
