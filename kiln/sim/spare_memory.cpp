#include "kiln/sim/spare_memory.h"

#include <sys/mman.h>

#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "kiln/sim/storage.h"

namespace kiln::sim {
namespace {

constexpr std::size_t kHugePage = 2 << 20;
constexpr std::size_t kLeast = 32 << 10;      // smaller pieces are the allocator's business
constexpr std::size_t kMostKept = 256 << 20;  // bytes, of all sizes

// Touching a large piece for the first time takes less with huge pages.
std::byte* allocate(std::size_t bytes) {
  const bool is_large = bytes >= kHugePage;
  void* p = nullptr;
  if (posix_memalign(&p, is_large ? kHugePage : kStorageAlignment, bytes)) return nullptr;
  if (is_large) madvise(p, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // advice: it may be refused
  return static_cast<std::byte*>(p);
}

// Sizes of eight steps from one power of two to the next, so that a piece suits more than one storage.
std::size_t size_class(std::size_t bytes) {
  const std::size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

class Spare {
 public:
  static Spare& get() {
    static Spare* spare = new Spare;  // never destroyed: storages may outlive other statics
    return *spare;
  }

  std::byte* take(std::size_t bytes) {
    std::lock_guard lock(mutex_);
    const auto it = pieces_.find(bytes);
    if (it == pieces_.end() || it->second.empty()) return nullptr;
    std::byte* p = it->second.back();
    it->second.pop_back();
    kept_ -= bytes;
    return p;
  }

  void keep(std::byte* p, std::size_t bytes) {
    std::lock_guard lock(mutex_);
    if (kept_ + bytes > kMostKept) drop();
    if (bytes > kMostKept) return std::free(p);
    pieces_[bytes].push_back(p);
    kept_ += bytes;
  }

  void clear() {
    std::lock_guard lock(mutex_);
    drop();
  }

 private:
  void drop() {
    for (const auto& [bytes, pieces] : pieces_) {
      for (std::byte* p : pieces) std::free(p);
    }
    pieces_.clear();
    kept_ = 0;
  }

  std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> pieces_;  // by size
  std::size_t kept_ = 0;
};

}  // namespace

std::byte* take_memory(std::size_t bytes) {
  if (bytes >= kLeast) {
    bytes = size_class(bytes);
    if (std::byte* p = Spare::get().take(bytes)) return p;
  }
  std::byte* p = allocate(bytes);
  if (!p) {
    Spare::get().clear();
    p = allocate(bytes);
  }
  if (!p) throw std::bad_alloc();
  return p;
}

void give_memory_back(std::byte* memory, std::size_t bytes) {
  bytes >= kLeast ? Spare::get().keep(memory, size_class(bytes)) : std::free(memory);
}

}  // namespace kiln::sim
