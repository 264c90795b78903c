#include "kernels/sparse/solvers.h"

#include <cmath>
#include <numeric>

#include "kernels/sparse/host/sparse_call.h"
#include "kernels/sparse/host/tiled.h"

namespace kiln::sparse {
namespace {

using kernels::kTile;
using kernels::SolverConfig;

template <class T>
std::vector<T> product(const Bsr<T>& a, const std::vector<T>& x) {
  std::vector<T> y(a.rows, T(0));
  for (Int r = 0; r < a.block_rows(); ++r) {
    for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e) {
      const T* block = a.blocks + e * a.block * a.block;
      const Int first = a.column[e] * a.block, width = std::min(a.block, a.columns - first);
      for (Int i = 0; i < std::min(a.block, a.rows - r * a.block); ++i)
        y[r * a.block + i] +=
            std::inner_product(block + i * a.block, block + i * a.block + width, x.data() + first, T(0));
    }
  }
  return y;
}

template <class T>
double dot(const std::vector<T>& x, const std::vector<T>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  return sum;
}

// x += factor y.
template <class T>
void add(std::vector<T>& x, double factor, const std::vector<T>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += static_cast<T>(factor) * y[i];
}

template <class T>
std::vector<T> minus(const T* b, const std::vector<T>& y) {
  std::vector<T> r(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) r[i] = b[i] - y[i];
  return r;
}

template <class T>
Solved native_conjugate_gradient(const Bsr<T>& a, const T* b, T* x, double tol, Int most, Preconditioned kind,
                                 const T* inverse, const Bsr<T>* m) {
  const auto precondition = [&](const std::vector<T>& r) {
    if (kind == Preconditioned::matrix) return product(*m, r);
    std::vector<T> z = r;
    for (std::size_t i = 0; kind == Preconditioned::diagonal && i < z.size(); ++i) z[i] *= inverse[i];
    return z;
  };
  std::vector<T> solution(x, x + a.rows), r = minus(b, product(a, solution)), z = precondition(r), p = z;
  const double size = std::sqrt(dot<T>({b, b + a.rows}, {b, b + a.rows}));
  double rz = dot(r, z);
  Solved solved{0, std::sqrt(dot(r, r)) / size};
  while (solved.passes < most) {
    const std::vector<T> ap = product(a, p);
    const double pap = dot(p, ap);
    if (std::abs(pap) < 1e-30) break;
    add(solution, rz / pap, p);
    add(r, -rz / pap, ap);
    solved = {solved.passes + 1, std::sqrt(dot(r, r)) / size};
    if (solved.residual < tol) break;
    z = precondition(r);
    const double next = dot(r, z), beta = rz == 0 ? 0 : next / rz;
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = z[i] + static_cast<T>(beta) * p[i];
    rz = next;
  }
  std::copy(solution.begin(), solution.end(), x);
  return solved;
}

template <class T>
Solved native_fixed_iteration(const Bsr<T>& a, const T* b, T* x, Int steps, const T* alpha, const T* beta) {
  std::vector<T> solution(x, x + a.rows), d(a.rows, T(0)), r;
  for (Int i = 0; i < steps; ++i) {
    r = minus(b, product(a, solution));
    for (std::size_t j = 0; j < d.size(); ++j) d[j] = alpha[i] * r[j] + beta[i] * d[j];
    add(solution, 1, d);
  }
  r = minus(b, product(a, solution));
  std::copy(solution.begin(), solution.end(), x);
  return {steps, std::sqrt(dot(r, r) / dot<T>({b, b + a.rows}, {b, b + a.rows}))};
}

template <class T>
Solved native_power_iteration(const Bsr<T>& a, T* v, double tol, Int most) {
  std::vector<T> vector(v, v + a.rows);
  const auto normalised = [](std::vector<T> x) {
    const double size = std::sqrt(dot(x, x));
    for (T& e : x) e = static_cast<T>(e / size);
    return x;
  };
  vector = normalised(vector);
  Solved solved;
  double last = 0;
  while (solved.passes < most) {
    const std::vector<T> av = product(a, vector);
    solved = {solved.passes + 1, dot(vector, av)};
    if (std::sqrt(dot(av, av)) < 1e-30) {
      solved.residual = 0;
      break;
    }
    vector = normalised(av);
    if (std::abs(solved.residual - last) < tol) break;
    last = solved.residual;
  }
  std::copy(vector.begin(), vector.end(), v);
  return solved;
}

// A solver as a call; `passes` becomes known when it has run.
template <class T, class Native, class Device>
void solve(const char* operation, const Bsr<T>& a,
           std::function<isa::Program(const kernels::TilePattern&, Target)> kernel, const std::string& more,
           const std::shared_ptr<Int>& passes, Native&& native, Device&& device) {
  require_bsr(operation, a);
  backend::Call call{
      .library = "SPARSE", .operation = named<T>(operation), .key = {}, .program = {}, .arrays = {}, .passes = passes};
  if constexpr (std::is_same_v<T, float>) {
    const kernels::TilePattern pattern = pattern_of(Bsr<float>(a));
    call.key = more + kernels::key_of(pattern);
    call.program = [=](Target target) { return kernel(pattern, target); };
    backend::dispatch(std::move(call), native, device);
  } else {
    backend::dispatch(std::move(call), native, [](auto&&) {});
  }
}

// What all solvers give their kernel, and what comes back.
class SolverArrays {
 public:
  SolverArrays(const Bsr<float>& a, float* x) : tiles_(tiled(a, true)), x_(x), n_(a.rows), y_(a.rows) {
    if (tiles_.pattern.count() > 0)
      list.push_back(array("blocks", tiles_.blocks.data(), {kTile, tiles_.pattern.count(), kTile}));
    list.push_back(array("x", x, {n_}));
    list.push_back(array("y", y_.data(), {n_}));
    list.push_back(array("info", info, {1, 4}));
  }
  void store() { std::copy(y_.begin(), y_.end(), x_); }
  std::vector<Array> list;
  float info[4] = {};

