// dtype_dump MODE DTYPE IN OUT: converts a file of raw elements, so that a test can compare with an outside
// oracle. Modes: from_float (float32 in), to_float (float32 out), from_int (int64 in), to_int (int64 out),
// pack, unpack (float32, four per element).
#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "kiln/base/dtype.h"

namespace {

using kiln::DType;

// Reads items of `Item` (count `per` for each element) and stores elements.
template <typename Item, int per = 1, typename Convert>
std::vector<char> to_elements(DType t, const std::vector<char>& in, Convert convert) {
  const auto* items = reinterpret_cast<const Item*>(in.data());
  std::vector<char> out(in.size() / sizeof(Item) / per * kiln::size_bytes(t));
  for (std::size_t i = 0; i < out.size() / kiln::size_bytes(t); ++i)
    kiln::store_bits(t, convert(items + i * per), out.data() + i * kiln::size_bytes(t));
  return out;
}

template <typename Item, int per = 1, typename Convert>
std::vector<char> from_elements(DType t, const std::vector<char>& in, Convert convert) {
  const std::size_t n = in.size() / kiln::size_bytes(t);
  std::vector<char> out(n * per * sizeof(Item));
  auto* items = reinterpret_cast<Item*>(out.data());
  for (std::size_t i = 0; i < n * per; ++i)
    items[i] = convert(kiln::load_bits(t, in.data() + i / per * kiln::size_bytes(t)), static_cast<int>(i % per));
  return out;
}

using Bytes = std::vector<char>;
const std::map<std::string, std::function<Bytes(DType, const Bytes&)>> kModes = {
    {"from_float",
     [](DType t, const Bytes& in) {
       return to_elements<float>(t, in, [t](const float* x) { return kiln::from_float(t, *x); });
     }},
    {"to_float",
     [](DType t, const Bytes& in) {
       return from_elements<float>(t, in, [t](std::uint32_t bits, int) { return kiln::to_float(t, bits); });
     }},
    {"from_int",
     [](DType t, const Bytes& in) {
       return to_elements<std::int64_t>(t, in, [t](const std::int64_t* x) { return kiln::from_int(t, *x); });
     }},
    {"to_int",
     [](DType t, const Bytes& in) {
       return from_elements<std::int64_t>(t, in, [t](std::uint32_t bits, int) { return kiln::to_int(t, bits); });
     }},
    {"pack",
     [](DType t, const Bytes& in) {
       return to_elements<float, 4>(t, in, [t](const float* x) { return kiln::pack(t, x); });
     }},
    {"unpack",
     [](DType t, const Bytes& in) {
       return from_elements<float, 4>(t, in, [t](std::uint32_t bits, int q) { return kiln::unpack(t, bits, q); });
     }},
};

}  // namespace

int main(int argc, char** argv) {
  DType t{};
  if (argc != 5 || !kModes.contains(argv[1]) || !kiln::parse_dtype(argv[2], t)) {
    std::cerr << "usage: dtype_dump MODE DTYPE IN OUT\n";
    return 2;
  }
  std::ifstream in(argv[3], std::ios::binary);
  const Bytes bytes{std::istreambuf_iterator<char>(in), {}};
  const Bytes converted = kModes.at(argv[1])(t, bytes);
  std::ofstream out(argv[4], std::ios::binary);
  out.write(converted.data(), static_cast<std::streamsize>(converted.size()));
  return in && out.flush() ? 0 : 1;
}
