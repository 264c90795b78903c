// Runs programs of the builder on arrays by name.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "kiln/check/check_program.h"
#include "kiln/isa/builder/builder.h"
#include "kiln/sim/machine.h"
#include "tests/error_of.h"

namespace kiln::sim {

using isa::all;
using isa::ds;
using isa::Index;
using isa::Kernel;
using isa::View;
using Floats = std::vector<float>;

// A finished kernel with its arrays: inputs as given, all other bytes 0xA5.
class KernelRun {
 public:
  explicit KernelRun(Kernel& kernel) : program(kernel.finish()) {
    const check::Report report = check::check_program(program, arch(program.target));
    EXPECT_TRUE(report.ok()) << to_text(report.diagnostics);
    for (const isa::Tensor& t : program.tensors) {
      if (t.role != isa::Role::internal) arrays[t.name].assign(t.size() * size_bytes(t.dtype), std::byte{0xA5});
    }
  }

  template <class T>
  KernelRun& set(const std::string& name, const std::vector<T>& values) {
    std::vector<std::byte>& bytes = arrays.at(name);
    EXPECT_EQ(bytes.size(), values.size() * sizeof(T)) << name;
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return *this;
  }
  template <class T = float>
  std::vector<T> get(const std::string& name) const {
    const std::vector<std::byte>& bytes = arrays.at(name);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  RunReport run(const RunOptions& options = {.threads = 1}) {
    Buffers buffers;
    for (auto& [name, bytes] : arrays) buffers[name] = {bytes.data(), bytes.size()};
    return sim::run(program, arch(program.target), buffers, options);
  }
  // The error that the run ends with; one without a code when it ends well.
  Diagnostic error(const RunOptions& options = {.threads = 1}) {
    return error_of([&] { run(options); });
  }

  isa::Program program;
  std::map<std::string, std::vector<std::byte>> arrays;
};

// 0, 1, 2, … wrapped at 251, so that rows of any even length differ.
inline Floats counting(std::int64_t n, float scale = 1) {
  Floats values(n);
  for (std::int64_t i = 0; i < n; ++i) values[i] = static_cast<float>(i % 251) * scale;
  return values;
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace kiln::sim
