#include "kiln/tensor/lower/tile.h"

#include <functional>

namespace kiln::tensor {

std::int64_t Tile::count() const {
  std::int64_t n = 1;
  for (const isa::Dim& d : dims) n *= d.count;
  return n;
}

Tile new_tile(isa::Kernel& k, Memory memory, std::int64_t rows, const Free& free, DType dtype) {
  const isa::Shape shape{rows, std::max<std::int64_t>(1, free.count())};
  const isa::View v = memory == Memory::psum ? k.psum(shape, dtype) : k.sbuf(shape, dtype);
  const std::int64_t row = product(free.dims);
  return {v, 0, free.packed > 1 ? isa::Dim{row, free.packed} : isa::Dim{0, 1}, Strided::contiguous(free.dims).dims,
          rows};
}

isa::View view_of(const Tile& tile, const Dims& dims, const isa::Index& more) {
  const std::int64_t row = tile.storage.dim(1);
  std::vector<isa::Dim> pattern{{row, tile.rows}};
  pattern.insert(pattern.end(), dims.begin(), dims.end());
  if (dims.empty()) pattern.push_back({1, 1});
  return tile.storage.ap(pattern, tile.offset + more);
}

isa::View column_of(const Tile& tile) { return view_of(tile, {}); }

Dims spread_dims(const Tile& tile, const Free& free) {
  Dims out = spread({0, tile.dims}, free.dims).dims;
  out.insert(out.begin(), {tile.packed.count == 1 ? 0 : tile.packed.stride, free.packed});
  return out;
}

namespace {

constexpr std::size_t kMostDims = isa::kMaxOperandRank - 1;

void nest(isa::Kernel& k, const std::vector<Tile>& tiles, const std::vector<Dims>& lists,
          const std::vector<isa::Index>& more, const std::function<void(const std::vector<isa::View>&)>& body) {
  if (lists[0].size() <= kMostDims) {
    std::vector<isa::View> views;
    for (std::size_t i = 0; i < tiles.size(); ++i) views.push_back(view_of(tiles[i], lists[i], more[i]));
    return body(views);
  }
  k.loop(lists[0][0].count, [&](isa::Index at) {
    std::vector<Dims> inner;
    std::vector<isa::Index> moved = more;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      inner.emplace_back(lists[i].begin() + 1, lists[i].end());
      moved[i] += at * lists[i][0].stride;
    }
    nest(k, tiles, inner, moved, body);
  });
}

}  // namespace

void over(isa::Kernel& k, const std::vector<Tile>& tiles, const Free& free,
          const std::function<void(const std::vector<isa::View>&)>& body) {
  std::vector<Dims> lists;
  for (const Tile& t : tiles) lists.push_back(spread_dims(t, free));
  join_together(lists);
  nest(k, tiles, lists, std::vector<isa::Index>(tiles.size(), 0), body);
}

}  // namespace kiln::tensor
