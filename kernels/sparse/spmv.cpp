#include "kernels/sparse/spmv.h"

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/blas/epilogue.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kGatherSlots = 1024;   // in SBUF at once
constexpr std::int64_t kMostColumns = 24576;  // of a, half of SBUF
constexpr std::int64_t kSumBuckets = 512;     // whose sums are in SBUF at once

// Consecutive buckets with as many slots each.
struct EqualBuckets {
  std::int64_t count, slots;
};

class SpmvLoops {
 public:
  SpmvLoops(Kernel& k, const SpmmConfig& c) : k_(k), c_(c), epilogue_(k, c.alpha, c.beta) {
    const RowBuckets& b = c.buckets;
    indices_ = k.input("indices", {kTile, count() + b.slot_count}, DType::uint32);
    if (b.slot_count > 0) values_ = k.input("values", {kTile, b.slot_count}, f32);
    const View x = k.input("b", {c.columns, 1}, f32);
    if (epilogue_.reads_c()) from_ = k.input("c_in", {c.rows, 1}, f32);
    to_ = k.output("c", {c.rows, 1}, f32);
    x_ = k.sbuf({kTile, c.columns}, f32);
    k.dma_copy({.dst = x_, .src = x.permute({1, 0}).broadcast(0, kTile)});
  }

  void run() {
    for (std::int64_t first = 0; first < count(); first += kSumBuckets)
      finish(first, sums_of(first, std::min(count(), first + kSumBuckets)));
  }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(c_.buckets.buckets.size()); }
  std::int64_t slots(std::int64_t bucket) const { return c_.buckets.buckets[bucket].slots(); }

  // The sums of buckets first … last, one column each.
  View sums_of(std::int64_t first, std::int64_t last) {
    const View sums = k_.sbuf({kTile, last - first}, f32);
    for (std::int64_t g = first; g < last;) {
      if (slots(g) == 0) {
        const std::int64_t begin = g;
        while (g < last && slots(g) == 0) ++g;
        k_.memset({.dst = sums(all, ds(begin - first, g - begin)), .value = 0.0});
      } else if (slots(g) > kGatherSlots) {
        sum_long(sums(all, ds(g - first, 1)), slots(g));
        ++g;
      } else {
        g = sum_some(sums, first, g, last);
      }
    }
    return sums;
  }

  // Of a bucket with more slots than are in SBUF at once.
  void sum_long(const View& sum, std::int64_t size) {
    for (std::int64_t done = 0; done < size; done += kGatherSlots) {
      const std::int64_t some = std::min(kGatherSlots, size - done);
      const View part = done == 0 ? sum : k_.sbuf({kTile, 1}, f32);
      k_.tensor_reduce({.dst = part, .op = AluOp::add, .data = products(some), .axis = {1}});
      if (done > 0) k_.tensor_tensor({.dst = sum, .data1 = sum, .data2 = part, .op = AluOp::add});
    }
  }

  // As many buckets from g on as fit; gives the next one.
  std::int64_t sum_some(const View& sums, std::int64_t first, std::int64_t g, std::int64_t last) {
    std::vector<EqualBuckets> equal;
    std::int64_t size = 0, next = g;
    for (; next < last && slots(next) > 0 && size + slots(next) <= kGatherSlots; ++next) {
      size += slots(next);
      if (equal.empty() || equal.back().slots != slots(next)) equal.push_back({0, slots(next)});
      ++equal.back().count;
    }
    const View all_products = products(size);
    std::int64_t done = 0;
    for (const EqualBuckets& e : equal) {
      const View mine = all_products(all, ds(done, e.count * e.slots)).reshape_dim(1, {e.count, e.slots});
      k_.tensor_reduce({.dst = sums(all, ds(g - first, e.count)), .op = AluOp::add, .data = mine, .axis = {2}});
      done += e.count * e.slots;
      g += e.count;
    }
    return next;
  }

  // The next slots: their values times what they gather.
  View products(std::int64_t size) {
    const View index = k_.sbuf({kTile, size}, DType::uint32), values = k_.sbuf({kTile, size}, f32);
    const View gathered = k_.sbuf({kTile, size}, f32);
    k_.dma_copy({.dst = index, .src = indices_(all, ds(count() + slot_, size))});
    k_.dma_copy({.dst = values, .src = values_(all, ds(slot_, size))});
    slot_ += size;
    k_.nc_n_gather({.dst = gathered, .data = x_, .indices = index});
    k_.tensor_tensor({.dst = gathered, .data1 = gathered, .data2 = values, .op = AluOp::multiply});
    return gathered;
  }

  void finish(std::int64_t first, const View& sums) {
    const std::int64_t some = sums.dim(1);
    View where, c;
    if (!c_.buckets.in_order) {
      where = k_.sbuf({kTile, some}, DType::uint32);
      k_.dma_copy({.dst = where, .src = indices_(all, ds(first, some))});
    }
    if (epilogue_.reads_c()) {
      c = k_.sbuf({kTile, some}, f32);
      k_.memset({.dst = c, .value = 0.0});
      for_places(c, first, where, from_,
                 [&](const View& mine, const View& memory) { k_.dma_copy({.dst = mine, .src = memory}); });
    }
    const View out = k_.sbuf({kTile, some}, f32);
    epilogue_.apply(out, sums, c, 0);
    for_places(out, first, where, to_,
               [&](const View& mine, const View& memory) { k_.dma_copy({.dst = memory, .src = mine}); });
  }

  // Calls fn(part of the columns of buckets from `first` on, where that part lies in memory).
  template <class Fn>
  void for_places(const View& columns, std::int64_t first, const View& where, const View& memory, Fn&& fn) const {
    const std::int64_t some = columns.dim(1);
    if (c_.buckets.in_order) {
      const std::int64_t row = first * kTile, whole = std::min(c_.rows - row, some * kTile) / kTile;
      const std::int64_t rest = std::min(c_.rows - row, some * kTile) - whole * kTile;
      if (whole > 0) {
        const View rows = memory(ds(row, whole * kTile)).reshape_dim(0, {whole, kTile});
        fn(columns(all, ds(0, whole)), rows.permute({1, 0, 2}).flatten_dims(1, 2));
      }
      if (rest > 0) fn(columns(ds(0, rest), ds(whole, 1)), memory(ds(row + whole * kTile, rest)));
      return;
    }
    for (std::int64_t g = 0; g < some; ++g) {
      const Slice rows = ds(0, c_.buckets.buckets[first + g].rows), column = ds(g, 1);
      fn(columns(rows, column), memory.vector_offset(where(rows, column)));
    }
  }

  Kernel& k_;
  const SpmmConfig& c_;
  Epilogue epilogue_;
  View indices_, values_, x_, from_, to_;
  std::int64_t slot_ = 0;
};

}  // namespace

bool suits_spmv(std::int64_t rows, std::int64_t columns, std::int64_t count, const Arch& arch) {
  const double engines = arch.dma.engines;
  const double load = 4.0 * kTile * static_cast<double>(columns) / arch.dma.loaded_bytes_per_ns / engines;
  const double gather = static_cast<double>(count) * arch.dma.packet_ns / engines;
  const double scatter = static_cast<double>(tiles_of(rows, kTile)) * kScatterNs;
  return columns <= kMostColumns && load < gather + scatter && 2 * count <= rows * columns;
}

Program spmv(const SpmmConfig& c, Target target) {
  require_sizes("spmv", {c.rows, c.columns, c.n});
  require_alpha("spmv", c.alpha);
  Kernel k("spmv", target);
  SpmvLoops(k, c).run();
  return k.finish();
}

}  // namespace kiln::kernels
