#include "kiln/sim/rounded_integers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "kiln/isa/text/print.h"
#include "kiln/sim/rules.h"
#include "kiln/sim/tracker.h"

namespace kiln::sim {
using namespace isa;

namespace {

constexpr int kNumber = 0;         // among the warnings of an instruction: its own rules count from 1
constexpr float kExact = 0x1p24f;  // up to here float32 holds every integer

bool is_wide_integer(DType t) { return t == DType::int32 || t == DType::uint32; }

// An integer that was rounded, with its place: where it was read, or the number that became a result.
struct Rounded {
  double value = 0;
  float became = 0;
  const std::byte* at = nullptr;
  const float* result = nullptr;
};

// What the kernels of the instruction that this thread computes have seen.
struct Look {
  const Kernels& kernels;
  const bool at_results;  // integers come of integers, so no result has a fraction to lose
  std::optional<Rounded> found = {};
};
thread_local Look* look = nullptr;

// The kernels of this thread look here until the end of the scope.
class LookHere {
 public:
  explicit LookHere(Look& here) : before_(std::exchange(look, &here)) {}
  ~LookHere() { look = before_; }
  LookHere(const LookHere&) = delete;
  LookHere& operator=(const LookHere&) = delete;

 private:
  Look* before_;
};

// The largest magnitude of n numbers.
float largest(const float* x, std::size_t n) { return std::bit_cast<float>(look->kernels.largest(sizeof *x, x, 1, n)); }

template <class Integer>
void look_at(const Integer* x, std::ptrdiff_t stride, std::size_t n, const float* became) {
  if (largest(became, n) < kExact) return;
  for (std::size_t i = 0; i < n; ++i) {
    const Integer& from = x[static_cast<std::ptrdiff_t>(i) * stride];
    if (static_cast<double>(from) == static_cast<double>(became[i])) continue;
    look->found = {static_cast<double>(from), became[i], reinterpret_cast<const std::byte*>(&from)};
    return;
  }
}

void load(DType dtype, const void* src, std::ptrdiff_t stride, std::size_t n, float* dst) {
  look->kernels.load(dtype, src, stride, n, dst);
  if (look->found || !is_wide_integer(dtype)) return;
  dtype == DType::int32 ? look_at(static_cast<const std::int32_t*>(src), stride, n, dst)
                        : look_at(static_cast<const std::uint32_t*>(src), stride, n, dst);
}

// Gives a rounded result its place.
void store(DType dtype, const float* src, std::size_t n, void* dst, std::ptrdiff_t stride) {
  look->kernels.store(dtype, src, n, dst, stride);
  if (!look->found || look->found->at || !look->found->result) return;
  const std::ptrdiff_t i = look->found->result - src;
  if (i >= 0 && i < static_cast<std::ptrdiff_t>(n))
    look->found->at = static_cast<const std::byte*>(dst) + i * stride * size_bytes(dtype);
}

// Double holds these results of float32 integers without rounding.
bool can_round(AluOp op) { return op == AluOp::add || op == AluOp::subtract || op == AluOp::multiply; }
double exact(AluOp op, double a, double b) { return op == AluOp::add ? a + b : op == AluOp::subtract ? a - b : a * b; }
bool is_whole(double x) { return std::trunc(x) == x; }

// Whether no result of such magnitudes can be an integer that float32 rounds. NaN is no bound.
bool stays_exact(AluOp op, double left, double right) {
  return (op == AluOp::multiply ? left * right : left + right) <= kExact;
}

// The operands of an operator: one number, or n of them.
struct Numbers {
  const float* x = nullptr;
  double value = 0;
  double operator()(std::size_t i) const { return x ? x[i] : value; }
  double largest(std::size_t n) const { return x ? sim::largest(x, n) : std::abs(value); }
};

// The results of an operator, before it computes them: its output may lie over its inputs.
void look_at_results(AluOp op, Numbers left, Numbers right, const float* out, std::size_t n) {
  if (look->found || !look->at_results || !can_round(op)) return;
  if (stays_exact(op, left.largest(n), right.largest(n))) return;
  const auto is_rounded = [&](std::size_t i) {
    const double value = exact(op, left(i), right(i));
    return static_cast<double>(static_cast<float>(value)) != value;
  };
  bool any = false;
  for (std::size_t i = 0; i < n; ++i) any |= is_rounded(i);
  for (std::size_t i = 0; any && i < n; ++i) {
    if (!is_rounded(i) || !is_whole(left(i)) || !is_whole(right(i))) continue;
    const double value = exact(op, left(i), right(i));
    look->found = {value, static_cast<float>(value), nullptr, out + i};
    return;
  }
}

Numbers element_of(const float* x) { return {.x = x}; }
Numbers number(float x) { return {.value = x}; }

std::uint32_t alu_vv(AluOp op, const float* a, const float* b, float* out, std::size_t n) {
  look_at_results(op, element_of(a), element_of(b), out, n);
  return look->kernels.alu_vv(op, a, b, out, n);
}
std::uint32_t alu_vs(AluOp op, const float* a, float b, float* out, std::size_t n) {
  look_at_results(op, element_of(a), number(b), out, n);
  return look->kernels.alu_vs(op, a, b, out, n);
}
std::uint32_t alu_sv(AluOp op, float a, const float* b, float* out, std::size_t n) {
  look_at_results(op, number(a), element_of(b), out, n);
  return look->kernels.alu_sv(op, a, b, out, n);
}

std::uint32_t alu_rows(AluOp op, const FloatRows& a, const FloatRows& b, float* out, std::ptrdiff_t out_step,
                       std::size_t rows, std::size_t n) {
  std::uint32_t largest = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = static_cast<std::ptrdiff_t>(r);
    const FloatRows x{a.data + row * a.step, 0, a.one}, y{b.data + row * b.step, 0, b.one};
    float* to = out + row * out_step;
    look_at_results(op, a.one ? number(*x.data) : element_of(x.data), b.one ? number(*y.data) : element_of(y.data), to,
                    n);
    largest = std::max(largest, look->kernels.alu_rows(op, x, y, to, 0, 1, n));
  }
  return largest;
}

// Whether a sum of so many numbers may pass the integers that float32 holds.
bool may_pass(const float* x, std::size_t n, float start) {
  return !(std::abs(start) + static_cast<double>(largest(x, n)) * static_cast<double>(n) <= kExact);
}

void fold_rows(AluOp op, const float* x, std::ptrdiff_t stride, std::size_t rows, std::size_t n, float* acc) {
  for (std::size_t row = 0; row < rows && look->at_results && can_round(op); ++row) {
    const float* from = x + static_cast<std::ptrdiff_t>(row) * stride;
    if (op != AluOp::multiply && !may_pass(from, n, acc[row])) continue;
    float sum = acc[row];
    for (std::size_t i = 0; i < n && !look->found; ++i) {
      look_at_results(op, number(sum), number(from[i]), acc + row, 1);
      sum = static_cast<float>(exact(op, sum, from[i]));
    }
  }
  look->kernels.fold_rows(op, x, stride, rows, n, acc);
}

Kernels with_looks(Kernels kernels) {
  kernels.load = load;
  kernels.store = store;
  kernels.alu_vv = alu_vv;
  kernels.alu_vs = alu_vs;
  kernels.alu_sv = alu_sv;
  kernels.alu_rows = alu_rows;
  kernels.fold_rows = fold_rows;
  return kernels;
}

// The tiles of a parameter; none when it is a number or left out.
std::span<const Access> accesses_of(const InstView& inst, int param) {
  if (inst.is_tile(param)) return {&inst.access(param), 1};
  return inst.arg(param).kind == Arg::Kind::accesses ? inst.accesses(param) : std::span<const Access>{};
}

// Most instructions have none, and are through here in no time.
bool has_wide_integers(const InstView& inst) {
  const auto count = static_cast<int>(inst.row().params.size());
  for (int p = 0; p < count; ++p) {
    const Arg& arg = inst.arg(p);
    const bool tile = arg.kind == Arg::Kind::access;
    if (tile && is_wide_integer(inst.program().accesses[arg.index].dtype)) return true;
    if (arg.kind == Arg::Kind::accesses && std::ranges::any_of(inst.accesses(p), is_wide_integer, &Access::dtype))
      return true;
  }
  return false;
}

// What an instruction has to do with integers.
struct Integers {
  bool reads_wide = false, reads_others = false, writes_wide = false;
  bool come_of_integers() const { return writes_wide && !reads_others; }
};

Integers integers_of(const InstView& inst) {
  Integers found;
  const auto& params = inst.row().params;
  for (int p = 0; p < static_cast<int>(params.size()); ++p) {
    for (const Access& a : accesses_of(inst, p)) {
      const bool wide = is_wide_integer(a.dtype);
      found.writes_wide |= wide && params[p].is_output();
      if (!params[p].is_input()) continue;
      found.reads_wide |= wide;
      found.reads_others |= !is_integer(a.dtype);
    }
  }
  return found;
}

// The number of the element that lies there, in row-major order.
std::optional<std::int64_t> find(const Tile& t, const std::byte* at) {
  std::optional<std::int64_t> found;
  for (std::int64_t row = 0; row < t.rows && !found; ++row) {
    if (t.row_offset && t.row_offset[row] == kSkipRow) continue;
    for_runs(t, row, 0, t.free_size,
             [&](const std::byte* first, std::int64_t stride, std::int64_t n, std::int64_t position) {
               for (std::int64_t i = 0; i < n && !found; ++i) {
                 if (first + i * stride * t.element_bytes() == at) found = row * t.free_size + position + i;
               }
             });
  }
  return found;
}

std::string place_of(const Run& run, const Rounded& rounded) {
  const auto& params = run.row().params;
  for (int p = 0; p < static_cast<int>(params.size()); ++p) {
    const std::span<const Access> accesses = accesses_of(run, p);
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      if (params[p].is_output() != (rounded.result != nullptr)) continue;
      const std::string& tensor = run.program().tensors[accesses[i].tensor].name;
      if (rounded.result && !rounded.at) return fmt::format("a result for `{}`", tensor);
      if (const auto element = find(run.tiles(p)[i], rounded.at))
        return fmt::format("element {} of `{}`", index_text(accesses[i], *element), tensor);
    }
  }
  return "an integer";
}

