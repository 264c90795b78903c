#include "kiln/sim/nonfinite_flow.h"

#include <algorithm>
#include <cmath>

#include "kiln/sim/magnitude.h"

namespace kiln::sim {
using namespace isa;
namespace {

// Numbers that masks are made of: as far down as they go, or as float32 and bfloat16 go in either direction.
constexpr float kMask = -1e30f, kAlmostInfinite = 0x1.fep127f;

bool is_extreme(float x) { return !std::isfinite(x) || x <= kMask || std::abs(x) >= kAlmostInfinite; }
bool is_nan(float x) { return std::isnan(x); }
using Test = bool (*)(float);

struct CannotTell {};

// Shadow 1: an element that passes the test, or a result that depends on one.
class Flow final : public Track {
 public:
  Flow(const Run& run, const Before& before, Test test)
      : Track(run.program(), run.inst(), run.arch()), run_(run), before_(before), test_(test) {
    register_value = run.register_value;
    lanes_.fill({.defined = true, .op = {}, .shadow = 1});
  }

  // What the instruction did not make: where a result is not written, all of it.
  std::vector<Shadow> of_result(int param) const {
    return results_[param].empty() ? std::vector<Shadow>(run_.tile(param).count(), 1) : results_[param];
  }

  bool is_clean(int param) override {
    const std::vector<Shadow> all = read(param);
    return std::ranges::all_of(all, [](Shadow s) { return s == 0; });
  }
  bool is_row_clean(int param, std::int64_t row) override {
    const std::vector<Shadow> all = read(param);
    const std::int64_t columns = free_size(param);
    return std::all_of(all.begin() + row * columns, all.begin() + (row + 1) * columns, [](Shadow s) { return s == 0; });
  }
  std::vector<Shadow> read(int param) override {
    std::vector<Shadow> out;
    const std::span<const Tile> tiles = tiles_of(run_, param);
    for (std::size_t i = 0; i < tiles.size(); ++i) append(out, param, static_cast<int>(i), tiles[i]);
    return out;
  }
  void write(int param, const std::vector<Shadow>& shadow) override { results_[param] = shadow; }
  void write_clean(int param) override { results_[param].assign(run_.tile(param).count(), 0); }
  void write_where(int param, const std::vector<Shadow>& shadow, const std::vector<std::uint8_t>& where) override {
    results_[param].assign(run_.tile(param).count(), 1);
    for (std::size_t i = 0; i < where.size(); ++i) {
      if (where[i]) results_[param][i] = shadow[i];
    }
  }
  void mark_padding(int, const std::vector<std::uint8_t>&) override {}
  std::vector<std::uint8_t> skipped_rows(int param) override {
    std::vector<std::uint8_t> out;
    for (const Tile& tile : tiles_of(run_, param)) {
      for (std::int64_t row = 0; row < tile.rows; ++row)
        out.push_back(tile.row_offset && tile.row_offset[row] == kSkipRow);
    }
    return std::ranges::find(out, 1) == out.end() ? std::vector<std::uint8_t>{} : out;
  }
  void check_offsets(int, std::int64_t, std::int64_t) override {}
  std::vector<std::uint32_t> bits(int param) override { return bits_of(run_.tile(param)); }

  // The decision was made when the instruction was issued.
  std::vector<std::uint8_t> psum_state(int param) override {
    std::vector<std::uint8_t> out(run_.psum_add, run_.psum_add + run_.tile(param).count());
    for (std::uint8_t& state : out) state = state ? 2 : 1;
    return out;
  }
  int uniform_psum_state(int) override {
    return run_.psum_mode == PsumMode::accumulate ? 2 : run_.psum_mode == PsumMode::overwrite ? 1 : -1;
  }
  void mark_matmul(int) override {}
  void set_psum_mode(PsumMode, std::vector<std::uint8_t>) override {}

  TrackedLane* lanes(unsigned, int param) override { return lanes_.data() + run_.tile(param).lane; }
  [[noreturn]] void fail(const Rule&, std::string) override { throw CannotTell{}; }
  void warn(const Rule&, std::string) override {}

