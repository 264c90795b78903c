// Transposes from HBM to HBM: long runs on both sides, and between them blocks of at most 128 x 128 that are turned on
// the tensor engine.
#include <algorithm>

#include "kiln/tensor/lower/copies.h"
#include "kiln/tensor/lower/turn.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr std::int64_t kTileBytes = 16384;           // of a partition, of what is turned together
constexpr std::int64_t kMostBytes = 4 * kTileBytes;  // where there is no smaller part

// The size of blocks of at most 128 that all are of one size; nothing when there is none that is worth it.
std::optional<std::int64_t> block_of(std::int64_t n) {
  if (n <= kBlock) return n;
  for (std::int64_t size = kBlock; size >= kBlock / 2; --size) {
    if (n % size == 0) return size;
  }
  return {};
}

// dst(outer, r, c) = src(outer, r, c), where c follows each other in dst and r in src.
struct Transpose {
  isa::Kernel& k;
  const Arch& arch;
  View dst, src;
  std::int64_t rows, columns;              // r and c
  std::int64_t row_stride, column_stride;  // of r in dst, of c in src
  std::int64_t row_block, column_block;    // that divide them

  std::int64_t bytes() const { return size_bytes(dst.dtype()); }
  std::int64_t column_blocks() const { return columns / column_block; }
  std::int64_t row_blocks() const { return rows / row_block; }

  // Blocks of rows, from HBM to HBM: how they follow each other in the source tile and in HBM.
  struct Part {
    std::int64_t count = 1;              // blocks
    std::int64_t apart = 0, within = 1;  // of blocks, and of the rows of one, in the source tile
    std::int64_t to = 0, each = 0;       // the same in dst
  };
  void part(const Part& p, const View& loaded, std::int64_t width, const Index& at) const;
  std::int64_t parts() const;
  void matrix_in_parts(const Index& to, const Index& from) const;
  void matrix(const Index& to, const Index& from) const;
  void matrices(const isa::Dim& to_outer, const isa::Dim& from_outer, const Index& to, const Index& from) const;
};

// Turns what is loaded, `width` elements for each block of columns, and stores it.
void Transpose::part(const Part& p, const View& loaded, std::int64_t width, const Index& at) const {
  const std::int64_t q = column_blocks(), bank = std::max<std::int64_t>(1, arch.psum_bank_bytes / bytes());
  const View turned = k.sbuf({row_block, p.count * columns}, dst.dtype());
  const auto turn = [&](const View& psum, const Index& at_psum, const Index& block, const Index& column) {
    k.nc_transpose(
        {.dst = psum.ap({{psum.dim(1), row_block}, {1, column_block}}, at_psum),
         .data = loaded.ap({{loaded.dim(1), column_block}, {p.within, row_block}}, block * p.apart + column * width)});
  };
  const auto leave = [&](const View& psum, const Index& first) {
    k.tensor_copy({.dst = turned.ap({{p.count * columns, row_block}, {1, psum.dim(1)}}, first), .src = psum});
  };
  if (q == 1) {  // several blocks of rows leave a bank together
    k.tiles(p.count, std::max<std::int64_t>(1, bank / columns), [&](Index first, std::int64_t m) {
      const View psum = k.psum({row_block, m * columns}, dst.dtype());
      k.loop(m, [&](Index i) { turn(psum, i * columns, first + i, 0); });
      leave(psum, first * columns);
    });
  } else {
    k.loop(p.count, [&](Index block) {
      k.tiles(q, std::max<std::int64_t>(1, bank / column_block), [&](Index first, std::int64_t m) {
        const View psum = k.psum({row_block, m * column_block}, dst.dtype());
        k.loop(m, [&](Index i) { turn(psum, i * column_block, block, first + i); });
        leave(psum, block * columns + first * column_block);
      });
    });
  }
  std::vector<Dims> lists{{{p.to, p.count}, {1, columns}}, {{columns, p.count}, {1, columns}}};
  join_together(lists);
  std::vector<isa::Dim> to{{p.each, row_block}}, from{{p.count * columns, row_block}};
  to.insert(to.end(), lists[0].begin(), lists[0].end());
  from.insert(from.end(), lists[1].begin(), lists[1].end());
  k.dma_copy({.dst = dst.ap(to, at), .src = turned.ap(from)});
}

