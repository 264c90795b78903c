// Sums of several terms, such as taps of a filter or points of a stencil, in two parts: one that the vector engine adds
// up, and one of which the scalar engine makes the products and gpsimd the sum.
#include <algorithm>

#include "kiln/tensor/lower/region.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::View;
using Views = std::vector<View>;

namespace {

constexpr std::size_t kFewestTerms = 4;
constexpr std::int64_t kFewestElements = 128;  // of a row: fewer cost no more than the instruction

}  // namespace

// A summand: an operand of `user`, or the product of data and a number or one value per row that is made along with it.
struct RegionEmitter::Term {
  Value user;
  std::size_t at;
  std::optional<Chain> product = {};
};

RegionEmitter::Term RegionEmitter::term_of(Value user, std::size_t i) const {
  const Value x = graph_.op(user).operands[i];
  const auto c = is_inlined(x, graph_.type(user).shape) ? chain(x) : std::nullopt;
  return c && c->op == AluOp::multiply ? Term{user, i, c} : Term{user, i};
}

// The summands of v, through sums that nobody else reads.
void RegionEmitter::gather_terms(Value v, std::vector<Value>& sums, std::vector<Term>& terms) const {
  sums.push_back(v);
  for (std::size_t i = 0; i < 2; ++i) {
    const Value x = graph_.op(v).operands[i];
    const bool goes_on = graph_.op(x).code == OpCode::add && fusion_.region_of[x] == region_ && uses_[x] == 1 &&
                         graph_.type(x) == graph_.type(v) && !find(x) && !made_by_moments(x);
    if (goes_on)
      gather_terms(x, sums, terms);
    else
      terms.push_back(term_of(v, i));
  }
}

// What is added up on one engine.
class RegionEmitter::TermSum {
 public:
  TermSum(RegionEmitter& e, const Free& free, DType dtype, bool on_gpsimd)
      : e_(e), free_(free), dtype_(dtype), on_gpsimd_(on_gpsimd) {}

  // Nanoseconds of an element, with those of the terms before.
  double time_with(const Term& t) const {
    const bool is_first = !sum_ && !first_;
    const double clock = (on_gpsimd_ ? e_.arch_.gpsimd : e_.arch_.vector).clock_ghz;
    if (!on_gpsimd_) return time_ + (!is_first ? 1 : t.product ? 0.5 : 0) / clock;
    return time_ + (is_first ? 0 : 1) / clock;
  }
  double time() const { return time_; }
  // `number` is added to the first one.
  void add(const Term& t, std::optional<double> number = {}) {
    time_ = time_with(t);
    if (t.product)
      add_product(t, number);
    else
      add_tile(e_.operand(t.user, t.at), number);
  }
  void add_tile(const Tile& x, std::optional<double> number) {
    if (!sum_ && !first_) {
      if (number)
        multiply(sum(), x, 1.0, number);
      else
        first_ = x;
      return;
    }
    const Tile before = sum_ ? *sum_ : *first_;
    combine(sum(), before, x);
  }
  Tile result() const { return sum_ ? *sum_ : *first_; }
  // Both parts in dst.
  void finish(const Tile& dst, const TermSum& other) { combine(dst, result(), other.result()); }

 private:
  Engine engine() const { return on_gpsimd_ ? Engine::gpsimd : Engine::vector; }
  Tile sum() {
    if (!sum_) sum_ = new_tile(e_.k_, Memory::sbuf, e_.rows_, free_, dtype_);
    return *sum_;
  }
  void combine(const Tile& dst, const Tile& x, const Tile& y) {
    over(e_.k_, {dst, x, y}, free_, [&](const Views& t) {
      e_.k_.tensor_tensor({.dst = t[0], .data1 = t[1], .data2 = t[2], .op = AluOp::add, .engine = engine()});
    });
  }
  void multiply(const Tile& dst, const Tile& x, const isa::Operand& by, std::optional<double> number = {}) {
    const bool as_function = on_gpsimd_ && !e_.arch_.features.scalar_tensor_ops;
    over(e_.k_, {dst, x}, free_, [&](const Views& t) {
      if (as_function) {
        e_.k_.activation({.dst = t[0], .op = ActFn::copy, .data = t[1], .scale = by});
        return;
      }
      const Engine engine = on_gpsimd_ ? Engine::scalar : Engine::vector;
      isa::tensor_scalar_args args{.dst = t[0], .data = t[1], .op0 = AluOp::multiply, .operand0 = by, .engine = engine};
      if (number) args.op1 = AluOp::add, args.operand1 = *number;
      e_.k_.tensor_scalar(args);
    });
  }
  void add_product(const Term& term, std::optional<double> number) {
    const Value product = e_.graph_.op(term.user).operands[term.at];
    const Tile x = e_.in_sbuf(e_.operand(product, term.product->data_at), free_);
    const isa::Operand by = e_.scalar(e_.given(product, term.product->scalar_at));
    e_.scopes_.back().consumed.insert(product);
    if (!sum_ && !first_) return multiply(sum(), x, by, number);
    const Tile before = sum_ ? *sum_ : *first_;
    if (on_gpsimd_) {
      const Tile made = new_tile(e_.k_, Memory::sbuf, e_.rows_, free_, dtype_);
      multiply(made, x, by);
      return combine(sum(), before, made);
    }
    over(e_.k_, {sum(), x, before}, free_, [&](const Views& t) {
      e_.k_.scalar_tensor_tensor(
          {.dst = t[0], .data = t[1], .op0 = AluOp::multiply, .operand0 = by, .op1 = AluOp::add, .operand1 = t[2]});
    });
  }

  RegionEmitter& e_;
  const Free& free_;
  DType dtype_;
  bool on_gpsimd_;
  double time_ = 0;
  std::optional<Tile> sum_, first_;  // first_: the only term so far, as it is
};

std::optional<Tile> RegionEmitter::share_terms(Value v, const Tile* into) {
  if (graph_.op(v).code != OpCode::add || !is_float(graph_.type(v).dtype)) return {};
  const Free free = free_of(v);
  if (free.count() < kFewestElements || !layout_.spread.empty()) return {};
  std::vector<Value> sums;
  std::vector<Term> terms;
  gather_terms(v, sums, terms);
  std::optional<double> number;
  std::erase_if(terms, [&](const Term& t) {
    const auto n = number ? std::nullopt : splat_of(graph_, graph_.op(t.user).operands[t.at]);
    if (n) number = *n;
    return n.has_value();
  });
  if (terms.size() < kFewestTerms || !options_.terms_shared) return {};
  const bool same = std::all_of(terms.begin(), terms.end(), [&](const Term& t) {
    const Value x = graph_.op(t.user).operands[t.at];
    return graph_.type(x).dtype == graph_.type(v).dtype && !splat_of(graph_, x);
  });
  if (!same) return {};
  TermSum vector(*this, free, tile_dtype(v), false), gpsimd(*this, free, tile_dtype(v), true);
  vector.add(terms[0], number);
  for (std::size_t i = 1; i < terms.size(); ++i)
    (gpsimd.time_with(terms[i]) <= vector.time_with(terms[i]) ? gpsimd : vector).add(terms[i]);
  for (Value s : sums) {
    if (s != v) scopes_.back().consumed.insert(s);
  }
  const Tile dst = target(v, into);
  (gpsimd.time() < vector.time() ? gpsimd : vector).finish(dst, gpsimd.time() < vector.time() ? vector : gpsimd);
  return dst;
}

}  // namespace kiln::tensor
