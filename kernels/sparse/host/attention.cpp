#include "kernels/sparse/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "kernels/sparse/host/native_gemm.h"
#include "kernels/sparse/host/sparse_call.h"

namespace kiln::sparse {
namespace {

using kernels::AttentionConfig;
using kernels::kTile;
using kernels::TilePattern;

AttentionConfig config_of(const Attention& a, Elements elements, bool statistics) {
  require_size("attention", {a.heads, a.queries, a.keys, a.head});
  AttentionConfig c;
  c.pattern.rows = a.queries;
  c.pattern.columns = a.keys;
  c.pattern.row_start.assign(a.row_start, a.row_start + c.pattern.tile_rows() + 1);
  c.pattern.column.assign(a.column, a.column + c.pattern.row_start.back());
  kernels::require_pattern("attention", c.pattern);
  if (a.mask) c.mask.assign(a.mask, a.mask + c.pattern.count());
  c.masks = a.mask_count;
  c.heads = a.heads;
  c.head = a.head;
  c.scale = a.scale;
  c.dtype = elements == Elements::bfloat16 ? DType::bfloat16 : DType::float32;
  c.statistics = statistics;
  return c;
}

std::string key_of(const AttentionConfig& c) {
  return fmt::format("{} {} {} {:a} {} {} {} ", c.heads, c.head, c.masks, c.scale, name(c.dtype), c.statistics,
                     c.single_keys) +
         kernels::key_of(c.pattern) + "m" + kernels::key_of(c.mask);
}

// One head, natively: tile by tile, with products of the native BLAS.
template <class T>
class NativeHead {
 public:
  NativeHead(const AttentionConfig& c, const float* masks, const T* q, const T* k, const T* v)
      : c_(c), p_(c.pattern), masks_(masks), q_(q), k_(k), v_(v) {}

  void forward(T* out, T* minus_lse) const {
    std::fill(out, out + p_.rows * c_.head, T(0));
    for (Int row = 0; row < p_.tile_rows(); ++row) {
      const Int m = p_.height(row), first = p_.row_start[row], count = p_.row_start[row + 1] - first;
      std::vector<T> x(m * count * kTile, T(kernels::kMasked));
      for (Int i = 0; i < count; ++i) scores(row, first + i, x.data() + i * kTile, count * kTile);
      for (Int r = 0; r < m; ++r) minus_lse[row * kTile + r] = softmax(x.data() + r * count * kTile, count * kTile);
      for (Int i = 0; i < count; ++i) {
        const Int column = p_.column[first + i];
        native_gemm<T>(false, false, m, c_.head, p_.width(column), 1, x.data() + i * kTile, count * kTile,
                       at(v_, column), c_.head, 1, out + row * kTile * c_.head, c_.head);
      }
    }
  }

  // What a row sends to all scores, Σ dout out, is taken as Σ weight dweight of the same numbers that it is subtracted
  // from: a row with one key has gradients of 0, not of what rounding leaves.
  void backward(const T* minus_lse, const T* dout, T* dq, T* dk, T* dv) const {
    std::fill(dq, dq + p_.rows * c_.head, T(0));
    std::fill(dk, dk + p_.columns * c_.head, T(0));
    std::fill(dv, dv + p_.columns * c_.head, T(0));
    const T scale = static_cast<T>(c_.scale);
    std::vector<T> p, ds, d(kTile);
    for (Int row = 0; row < p_.tile_rows(); ++row) {
      const Int m = p_.height(row), h = c_.head, first = p_.row_start[row], count = p_.row_start[row + 1] - first;
      p.resize(count * kTile * kTile), ds.resize(count * kTile * kTile);
      std::fill(d.begin(), d.end(), T(0));
      for (Int i = 0; i < count; ++i) {
        const Int column = p_.column[first + i], n = p_.width(column);
        T *weights = p.data() + i * kTile * kTile, *dweights = ds.data() + i * kTile * kTile;
        scores(row, first + i, weights, kTile);
        native_gemm<T>(false, true, m, n, h, 1, at(dout, row), h, at(v_, column), h, 0, dweights, kTile);
        for (Int r = 0; r < m; ++r) {
          for (Int j = 0; j < n; ++j) {
            T& weight = weights[r * kTile + j];
            weight = std::exp(weight + minus_lse[row * kTile + r]);
            d[r] += weight * dweights[r * kTile + j];
          }
        }
      }
      for (Int i = 0; i < count; ++i) {
        const Int column = p_.column[first + i], n = p_.width(column);
        const T* weights = p.data() + i * kTile * kTile;
        T* dscores = ds.data() + i * kTile * kTile;
        for (Int r = 0; r < m; ++r) {
          for (Int j = r * kTile; j < r * kTile + n; ++j) dscores[j] = weights[j] * (dscores[j] - d[r]);
        }
        native_gemm<T>(true, false, n, h, m, 1, weights, kTile, at(dout, row), h, 1, dv + column * kTile * h, h);
        native_gemm<T>(true, false, n, h, m, scale, dscores, kTile, at(q_, row), h, 1, dk + column * kTile * h, h);
        native_gemm<T>(false, false, m, h, n, scale, dscores, kTile, at(k_, column), h, 1, dq + row * kTile * h, h);
      }
    }
  }

