#include "kiln/sim/storage_pool.h"

#include <algorithm>
#include <new>
#include <utility>

namespace kiln::sim {
namespace {
constexpr std::int64_t kCopyBytes = 2 << 20;             // storages of a tensor that is declared in a loop,
constexpr std::int64_t kMinCopies = 4, kMaxCopies = 32;  // at least and at most so many
constexpr std::int64_t kSpareBytes = 256 << 20;          // storages that wait for a next tensor
constexpr std::int64_t kAheadBytes = 16 << 20;           // of a size that wait for their values, before issuing waits
constexpr std::size_t kSmallBytes = 4 << 10;             // storages that share a block of memory,
constexpr std::size_t kBlockBytes = 64 << 10;            // which is so large

// The first is the one used most lately, so few are used when few are enough.
std::shared_ptr<Storage> first_idle(const std::vector<std::shared_ptr<Storage>>& storages) {
  const auto it = std::ranges::find_if(storages, [](const auto& s) { return s->is_idle(); });
  return it == storages.end() ? nullptr : *it;
}

}  // namespace

std::shared_ptr<Storage> StoragePool::take(isa::TensorId id) {
  const isa::Tensor& t = program_.tensors[id];
  auto& own = of_tensor_[id];
  const std::int64_t bytes = std::max<std::int64_t>(t.partitions() * t.bytes_per_partition(), 1);
  const std::int64_t copies = std::clamp(kCopyBytes / bytes, kMinCopies, kMaxCopies);
  std::shared_ptr<Storage> storage = first_idle(own);
  while (!storage && std::ssize(own) >= copies) {
    queue_.help();
    storage = first_idle(own);
  }
  if (!storage) {
    storage = make(t.partitions(), t.bytes_per_partition());
    own.push_back(storage);
  }
  return storage;
}

std::shared_ptr<Storage> StoragePool::make(std::int64_t rows, std::int64_t row_bytes) {
  if (auto storage = take_spare(rows, row_bytes)) return storage;
  const std::int64_t bytes = std::max<std::int64_t>(rows * row_bytes, 1);
  while (std::ssize(spare_[{rows, row_bytes}]) * bytes > kAheadBytes) {
    queue_.help();
    if (auto storage = take_spare(rows, row_bytes)) return storage;
  }
  if (spare_bytes_ > kSpareBytes) {  // too far ahead of the values, or too many sizes
    queue_.wait_until(0);
    if (auto storage = take_spare(rows, row_bytes)) return storage;
    spare_.clear();
    spare_bytes_ = 0;
  }
  if (Storage::size_of(rows * row_bytes) <= kSmallBytes) return make_small(rows, row_bytes);
  return std::make_shared<Storage>(rows, row_bytes);
}

// An allocation for each would cost more than the instruction that uses it.
std::shared_ptr<Storage> StoragePool::make_small(std::int64_t rows, std::int64_t row_bytes) {
  const std::size_t size = Storage::size_of(rows * row_bytes);
  if (!block_ || block_used_ + size > kBlockBytes) {
    constexpr std::align_val_t kAlignment{kStorageAlignment};
    block_.reset(static_cast<std::byte*>(operator new(kBlockBytes, kAlignment)),
                 [](std::byte* p) { operator delete(p, kAlignment); });
    block_used_ = 0;
  }
  std::byte* const at = block_.get() + std::exchange(block_used_, block_used_ + size);
  return std::make_shared<Storage>(rows, row_bytes, std::shared_ptr<std::byte>(block_, at));
}

std::shared_ptr<Storage> StoragePool::take_spare(std::int64_t rows, std::int64_t row_bytes) {
  auto& spare = spare_[{rows, row_bytes}];
  for (auto& s : spare) {
    if (!s->is_idle()) continue;
    std::swap(s, spare.back());
    std::shared_ptr<Storage> storage = std::move(spare.back());
    spare.pop_back();
    spare_bytes_ -= rows * row_bytes;
    return storage;
  }
  return nullptr;
}

void StoragePool::give_back(isa::TensorId id) {
  for (auto& s : of_tensor_[id]) {
    spare_bytes_ += s->rows * s->row_bytes;
    spare_[{s->rows, s->row_bytes}].push_back(std::move(s));
  }
  of_tensor_[id].clear();
}

}  // namespace kiln::sim
