#include "kiln/isa/psum_accumulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace kiln::isa {
namespace {
enum : int { kNever = 0, kOther = 1, kMatmul = 2 };

void refuse_or_warn(Track& t, int state, int never_rule, int other_rule) {
  if (state == kNever) t.fail(never_rule, "accumulate=True into PSUM that nothing has written");
  if (state != kOther) return;
  const std::string found = "accumulate=True into PSUM that a non-matmul instruction wrote last";
  t.arch().features.psum_bfloat16 ? t.warn(other_rule, found) : t.fail(other_rule, found);
}
}  // namespace

PsumMode track_accumulate(Track& t, int dst, const Arg& accumulate, int never_rule, int other_rule) {
  const auto decide = [&](PsumMode mode, std::vector<std::uint8_t> add = {}) {
    t.set_psum_mode(mode, std::move(add));
    return mode;
  };
  const bool given = accumulate.kind != Arg::Kind::none;
  if (given && accumulate.integer == 0) return decide(PsumMode::overwrite);
  const int state = t.uniform_psum_state(dst);
  if (state >= 0) {
    if (given) refuse_or_warn(t, state, never_rule, other_rule);
    return decide(given || state == kMatmul ? PsumMode::accumulate : PsumMode::overwrite);
  }
  std::vector<std::uint8_t> add = t.psum_state(dst);
  if (given) {
    refuse_or_warn(t, *std::min_element(add.begin(), add.end()), never_rule, other_rule);
    return decide(PsumMode::accumulate);
  }
  for (auto& a : add) a = a == kMatmul;
  return decide(PsumMode::per_element, std::move(add));
}

void store_sum(const Run& r, const Tile& dst, const float* sum) {
  const std::size_t n = dst.free_size;
  std::vector<float> old(n), out(n);
  for (std::int64_t row = 0; row < dst.rows; ++row, sum += n) {
    if (r.psum_mode == PsumMode::overwrite) {
      store_row(r, dst, row, 0, n, sum);
      continue;
    }
    const float* before = load_row(r, dst, row, 0, n, old.data());
    r.k.alu_vv(AluOp::add, before, sum, out.data(), n);
    if (r.psum_mode == PsumMode::per_element) {
      const std::uint8_t* add = r.psum_add + row * n;
      for (std::size_t i = 0; i < n; ++i) out[i] = add[i] ? out[i] : sum[i];
    }
    store_row(r, dst, row, 0, n, out.data());
  }
}

}  // namespace kiln::isa
