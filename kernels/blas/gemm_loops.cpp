#include "kernels/blas/gemm_loops.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/blas/config_rules.h"
#include "kernels/blas/turned_load.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr int kMostChunkTiles = 4;
constexpr std::int64_t kTurningBanks = 2;  // of PSUM, for operands that are transposed on the tensor engine

GemmBlocking choose(const GemmConfig& c, std::int64_t banks) {
  GemmBlocking b = c.blocking;
  const std::int64_t rows = tiles_of(c.m, kTile), columns = tiles_of(c.n, kWide);
  if (b.m_tiles == 0) {
    const std::int64_t wide = b.n_tiles ? b.n_tiles : std::min<std::int64_t>(columns, 2);
    b.m_tiles = static_cast<int>(std::min(rows, banks / wide));
  }
  if (b.n_tiles == 0) b.n_tiles = static_cast<int>(std::min(columns, banks / b.m_tiles));
  if (b.k_tiles == 0)
    b.k_tiles = static_cast<int>(std::clamp<std::int64_t>(tiles_of(c.k, kTile) / 8, 1, kMostChunkTiles));
  return b;
}

}  // namespace

GemmLoops::GemmLoops(Kernel& k, const GemmConfig& config, const Epilogue& epilogue, const GemmOperands& operands)
    : k_(k), c_(config), epilogue_(epilogue), x_(operands) {
  const bool turns = !(x_.a.k_first && x_.b.k_first) && turns_on_tensor_engine(arch(k.program().target));
  const std::int64_t banks = turns ? kBanks - kTurningBanks : kBanks;
  blocking_ = choose(config, banks);
  if (blocking_.m_tiles < 1 || blocking_.n_tiles < 1 || blocking_.k_tiles < 1 ||
      blocking_.m_tiles * blocking_.n_tiles > banks)
    raise(config_rules::kTable, config_rules::kBlocking,
          {.found = fmt::format("{} x {} tiles, {} of K", blocking_.m_tiles, blocking_.n_tiles, blocking_.k_tiles)});
  chunk_ = blocking_.k_tiles * kTile;
  rows_outside_ = !x_.a.k_first && x_.b.k_first;
  resident_ = fits_twice();
}

bool GemmLoops::fits_twice() const {
  const Arch& chip = arch(k_.program().target);
  const std::int64_t m = blocking_.m_tiles * kTile, n = blocking_.n_tiles * kWide;
  const bool splits = c_.precision != Precision::native;
  const std::int64_t size = size_bytes(part_dtype(c_.precision, c_.dtype)) * parts_of(c_.precision);
  const std::int64_t chunk = blocking_.k_tiles * (3 * size * (rows_outside_ ? n : m) + (splits ? 12 * (m + n) : 0));
  const std::int64_t out = 6 * n * 4, room = chip.sbuf_partition_bytes - chip.sbuf_reserved_bytes - chunk - out;
  return 2 * tiles_of(c_.k, kTile) * (rows_outside_ ? m : n) * size <= room;
}

void GemmLoops::run() {
  const std::int64_t m = blocking_.m_tiles * kTile, n = blocking_.n_tiles * kWide;
  const std::int64_t outer = rows_outside_ ? m : n, inner = rows_outside_ ? n : m;
  const std::int64_t outer_total = rows_outside_ ? c_.m : c_.n, inner_total = rows_outside_ ? c_.n : c_.m;
  k_.tiles(outer_total, outer, [&](Index o, std::int64_t os) {
    const auto at = [&](const Index& i, std::int64_t is) {
      return rows_outside_ ? Block{o, os, i, is} : Block{i, is, o, os};
    };
    if (!resident_) return k_.tiles(inner_total, inner, [&](Index i, std::int64_t is) { multiply(at(i, is), {}); });
    // The first block loads the panel as it goes along K.
    const Parts panel = parts(c_.k, os);
    multiply(at(0, std::min(inner, inner_total)), panel, true);
    tiles_from(k_, inner, inner_total, inner, [&](Index i, std::int64_t is) { multiply(at(i, is), panel); });
  });
}

Parts GemmLoops::parts(std::int64_t rows, std::int64_t x) const {
  Parts parts;
  for (int i = 0; i < parts_of(c_.precision); ++i)
    parts.push_back(chunk_tile(k_, rows, x, part_dtype(c_.precision, c_.dtype)));
  return parts;
}

void GemmLoops::load(const Parts& to, const Source& from, const Index& k0, std::int64_t rows, const Index& x0,
                     std::int64_t x) const {
  if (c_.precision == Precision::native) return load_chunk(k_, to[0], from, k0, rows, x0, x);
  const View chunk = chunk_tile(k_, rows, x, c_.dtype);
  load_chunk(k_, chunk, from, k0, rows, x0, x);
  split_chunk(k_, chunk, rows, to);
}

// One block: its sums over K, then the way out. `panel` is that of the outer operand.
void GemmLoops::multiply(const Block& b, const Parts& panel, bool loads_panel) {
  ProductBlock sums(k_, b.m, b.n);
  const auto step = [&](const Index& k0, const Index& first_tile, std::int64_t rows) {
    const auto operand = [&](const Source& from, const Index& x0, std::int64_t x, bool is_outer) {
      const bool stays = resident_ && is_outer;
      Parts chunk = stays ? panel : parts(rows, x);
      for (View& part : chunk) {
        if (stays) part = part(all, ds(first_tile, tiles_of(rows, kTile)));
      }
      if (!stays || loads_panel) load(chunk, from, k0, rows, x0, x);
      return chunk;
    };
    const Parts left = operand(x_.a, b.m0, b.m, rows_outside_), right = operand(x_.b, b.n0, b.n, !rows_outside_);
    for (const auto& [i, j] : products_of(c_.precision)) sums.add(left[i], right[j], rows);
  };
  const std::int64_t whole = c_.k / chunk_;
  if (whole > 0) k_.loop(whole, [&](Index i) { step(i * chunk_, i * blocking_.k_tiles, chunk_); });
  if (c_.k % chunk_) step(whole * chunk_, whole * blocking_.k_tiles, c_.k % chunk_);
  const auto part = [&](const View& c) { return c(ds(b.m0, b.m), ds(b.n0, b.n)); };
  epilogue_.store(sums, part(x_.to), epilogue_.reads_c() ? part(x_.from) : View());
}

}  // namespace kiln::kernels