Diagnostic warning(const Run& run, const Rounded& rounded) {
  return broken(run_rules::kTable, run_rules::kExactIntegers,
                {.found = fmt::format("{} is {:.0f}, which float32 rounds to {:.0f}", place_of(run, rounded),
                                      rounded.value, rounded.became),
                 .allowed = "integers up to 2^24, and larger ones that float32 holds",
                 .loc = run.loc(),
                 .context = print(run.program(), run.inst()),
                 .severity = Severity::warning});
}

}  // namespace

bool may_round_integers(const InstView& inst) {
  if (!has_wide_integers(inst)) return false;
  const Integers integers = integers_of(inst);
  return integers.reads_wide || integers.come_of_integers();
}

const Kernels& looking(const Kernels& kernels) {
  static const Kernels plain = with_looks(plain_kernels()), fast = with_looks(fast_kernels());
  return &kernels == &plain_kernels() ? plain : fast;
}

void compute_exactly(Run& run) {
  const auto values = run.row().semantics->run;
  if (run.k.load != load) return values(run);
  const bool plain = &run.k == &looking(plain_kernels());
  Look here{plain ? plain_kernels() : fast_kernels(), integers_of(run).come_of_integers()};
  {
    const LookHere scope(here);
    values(run);
  }
  if (here.found && run.inputs_written && run.warnings)
    run.warnings->add(run.execution(), kNumber, [&] { return warning(run, *here.found); });
}

}  // namespace kiln::sim
