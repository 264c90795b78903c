#include <algorithm>
#include <cstring>

#include "kiln/num/fast/fast.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/activation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kiln/num/fast/activation_vectors-inl.h"
#include "kiln/num/fast/magnitude-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

struct Row {
  const float* x;
  float scale, bias, param;
  float* out;
  std::size_t n;
};

// The elements after the last whole block go through a buffer, as one more block.
// The largest magnitude of all: `found` is that of the elements before.
template <std::size_t kBlock>
std::uint32_t finish(const Row& row, std::uint32_t (*map)(const Row&), std::size_t done, std::uint32_t found) {
  const std::size_t left = row.n - done;
  if (left == 0) return found;
  float buffer[kBlock] = {};
  std::memcpy(buffer, row.x + done, left * sizeof(float));
  map(Row{buffer, row.scale, row.bias, row.param, buffer, kBlock});
  std::memcpy(row.out + done, buffer, left * sizeof(float));
  std::fill(buffer + left, buffer + kBlock, 0.0f);
  Magnitude<DF> magnitude;
  for (std::size_t i = 0; i < kBlock; i += hn::MaxLanes(DF())) magnitude.add(hn::LoadU(DF(), buffer + i));
  return std::max(found, magnitude.largest());
}

template <F (*kFn)(F, F)>
HWY_NOINLINE std::uint32_t map(const Row& row) {
  constexpr DF d;
  constexpr std::size_t kBlock = hn::MaxLanes(d);
  const F scale = set_f(row.scale), bias = set_f(row.bias), param = set_f(row.param);
  Magnitude<DF> magnitude;
  std::size_t i = 0;
#pragma GCC unroll 2
  for (; i + kBlock <= row.n; i += kBlock) {
    const F y = kFn(hn::LoadU(d, row.x + i) * scale + bias, param);
    magnitude.add(y);
    hn::StoreU(y, d, row.out + i);
  }
  return finish<kBlock>(row, map<kFn>, i, magnitude.largest());
}

// A block begins before the one before it ends: what an element goes through takes longer than a processor looks ahead.
template <class Fn>
HWY_NOINLINE std::uint32_t map(const Row& row) {
  constexpr DF d;
  constexpr std::size_t kBlock = hn::MaxLanes(d);
  const F scale = set_f(row.scale), bias = set_f(row.bias), param = set_f(row.param);
  const auto begin = [&](std::size_t i) HWY_ATTR { return Fn(hn::LoadU(d, row.x + i) * scale + bias, param); };
  Magnitude<DF> magnitude;
  const auto end = [&](const Fn& fn, std::size_t i) HWY_ATTR {
    const F y = fn.value();
    magnitude.add(y);
    hn::StoreU(y, d, row.out + i);
  };
  if (row.n < kBlock) return finish<kBlock>(row, map<Fn>, 0, 0);
  std::size_t i = 0;
  Fn now = begin(0);
  for (; i + 2 * kBlock <= row.n; i += kBlock) {
    const Fn next = begin(i + kBlock);
    end(now, i);
    now = next;
  }
  end(now, i);
  return finish<kBlock>(row, map<Fn>, i + kBlock, magnitude.largest());
}

std::uint32_t run(ActFn fn, const Row& row) {
  switch (fn) {
#define KILN_ACTIVATION(name, ...) \
  case ActFn::name:                \
    return map<act::name>(row);
#include "kiln/num/activations.def"
#undef KILN_ACTIVATION
  }
  return 0;
}

}  // namespace

std::uint32_t scaled_activation(ActFn fn, const float* x, float scale, float bias, float param, float* out,
                                std::size_t n) {
  return run(fn, Row{x, scale, bias, param, out, n});
}
// Limits change what is beyond them, and NaN; changes are collected, as bits.
bool stays_within(float low, float high, bool magnitude, const float* x, float scale, float bias, std::size_t n) {
  constexpr DF d;
  constexpr hn::RebindToUnsigned<DF> du;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  const F s = set_f(scale), b = set_f(bias), least = set_f(low), most = set_f(high);
  const F keep = hn::BitCast(d, hn::Set(du, magnitude ? 0x7fffffffu : ~0u));
  const auto change = [&](F v) HWY_ATTR {
    const F value = hn::And(v * s + b, keep);
    return hn::Xor(hn::Min(hn::IfThenElse(value >= least, value, least), most), value);
  };
  F changes = hn::Zero(d);
  std::size_t i = 0;
#pragma GCC unroll 2
  for (; i + kLanes <= n; i += kLanes) changes = hn::Or(changes, change(hn::LoadU(d, x + i)));
  const auto rest = hn::FirstN(d, n - i);
  if (i < n) changes = hn::Or(changes, hn::IfThenElseZero(rest, change(hn::MaskedLoad(rest, d, x + i))));
  return hn::AllTrue(du, hn::Eq(hn::BitCast(du, changes), hn::Zero(du)));
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(scaled_activation);
HWY_EXPORT(stays_within);

bool stays_within(float low, float high, bool magnitude, const float* x, float scale, float bias, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(stays_within)(low, high, magnitude, x, scale, bias, n);
}

std::uint32_t scaled_activation(ActFn fn, const float* x, float scale, float bias, float param, float* out,
                                std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(scaled_activation)(fn, x, scale, bias, param, out, n);
}

std::uint32_t activation(ActFn fn, const float* x, float param, float* out, std::size_t n) {
  if (fn == ActFn::copy) {
    if (n > 0) std::memmove(out, x, n * sizeof(float));
    return largest(sizeof *out, out, 1, n);
  }
  // x * 1 + -0 is x for every x, zeros included.
  return scaled_activation(fn, x, 1.0f, -0.0f, param, out, n);
}

}  // namespace kiln::fast
#endif
