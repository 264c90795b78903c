#include "kiln/isa/instructions/shared/psum_accumulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace kiln::isa {
namespace {
enum : int { kNever = 0, kOther = 1, kMatmul = 2, kZeroed = 3 };

// Zeros are only warned about: whether the chip adds to them or overwrites them, the sum is the same.
void refuse_or_warn(Track& t, bool any_never, bool any_other, bool any_zeroed, const Rule& never_rule,
                    const Rule& other_rule) {
  if (any_never) t.fail(never_rule, "accumulate=True into PSUM that nothing has written");
  const std::string found = "accumulate=True into PSUM that a non-matmul instruction wrote last";
  if (any_other && !t.arch().features.psum_bfloat16) t.fail(other_rule, found);
  if (any_other || any_zeroed) t.warn(other_rule, found);
}

// What the elements of dst do with the product: all take it, all add it, or as `add` says.
struct Decision {
  PsumMode mode;
  std::vector<std::uint8_t> add;
  bool adds(std::size_t i) const { return mode == PsumMode::accumulate || (mode == PsumMode::per_element && add[i]); }
};

Decision decide(Track& t, int dst, const Arg& accumulate, const Rule& never_rule, const Rule& other_rule) {
  const bool forced = accumulate.kind != Arg::Kind::none;
  if (forced && accumulate.integer == 0) return {PsumMode::overwrite, {}};
  const int uniform = t.uniform_psum_state(dst);
  if (!forced && uniform >= 0) return {uniform == kMatmul ? PsumMode::accumulate : PsumMode::overwrite, {}};
  std::vector<std::uint8_t> add = uniform < 0 ? t.psum_state(dst) : std::vector<std::uint8_t>{};
  if (forced) {
    const auto any = [&](int state) {
      return uniform < 0 ? std::find(add.begin(), add.end(), state) != add.end() : uniform == state;
    };
    refuse_or_warn(t, any(kNever), any(kOther), any(kZeroed), never_rule, other_rule);
    return {PsumMode::accumulate, {}};
  }
  for (auto& a : add) a = a == kMatmul;
  return {PsumMode::per_element, std::move(add)};
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

}  // namespace

SumMode sum_mode_of(const Arg& accumulate) {
  if (accumulate.kind == Arg::Kind::none) return SumMode::infers;
  return accumulate.integer ? SumMode::adds : SumMode::overwrites;
}

std::vector<Shadow> column_shadow(Track& t, int param, std::int64_t columns) {
  if (t.is_clean(param)) return {};
  const std::vector<Shadow> in = t.read(param);
  std::vector<Shadow> out(columns);
  for (std::size_t first = 0; first < in.size(); first += out.size()) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i] == 0) out[i] = in[first + i];
    }
  }
  return out;
}

void track_product(Track& t, int dst, const Arg& accumulate, const Rule& never_rule, const Rule& other_rule,
                   const std::vector<Shadow>& by_row, const std::vector<Shadow>& by_column) {
  const Decision decision = decide(t, dst, accumulate, never_rule, other_rule);
  t.set_psum_mode(decision.mode, decision.add);
  const bool keeps = decision.mode != PsumMode::overwrite && !t.is_clean(dst);
  if (by_row.empty() && by_column.empty() && !keeps) {
    t.write_clean(dst);
    return t.mark_matmul(dst);
  }
  const std::int64_t n = t.free_size(dst);
  const std::vector<Shadow> before = keeps ? t.read(dst) : std::vector<Shadow>{};
  std::vector<Shadow> out(t.access(dst).count());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!by_row.empty()) out[i] = by_row[i / n];
    if (out[i] == 0 && !by_column.empty()) out[i] = by_column[i % n];
    if (out[i] == 0 && keeps && decision.adds(i)) out[i] = before[i];
  }
  t.write(dst, out);
  t.mark_matmul(dst);
}

void multiply_into(const Run& r, const Tile& dst, const Factor& a, const Factor& b, std::int64_t k) {
  const bool direct = dst.dtype == DType::float32 && dst.row_is_contiguous() && r.psum_mode != PsumMode::per_element;
  if (!direct) {
    thread_local std::vector<float> sum;
    sum.resize(dst.count());
    r.k.matmul(a, b, sum.data(), dst.free_size, k, dst.rows, dst.free_size, false, {});
    return store_sum(r, dst, sum.data());
  }
  const std::uint32_t largest = r.k.matmul(a, b, reinterpret_cast<float*>(dst.data), dst.row_bytes / 4, k, dst.rows,
                                           dst.free_size, r.psum_mode == PsumMode::accumulate, r.soon);
  if (!r.seen || r.seen->data != dst.data || largest == ~0u) return;
  r.seen->largest = std::max(r.seen->largest, largest);
  r.seen->elements += dst.count();
}

}  // namespace kiln::isa
