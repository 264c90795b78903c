// The largest magnitude of float32 vectors on their way to memory. Included once per target.
#if defined(KILN_NUM_FAST_MAGNITUDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_NUM_FAST_MAGNITUDE_INL_H_
#undef KILN_NUM_FAST_MAGNITUDE_INL_H_
#else
#define KILN_NUM_FAST_MAGNITUDE_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {

template <class D>
class Magnitude {
  using DU = hwy::HWY_NAMESPACE::RebindToUnsigned<D>;
  using V = hwy::HWY_NAMESPACE::Vec<D>;

 public:
  HWY_INLINE Magnitude() : found_(hwy::HWY_NAMESPACE::Zero(DU())) {}
  HWY_INLINE void add(V x) {
    namespace hn = hwy::HWY_NAMESPACE;
    const auto bits = hn::BitCast(DU(), x);
    found_ = hn::Max(found_, hn::Add(bits, bits));  // shifts the sign out without a constant in a register
  }
  // The first lanes of a vector.
  HWY_INLINE void add(V x, std::size_t count) {
    namespace hn = hwy::HWY_NAMESPACE;
    add(hn::IfThenElseZero(hn::FirstN(D(), count), x));
  }
  HWY_INLINE std::uint32_t largest() const {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::GetLane(hn::MaxOfLanes(DU(), found_)) >> 1;
  }

 private:
  hwy::HWY_NAMESPACE::Vec<DU> found_;  // magnitudes, one bit to the left
};

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#endif
