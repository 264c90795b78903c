// Storage: the bytes behind one or more tensors, what is known about them, and who is still using them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kiln/sim/byte_map.h"
#include "kiln/sim/task.h"

namespace kiln::sim {

// What a view of any dtype of a tile may count on, where the tile lies in memory of the caller.
inline constexpr std::int64_t kTileAlignment = 4;
// Where storages begin that are not the caller's.
inline constexpr std::size_t kStorageAlignment = 64;

// A rectangle of a storage: rows [row, row_end) and bytes [begin, end) of each row.
struct Region {
  std::int64_t row, row_end, begin, end;
  bool overlaps(const Region& o) const { return row < o.row_end && o.row < row_end && begin < o.end && o.begin < end; }
};

// Which tensor's matmul wrote each byte last. Numbers beyond 65535 are cut: no kernel has so many
// accumulators.
class Owners {
 public:
  explicit Owners(std::int64_t size) : low_(size), high_(size) {}
  void fill(std::int64_t begin, std::int64_t end, std::uint32_t tensor) {
    low_.fill(begin, end, static_cast<std::uint8_t>(tensor));
    high_.fill(begin, end, static_cast<std::uint8_t>(tensor >> 8));
  }
  std::uint32_t at(std::int64_t i) const { return low_.at(i) | std::uint32_t{high_.at(i)} << 8; }
  bool all(std::int64_t begin, std::int64_t end, std::uint32_t tensor) const {
    return low_.all(begin, end, static_cast<std::uint8_t>(tensor)) &&
           high_.all(begin, end, static_cast<std::uint8_t>(tensor >> 8));
  }

 private:
  ByteMap low_, high_;
};

// The largest magnitude among all elements of a storage, if it is known. Who writes to all of them is alone with the
// storage and may say; others write in parts, perhaps several at once, and forget it.
class KnownLargest {
 public:
  struct Value {
    DType dtype;
    std::uint32_t magnitude;
  };
  std::optional<Value> get() const {
    const std::uint64_t known = known_.load(std::memory_order_relaxed);
    if (known == kUnknown) return std::nullopt;
    return Value{static_cast<DType>(known >> 32), static_cast<std::uint32_t>(known)};
  }
  void set(Value v) {
    known_.store(static_cast<std::uint64_t>(v.dtype) << 32 | v.magnitude, std::memory_order_relaxed);
  }
  void reset() { known_.store(kUnknown, std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  std::atomic<std::uint64_t> known_{kUnknown};  // tasks on parts of a storage run side by side
};

struct Storage {
  Storage(std::int64_t rows, std::int64_t row_bytes, std::byte* external = nullptr);
  // In memory that it shares with others: size_of() bytes at an address that kStorageAlignment divides.
  Storage(std::int64_t rows, std::int64_t row_bytes, std::shared_ptr<std::byte> part);
  // Bytes to keep for a storage of so many: vectors may read beyond the last element.
  static std::size_t size_of(std::int64_t bytes) { return (static_cast<std::size_t>(bytes) + 127) / 64 * 64; }

  std::int64_t rows, row_bytes;  // HBM: one row
  std::byte* data;
  ByteMap shadow;  // 0 written, else where the missing value comes from
  ByteMap psum;    // PSUM only: 0 never written, 1 by another instruction, 2 by a matmul, 3 by memset with 0
  std::unique_ptr<Owners> owners;  // PSUM with tensors placed over each other only

  // Unfinished users, oldest first; touched by the issuing thread only.
  struct Use {
    TaskRef task;
    Region region;
    bool writes;
  };
  std::vector<Use> uses;
  // The largest magnitude in it, when it was looked at as a whole since the last write (first_nonfinite.h).
  KnownLargest largest;
  // Collectives of several ranks: whether one has written here, and how many its rank had entered when it last used it.
  bool received = false;
  std::int64_t touched = 0;
  bool is_external() const { return !owned_ && !part_; }
  void drop_finished();
  bool is_idle() { return drop_finished(), uses.empty(); }

 private:
  struct Free {
    std::size_t bytes;
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> owned_;
  std::shared_ptr<std::byte> part_;
};

}  // namespace kiln::sim