 private:
  const T* at(const T* matrix, Int tile) const { return matrix + tile * kTile * c_.head; }

  // Scaled and masked, of one tile, into rows `stride` apart.
  void scores(Int row, Int e, T* x, Int stride) const {
    const Int column = p_.column[e], m = p_.height(row), n = p_.width(column);
    native_gemm<T>(false, true, m, n, c_.head, static_cast<T>(c_.scale), at(q_, row), c_.head, at(k_, column), c_.head,
                   0, x, stride);
    if (c_.mask.empty() || c_.mask[e] < 0) return;
    const float* mask = masks_ + c_.mask[e] * kTile * kTile;
    for (Int r = 0; r < m; ++r) {
      for (Int j = 0; j < n; ++j) {
        if (mask[r * kTile + j] != 0) x[r * stride + j] = T(kernels::kMasked);
      }
    }
  }

  // A row becomes its softmax; -ln Σ e^x of it. Where nothing counts, all is zero.
  T softmax(T* x, Int n) const {
    T largest = T(kernels::kMasked), sum = 0;
    for (Int j = 0; j < n; ++j) largest = std::isnan(x[j]) ? x[j] : std::max(largest, x[j]);
    if (largest == T(kernels::kMasked)) {
      std::fill(x, x + n, T(0));
      return 0;
    }
    for (Int j = 0; j < n; ++j) {
      x[j] = std::exp(x[j] - largest);
      sum += x[j];
    }
    for (Int j = 0; j < n; ++j) x[j] /= sum;
    return -(largest + std::log(sum));
  }

  const AttentionConfig& c_;
  const TilePattern& p_;
  const float* masks_;
  const T *q_, *k_, *v_;
};

template <class T>
void native_forward(const AttentionConfig& c, const float* masks, const void* q, const void* k, const void* v,
                    void* out, void* minus_lse) {
  const Int queries = c.pattern.rows * c.head, keys = c.pattern.columns * c.head;
  std::vector<T> own(minus_lse ? 0 : c.heads * c.pattern.rows);
  T* lse = minus_lse ? static_cast<T*>(minus_lse) : own.data();
  for (Int h = 0; h < c.heads; ++h)
    NativeHead<T>(c, masks, static_cast<const T*>(q) + h * queries, static_cast<const T*>(k) + h * keys,
                  static_cast<const T*>(v) + h * keys)
        .forward(static_cast<T*>(out) + h * queries, lse + h * c.pattern.rows);
}

template <class T>
void native_backward(const AttentionConfig& c, const float* masks, const void* q, const void* k, const void* v,
                     const void* minus_lse, const void* dout, void* dq, void* dk, void* dv) {
  const Int queries = c.pattern.rows * c.head, keys = c.pattern.columns * c.head;
  const auto in = [](const void* p, Int offset) { return static_cast<const T*>(p) + offset; };
  const auto to = [](void* p, Int offset) { return static_cast<T*>(p) + offset; };
  for (Int h = 0; h < c.heads; ++h)
    NativeHead<T>(c, masks, in(q, h * queries), in(k, h * keys), in(v, h * keys))
        .backward(in(minus_lse, h * c.pattern.rows), in(dout, h * queries), to(dq, h * queries), to(dk, h * keys),
                  to(dv, h * keys));
}

backend::Call attention_call(const char* operation, const AttentionConfig& c, Elements elements,
                             isa::Program (*kernel)(const AttentionConfig&, Target)) {
  backend::Call call{.library = "SPARSE", .operation = operation, .key = key_of(c), .program = {}, .arrays = {}};
  if (elements != Elements::float64) call.program = [c, kernel](Target target) { return kernel(c, target); };
  return call;
}

// The queries that meet one key alone.
std::vector<Int> queries_with_one_key(const AttentionConfig& c, const float* masks) {
  const TilePattern& p = c.pattern;
  std::vector<Int> found;
  for (Int row = 0; row < p.tile_rows(); ++row) {
    std::array<Int, kTile> keys{};
    for (Int e = p.row_start[row]; e < p.row_start[row + 1]; ++e) {
      const Int n = p.width(p.column[e]);
      const float* mask = c.mask.empty() || c.mask[e] < 0 ? nullptr : masks + c.mask[e] * kTile * kTile;
      for (Int r = 0; r < p.height(row); ++r)
        keys[r] += mask ? std::count(mask + r * kTile, mask + r * kTile + n, 0.0f) : n;
    }
    for (Int r = 0; r < p.height(row); ++r) {
      if (keys[r] == 1) found.push_back(row * kTile + r);
    }
  }
  return found;
}

// A copy of a matrix [rows, row_bytes] of each head, with zeros in some rows.
std::vector<std::byte> without_rows(const void* data, Int heads, Int rows, Int row_bytes,
                                    const std::vector<Int>& some) {
  const auto* from = static_cast<const std::byte*>(data);
  std::vector<std::byte> copy(from, from + heads * rows * row_bytes);
  for (Int h = 0; h < heads; ++h) {
    for (const Int row : some) std::memset(copy.data() + (h * rows + row) * row_bytes, 0, row_bytes);
  }
  return copy;
}

void require_native(Elements elements) {
  if (elements == Elements::bfloat16)
    raise(kernels::sparse_rules::kTable, kernels::sparse_rules::kDtype, {.found = "native attention of bfloat16"});
}

// Tensors of the program beside memory of the caller.
class Arrays {
 public:
  Arrays(const AttentionConfig& c, const Attention& a) : c_(c) {
    if (c.masks > 0) list.push_back(array("masks", a.masks, {c.masks, kTile, kTile}));
  }
  Arrays& add(const char* name, const void* data, Int rows) { return add(name, data, rows, c_.dtype); }
  Arrays& add(const char* name, const void* data, Int rows, DType dtype) {
    list.push_back({name, const_cast<void*>(data), {c_.heads, rows, c_.head}, dtype});
    return *this;
  }
  Arrays& add_lse(const void* data) {
    list.push_back({"minus_lse", const_cast<void*>(data), {c_.heads, c_.pattern.rows}, DType::float32});
    return *this;
  }
  std::vector<Array> list;