// Parts of columns, whole blocks of them, whose results fit a partition; 0 when there are none.
std::int64_t Transpose::parts() const {
  for (std::int64_t n = 1; n <= column_blocks(); ++n) {
    if (column_blocks() % n == 0 && columns / n * bytes() <= kMostBytes) return n;
  }
  return 0;
}

void Transpose::matrix_in_parts(const Index& to, const Index& from) const {
  const std::int64_t n = parts();
  if (n == 1) return matrix(to, from);
  Transpose part = *this;
  part.columns = columns / n;
  k.loop(n, [&](Index i) { part.matrix(to + i * part.columns, from + i * (part.columns * column_stride)); });
}

// One matrix, some blocks of rows at a time. Rows that follow each other in dst lie on one partition.
void Transpose::matrix(const Index& to, const Index& from) const {
  const std::int64_t q = column_blocks(), each = std::max(q * row_block, columns) * bytes();
  const std::int64_t most = std::clamp<std::int64_t>(kTileBytes / each, 1, row_blocks());
  const std::int64_t parts = (row_blocks() + most - 1) / most;
  k.tiles(row_blocks(), (row_blocks() + parts - 1) / parts, [&](Index first, std::int64_t count) {
    const std::int64_t width = count * row_block;
    const View loaded = k.sbuf({column_block, q * width}, dst.dtype());
    k.dma_copy({.dst = loaded.ap({{q * width, column_block}, {width, q}, {1, width}}),
                .src = src.ap({{column_stride, column_block}, {column_stride * column_block, q}, {1, width}},
                              from + first * row_block)});
    Part p{.count = count, .apart = row_block, .within = 1, .to = row_block * row_stride, .each = row_stride};
    if (row_stride == columns) p = {count, 1, count, row_stride, count * row_stride};
    part(p, loaded, width, to + first * (row_block * row_stride));
  });
}

// Small matrices, several at a time.
void Transpose::matrices(const isa::Dim& to_outer, const isa::Dim& from_outer, const Index& to,
                         const Index& from) const {
  const std::int64_t most = std::max<std::int64_t>(1, kTileBytes / (std::max(rows, columns) * bytes()));
  k.tiles(to_outer.count, std::min(most, to_outer.count), [&](Index first, std::int64_t count) {
    const View loaded = k.sbuf({columns, count * rows}, dst.dtype());
    k.dma_copy({.dst = loaded.ap({{count * rows, columns}, {rows, count}, {1, rows}}),
                .src = src.ap({{column_stride, columns}, {from_outer.stride, count}, {1, rows}},
                              from + first * from_outer.stride)});
    part({.count = count, .apart = rows, .within = 1, .to = to_outer.stride, .each = row_stride}, loaded, count * rows,
         to + first * to_outer.stride);
  });
}

}  // namespace

bool Copies::turn_blocks(const View& to_view, const Dims& to, const Index& at, const View& from_view, const Dims& from,
                         const Index& from_at, std::size_t other) {
  const std::size_t last = to.size() - 1;
  const auto row_block = block_of(to[other].count), column_block = block_of(to[last].count);
  if (!row_block || !column_block) return false;
  const Transpose t{k,
                    arch,
                    to_view,
                    from_view,
                    to[other].count,
                    to[last].count,
                    to[other].stride,
                    from[last].stride,
                    *row_block,
                    *column_block};
  if (t.column_blocks() * t.row_block * t.bytes() > kMostBytes || t.parts() == 0) return false;
  Dims to_outer, from_outer;
  for (std::size_t d = 0; d < last; ++d) {
    if (d != other) to_outer.push_back(to[d]), from_outer.push_back(from[d]);
  }
  const bool small = t.row_blocks() == 1 && t.column_blocks() == 1 && !to_outer.empty();
  const std::size_t loops = to_outer.size() - (small ? 1 : 0);
  const std::function<void(std::size_t, Index, Index)> each = [&](std::size_t d, const Index& a, const Index& b) {
    if (d == loops) return small ? t.matrices(to_outer[d], from_outer[d], a, b) : t.matrix_in_parts(a, b);
    k.loop(to_outer[d].count, [&](Index i) { each(d + 1, a + i * to_outer[d].stride, b + i * from_outer[d].stride); });
  };
  each(0, at, from_at);
  return true;
}

}  // namespace kiln::tensor
