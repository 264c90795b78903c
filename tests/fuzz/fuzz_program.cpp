// Any bytes steer a random program, or those of a pair of cores. What passes check runs to its end or to a
// run-time rule, and ends alike with the plain kernels, with the fast ones and on two threads: same error, or
// same values (any NaN equals any NaN).
#include <cmath>
#include <map>

#include "kiln/check/check_program.h"
#include "kiln/sim/machine.h"
#include "tests/fuzz/require.h"
#include "tests/programs/random_program.h"

namespace {

using namespace kiln;
using Bytes = std::map<std::string, std::vector<std::byte>>;

struct Counts {
  long programs = 0, passed = 0, ran = 0;
  Counts() {
    std::atexit([] {
      std::printf("%ld programs, %ld passed check, %ld ran to the end\n", counts().programs, counts().passed,
                  counts().ran);
    });
  }
  static Counts& counts() {
    static Counts all;
    return all;
  }
};

// Calls fn(tensor) for every tensor that the caller passes an array for.
template <class Fn>
void for_tensors(const Programs& programs, Fn&& fn) {
  for (const isa::Program& p : programs) {
    for (const isa::Tensor& t : p.tensors) {
      if (t.role != isa::Role::internal) fn(t);
    }
  }
}

// Small numbers, so that indices hit and floats stay finite; now and then any bits.
Bytes make_arrays(const Programs& programs, Choices& choices) {
  Bytes arrays;
  for_tensors(programs, [&](const isa::Tensor& t) {
    auto& bytes = arrays[t.name];
    const int size = size_bytes(t.dtype);
    bytes.resize(static_cast<std::size_t>(t.size() * size));
    const bool any_bits = is_packed(t.dtype) || choices.bits() % 4 == 0;
    for (std::int64_t i = 0; i < t.size(); ++i) {
      const std::uint64_t bits = choices.bits();
      const float value = static_cast<float>(bits % 64) * (is_float(t.dtype) ? 0.25f : 0.125f);
      store_bits(t.dtype, any_bits ? static_cast<std::uint32_t>(bits >> 32) : from_float(t.dtype, value),
                 bytes.data() + i * size);
    }
  });
  return arrays;
}

struct Outcome {
  std::string error;  // code, empty after a run to the end
  std::vector<std::string> warnings;
  Bytes arrays;
};

Outcome run(const Programs& programs, Bytes arrays, const sim::RunOptions& options) {
  Outcome outcome;
  sim::Buffers buffers;
  for (auto& [name, bytes] : arrays) buffers[name] = {bytes.data(), bytes.size()};
  try {
    for (const Diagnostic& d : sim::run(isa::Launch::of(programs), arch(programs[0].target), buffers, options).warnings)
      outcome.warnings.push_back(d.code);
  } catch (const Error& e) {
    require(e.first().category != Category::internal, programs, e.what());
    outcome.error = e.first().code;
  }
  outcome.arrays = std::move(arrays);
  return outcome;
}

bool is_nan(DType t, std::uint32_t bits) { return !is_packed(t) && std::isnan(to_float(t, bits)); }

bool same_values(const Programs& programs, const Bytes& a, const Bytes& b) {
  bool same = true;
  for_tensors(programs, [&](const isa::Tensor& t) {
    const auto &x = a.at(t.name), &y = b.at(t.name);
    if (x == y) return;
    for (std::size_t i = 0; i < x.size(); i += size_bytes(t.dtype)) {
      const std::uint32_t p = load_bits(t.dtype, &x[i]), q = load_bits(t.dtype, &y[i]);
      same = same && (p == q || (is_nan(t.dtype, p) && is_nan(t.dtype, q)));
    }
  });
  return same;
}

constexpr std::int64_t kMostBytes = 1 << 24;  // of tensors: more would only take time

std::int64_t size_of(const Programs& programs) {
  std::int64_t bytes = 0;
  for (const isa::Program& p : programs)
    for (const isa::Tensor& t : p.tensors) bytes += t.size() * size_bytes(t.dtype);
  return bytes;
}

// Whether the bits of a NaN may be seen as something else: plain and fast kernels make different ones.
bool shows_bits_of_floats(const Programs& programs) {
  for (const isa::Program& p : programs) {
    for (const isa::Access& a : p.accesses) {
      const DType own = p.tensors[a.tensor].dtype;
      if (a.dtype != own && !(is_integer(a.dtype) && is_integer(own))) return true;
    }
  }
  return false;
}

void require_same(const Programs& programs, const Outcome& a, const Outcome& b, const char* what) {
  if (a.error != b.error) std::printf("%s: `%s` and `%s`\n", what, a.error.c_str(), b.error.c_str());
  require(a.error == b.error, programs, what);
  if (!a.error.empty()) return;
  require(a.warnings == b.warnings, programs, what);
  require(same_values(programs, a.arrays, b.arrays), programs, what);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Counts& counts = Counts::counts();
  Choices choices(data, size);
  const Programs programs = isa::random_launch(choices);
  ++counts.programs;
  for (const isa::Program& p : programs) {
    if (!check::check_program(p, arch(p.target)).ok()) return 0;
  }
  ++counts.passed;
  if (size_of(programs) > kMostBytes) return 0;
  constexpr std::int64_t kIterations = 100;
  const Bytes arrays = make_arrays(programs, choices);
  const Outcome plain = run(programs, arrays, {.threads = 1, .plain = true, .max_passes = kIterations});
  const Outcome fast = run(programs, arrays, {.threads = 1, .max_passes = kIterations});
  if (!shows_bits_of_floats(programs)) require_same(programs, plain, fast, "plain and fast kernels differ");
  const Outcome two = run(programs, arrays, {.threads = 2, .max_passes = kIterations});
  require_same(programs, fast, two, "one and two threads differ");
  counts.ran += plain.error.empty();
  return 0;
}
