// Any bytes as an .npy file: either an array whose size fits its shape, or a kiln::Error; never anything
// else.
#include <cstdlib>

#include "kiln/base/error.h"
#include "kiln/base/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // The first byte chooses the dtype that the caller expects; one value past the last stands for none.
  const int choice = data[0] % (kiln::kDTypeCount + 1);
  std::optional<kiln::DType> expected;
  if (choice < kiln::kDTypeCount) expected = static_cast<kiln::DType>(choice);
  try {
    const kiln::NpyArray array = kiln::parse_npy(std::as_bytes(std::span(data + 1, size - 1)), "fuzz.npy", expected);
    std::size_t bytes = kiln::size_bytes(array.dtype);
    for (const std::int64_t extent : array.shape) bytes *= static_cast<std::size_t>(extent);
    if (bytes != array.data.size()) std::abort();
  } catch (const kiln::Error&) {
  }
  return 0;
}
