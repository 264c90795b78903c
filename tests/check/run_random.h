// Random kernels on the simulator, as they are and changed.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "kiln/sim/machine.h"
#include "tests/check/random_kernel.h"

namespace kiln::check {

// The bytes of the output "y" of a random kernel, or of a change of one, for the input that `seed` makes.
inline std::vector<std::byte> run_random(const isa::Program& program, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> x(kRandomInputSize);
  for (float& value : x) value = std::uniform_real_distribution<float>(-8, 8)(random);
  std::int64_t size = 0;
  for (const isa::Tensor& t : program.tensors) {
    if (t.name == "y") size = t.size() * size_bytes(t.dtype);
  }
  std::vector<std::byte> y(static_cast<std::size_t>(size));
  sim::Buffers buffers{{"x", {reinterpret_cast<std::byte*>(x.data()), x.size() * sizeof(float)}},
                       {"y", {y.data(), y.size()}}};
  sim::run(program, arch(program.target), buffers, {.threads = 1, .fill_unwritten = true});
  return y;
}

}  // namespace kiln::check
