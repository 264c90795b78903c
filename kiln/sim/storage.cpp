#include "kiln/sim/storage.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace kiln::sim {
namespace {

constexpr std::size_t kHugePage = 2 << 20;

// Touching a large storage for the first time takes as long as working with it; with huge pages much less.
std::byte* allocate(std::size_t size) {
  const bool is_large = size >= kHugePage;
  void* p = nullptr;
  if (posix_memalign(&p, is_large ? kHugePage : kStorageAlignment, size)) throw std::bad_alloc();
  if (is_large) madvise(p, size / kHugePage * kHugePage, MADV_HUGEPAGE);  // advice: it may be refused
  return static_cast<std::byte*>(p);
}

}  // namespace

void Storage::Free::operator()(std::byte* p) const { std::free(p); }

Storage::Storage(std::int64_t rows, std::int64_t row_bytes, std::byte* external)
    : rows(rows), row_bytes(row_bytes), data(external), shadow(rows * row_bytes), psum(0) {
  if (external) return;
  owned_.reset(allocate(size_of(rows * row_bytes)));
  data = owned_.get();
}

Storage::Storage(std::int64_t rows, std::int64_t row_bytes, std::shared_ptr<std::byte> part)
    : rows(rows), row_bytes(row_bytes), data(part.get()), shadow(rows * row_bytes), psum(0), part_(std::move(part)) {}

void Storage::drop_finished() {
  std::erase_if(uses, [](const Use& u) { return u.task->finished(); });
}

}  // namespace kiln::sim