 private:
  const AttentionConfig& c_;
};

}  // namespace

void attention(const Attention& a, Elements elements, const void* q, const void* k, const void* v, void* out,
               void* minus_lse, float* unrounded) {
  const AttentionConfig c = config_of(a, elements, minus_lse != nullptr);
  const auto native = [&] {
    require_native(elements);
    (elements == Elements::float64 ? native_forward<double> : native_forward<float>)(c, a.masks, q, k, v, out,
                                                                                     minus_lse);
  };
  backend::dispatch(attention_call("attention", c, elements, &kernels::attention), native, [&](const auto& run) {
    Arrays arrays(c, a);
    arrays.add("q", q, a.queries).add("k", k, a.keys).add("v", v, a.keys).add("out", out, a.queries);
    if (minus_lse) arrays.add_lse(minus_lse);
    std::vector<float> nobodys(c.stores_unrounded() && !unrounded ? c.heads * a.queries * c.head : 0);
    if (c.stores_unrounded())
      arrays.add("unrounded", unrounded ? unrounded : nobodys.data(), a.queries, DType::float32);
    run(std::move(arrays.list));
  });
}

void attention_backward(const Attention& a, Elements elements, const void* q, const void* k, const void* v,
                        const void* out, const void* minus_lse, const void* dout, void* dq, void* dk, void* dv) {
  AttentionConfig c = config_of(a, elements, false);
  const std::vector<Int> single = queries_with_one_key(c, a.masks);
  c.single_keys = !single.empty();
  const auto native = [&] {
    require_native(elements);
    (elements == Elements::float64 ? native_backward<double> : native_backward<float>)(c, a.masks, q, k, v, minus_lse,
                                                                                       dout, dq, dk, dv);
  };
  backend::dispatch(
      attention_call("attention_backward", c, elements, &kernels::attention_backward), native, [&](const auto& run) {
        Arrays arrays(c, a);
        arrays.add("q", q, a.queries).add("k", k, a.keys).add("v", v, a.keys);
        std::vector<std::byte> dout_of_scores, out_of_scores;
        if (c.single_keys) {
          dout_of_scores = without_rows(dout, c.heads, a.queries, c.head * size_bytes(c.dtype), single);
          out_of_scores = without_rows(out, c.heads, a.queries, c.head * size_bytes(DType::float32), single);
          arrays.add("dout_of_scores", dout_of_scores.data(), a.queries);
        }
        arrays.add("out", c.single_keys ? out_of_scores.data() : out, a.queries, DType::float32);
        arrays.add("dout", dout, a.queries).add("dq", dq, a.queries).add("dk", dk, a.keys).add("dv", dv, a.keys);
        run(std::move(arrays.add_lse(minus_lse).list));
      });
}

}  // namespace kiln::sparse