 private:
  void append(std::vector<Shadow>& out, int param, int i, const Tile& tile) const {
    const auto old =
        std::ranges::find_if(before_, [&](const Overwritten& o) { return o.param == param && o.tile == i; });
    const bool is_old = old != before_.end();
    const bool is_plain = !may_be_nonfinite(tile.dtype) ||
                          (is_old ? old->bits.empty() : largest_magnitude(run_.k, tile) < first_extreme(tile.dtype));
    const std::size_t base = out.size();
    out.resize(base + tile.count());
    if (is_plain) return;
    const std::vector<std::uint32_t> bits = is_old ? old->bits : bits_of(tile);
    for (std::size_t e = 0; e < bits.size(); ++e) out[base + e] = test_(to_float(tile.dtype, bits[e]));
  }

  const Run& run_;
  const Before& before_;
  const Test test_;
  std::array<std::vector<Shadow>, 16> results_;
  std::array<TrackedLane, kMaxPartitions> lanes_;
};

// Numbers of the instruction itself count as operands.
bool has_number(const InstView& inst, Test test) {
  for (std::size_t p = 0; p < inst.row().params.size(); ++p) {
    const int param = static_cast<int>(p);
    if (inst.arg(param).kind == Arg::Kind::real && test(static_cast<float>(inst.arg(param).real))) return true;
    if (std::ranges::any_of(inst.reals(param), [&](double x) { return test(static_cast<float>(x)); })) return true;
  }
  return false;
}

// By element of a result: 1 where it depends on what passes the test.
std::vector<Shadow> handed_on(const Run& run, const Before& before, int result, Test test) {
  Flow flow(run, before, test);
  if (has_number(run, test)) return flow.of_result(result);
  try {
    run.row().semantics->track(flow);
  } catch (const CannotTell&) {
    return std::vector<Shadow>(run.tile(result).count(), 1);
  }
  return flow.of_result(result);
}

}  // namespace

std::uint32_t first_extreme(DType dtype) {
  static const auto kOf =
      by_dtype([](DType t) { return std::min(first_nonfinite(t), magnitude_of(t, from_float(t, -kMask))); });
  return kOf[static_cast<int>(dtype)];
}

std::optional<std::int64_t> first_made(const Run& run, const Before& before, int result) {
  const Tile& tile = run.tile(result);
  const std::vector<std::uint32_t> bits = bits_of(tile);
  std::vector<Shadow> of_nan, of_extreme;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (magnitude_of(tile.dtype, bits[i]) < first_nonfinite(tile.dtype)) continue;
    const bool nan = std::isnan(to_float(tile.dtype, bits[i]));
    std::vector<Shadow>& shadow = nan ? of_nan : of_extreme;
    if (shadow.empty()) shadow = handed_on(run, before, result, nan ? is_nan : is_extreme);
    if (i < shadow.size() && !shadow[i]) return static_cast<std::int64_t>(i);
  }
  return std::nullopt;
}

std::span<const Tile> tiles_of(const Run& run, int param) {
  if (run.is_tile(param)) return {&run.tile(param), 1};
  return run.arg(param).kind == Arg::Kind::accesses ? run.tiles(param) : std::span<const Tile>{};
}

std::vector<std::uint32_t> bits_of(const Tile& tile) {
  std::vector<std::uint32_t> out(tile.count());
  const std::int64_t size = tile.element_bytes();
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    if (tile.row_offset && tile.row_offset[row] == kSkipRow) continue;
    for_runs(tile, row, 0, tile.free_size,
             [&](const std::byte* at, std::int64_t stride, std::int64_t n, std::int64_t position) {
               std::uint32_t* to = out.data() + row * tile.free_size + position;
               for (std::int64_t i = 0; i < n; ++i) to[i] = load_bits(tile.dtype, at + i * stride * size);
             });
  }
  return out;
}

std::uint32_t bits_of(const Tile& tile, std::int64_t element) {
  std::uint32_t bits = 0;
  const std::int64_t row = element / tile.free_size;
  if (tile.row_offset && tile.row_offset[row] == kSkipRow) return 0;
  for_runs(tile, row, element % tile.free_size, 1,
           [&](const std::byte* at, std::int64_t, std::int64_t, std::int64_t) { bits = load_bits(tile.dtype, at); });
  return bits;
}

}  // namespace kiln::sim
