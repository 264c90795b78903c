#include "kiln/sim/storage.h"

#include "kiln/sim/spare_memory.h"

namespace kiln::sim {
void Storage::Free::operator()(std::byte* p) const { give_memory_back(p, bytes); }

Storage::Storage(std::int64_t rows, std::int64_t row_bytes, std::byte* external)
    : rows(rows), row_bytes(row_bytes), data(external), shadow(rows * row_bytes), psum(0) {
  if (external) return;
  const std::size_t bytes = size_of(rows * row_bytes);
  owned_ = {take_memory(bytes), Free{bytes}};
  data = owned_.get();
}

Storage::Storage(std::int64_t rows, std::int64_t row_bytes, std::shared_ptr<std::byte> part)
    : rows(rows), row_bytes(row_bytes), data(part.get()), shadow(rows * row_bytes), psum(0), part_(std::move(part)) {}

void Storage::drop_finished() {
  std::erase_if(uses, [](const Use& u) { return u.task->finished(); });
}

}  // namespace kiln::sim