 private:
  Tiled tiles_;
  float* x_;
  Int n_;
  std::vector<float> y_;
};

}  // namespace

template <class T>
Solved conjugate_gradient(const Bsr<T>& a, const T* b, T* x, double tol, Int most, Preconditioned kind,
                          const T* inverse, const Bsr<T>* m) {
  Solved solved;
  const auto passes = std::make_shared<Int>(0);
  SolverConfig config{.pattern = {}, .preconditioner = static_cast<kernels::Preconditioner>(kind)};
  if constexpr (std::is_same_v<T, float>) {
    if (m) config.m_pattern = pattern_of(*m);
  }
  const auto kernel = [config](const kernels::TilePattern& pattern, Target target) {
    SolverConfig c = config;
    c.pattern = pattern;
    return kernels::conjugate_gradient(c, target);
  };
  const std::string more = fmt::format("{} ", static_cast<int>(kind)) + kernels::key_of(config.m_pattern);
  solve<T>(
      "conjugate_gradient", a, kernel, more, passes,
      [&] { solved = native_conjugate_gradient(a, b, x, tol, most, kind, inverse, m); },
      [&](const auto& run) {
        if constexpr (std::is_same_v<T, float>) {
          SolverArrays arrays(a, x);
          const float limits[] = {static_cast<float>(tol * tol), static_cast<float>(most)};
          Tiled tiles;
          arrays.list.push_back(array("b", b, {a.rows}));
          arrays.list.push_back(array("limits", limits, {1, 2}));
          if (kind == Preconditioned::diagonal) arrays.list.push_back(array("inverse", inverse, {a.rows}));
          if (kind == Preconditioned::matrix) {
            tiles = tiled(*m, true);
            arrays.list.push_back(array("m_blocks", tiles.blocks.data(), {kTile, tiles.pattern.count(), kTile}));
          }
          run(arrays.list);
          arrays.store();
          solved = {static_cast<Int>(arrays.info[0]), std::sqrt(double{arrays.info[1]} / double{arrays.info[2]})};
        }
      });
  *passes = std::max<Int>(1, solved.passes);
  return solved;
}

template <class T>
Solved fixed_iteration(const Bsr<T>& a, const T* b, T* x, Int steps, const T* alpha, const T* beta) {
  Solved solved;
  const auto kernel = [steps](const kernels::TilePattern& pattern, Target target) {
    return kernels::fixed_iteration({.pattern = pattern, .steps = steps}, target);
  };
  solve<T>(
      "fixed_iteration", a, kernel, fmt::format("{} ", steps), nullptr,
      [&] { solved = native_fixed_iteration(a, b, x, steps, alpha, beta); },
      [&](const auto& run) {
        if constexpr (std::is_same_v<T, float>) {
          SolverArrays arrays(a, x);
          std::vector<float> factors(alpha, alpha + steps);
          factors.insert(factors.end(), beta, beta + steps);
          arrays.list.push_back(array("b", b, {a.rows}));
          arrays.list.push_back(array("factors", factors.data(), {1, 2 * steps}));
          run(arrays.list);
          arrays.store();
          solved = {steps, std::sqrt(double{arrays.info[1]} / double{arrays.info[2]})};
        }
      });
  return solved;
}

template <class T>
Solved power_iteration(const Bsr<T>& a, T* v, double tol, Int most) {
  Solved solved;
  const auto passes = std::make_shared<Int>(0);
  const auto kernel = [](const kernels::TilePattern& pattern, Target target) {
    return kernels::power_iteration({.pattern = pattern}, target);
  };
  solve<T>(
      "power_iteration", a, kernel, "", passes, [&] { solved = native_power_iteration(a, v, tol, most); },
      [&](const auto& run) {
        if constexpr (std::is_same_v<T, float>) {
          SolverArrays arrays(a, v);
          const float limits[] = {static_cast<float>(tol), static_cast<float>(most)};
          arrays.list.push_back(array("limits", limits, {1, 2}));
          run(arrays.list);
          arrays.store();
          solved = {static_cast<Int>(arrays.info[0]), arrays.info[1]};
        }
      });
  *passes = std::max<Int>(1, solved.passes);
  return solved;
}

#define KILN_SOLVERS(T)                                                                                     \
  template Solved conjugate_gradient<T>(const Bsr<T>&, const T*, T*, double, Int, Preconditioned, const T*, \
                                        const Bsr<T>*);                                                     \
  template Solved fixed_iteration<T>(const Bsr<T>&, const T*, T*, Int, const T*, const T*);                 \
  template Solved power_iteration<T>(const Bsr<T>&, T*, double, Int);
KILN_SOLVERS(float)
KILN_SOLVERS(double)
#undef KILN_SOLVERS

}  // namespace kiln::sparse
