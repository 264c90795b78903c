#include "kiln/num/fast/fast.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/scaled_sum.cpp"  // NOLINT: the name is Highway's
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void scaled_sum(const float* x, std::ptrdiff_t x_stride, const float* s, const float* y, std::ptrdiff_t y_stride,
                float* out, std::ptrdiff_t out_stride, std::size_t rows, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t r = 0; r < rows; ++r, x += x_stride, y += y_stride, out += out_stride) {
    const auto factor = hn::Set(d, s[r]);
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
      hn::StoreU(hn::Add(hn::Mul(hn::LoadU(d, x + i), factor), hn::LoadU(d, y + i)), d, out + i);
    for (; i < n; ++i) {
      const float product = x[i] * s[r];
      out[i] = product + y[i];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(scaled_sum);

void scaled_sum(const float* x, std::ptrdiff_t x_stride, const float* s, const float* y, std::ptrdiff_t y_stride,
                float* out, std::ptrdiff_t out_stride, std::size_t rows, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(scaled_sum)(x, x_stride, s, y, y_stride, out, out_stride, rows, n);
}

}  // namespace kiln::fast
#endif
