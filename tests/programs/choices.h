// Choices: what steers a generator. Either the bytes of a fuzzer, and once they are used up random numbers that they
// seed, so that every input means something and similar inputs mean similar things; or random numbers of a seed alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>

namespace kiln {

class Choices {
 public:
  explicit Choices(std::uint64_t seed) : random_(seed) {}
  Choices(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {
    std::uint64_t seed = size;
    for (std::size_t i = 0; i < size; ++i) seed = (seed ^ data[i]) * 0x100000001b3u;
    random_.seed(seed);
  }

  std::uint64_t bits() { return random_(); }
  std::int64_t below(std::int64_t n) {
    if (left_ == 0) return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
    --left_;
    return *data_++ % n;
  }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool chance(int one_in) { return below(one_in) == 0; }
  template <class List>
  const auto& any(const List& list) {
    return list[below(static_cast<std::int64_t>(std::size(list)))];
  }

 private:
  const std::uint8_t* data_ = nullptr;
  std::size_t left_ = 0;
  std::mt19937_64 random_;
};

}  // namespace kiln
