// The seed of random tests: KILN_SEED, or a new one. It is always printed, so that a failure can be repeated.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>

namespace kiln::test {

inline std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* text = std::getenv("KILN_SEED");
    const std::uint64_t chosen = text ? std::strtoull(text, nullptr, 0) : std::random_device{}();
    std::cout << "seed: KILN_SEED=" << chosen << '\n' << std::flush;
    return chosen;
  }();
  return value;
}

}  // namespace kiln::test
