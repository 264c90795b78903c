// Tensor programs on ranks: compiled, run, and compared with the oracle.
#pragma once

#include <gtest/gtest.h>

#include "kiln/sim/machine.h"
#include "kiln/tensor/ir/evaluate.h"
#include "kiln/tensor/lower/lower.h"

namespace kiln::tensor {

// What each rank has for its outputs.
inline std::vector<Arrays> run_on_ranks(const Graph& graph, const std::vector<Arrays>& inputs,
                                        const CompileOptions& options) {
  const Compiled compiled = compile(graph, options);
  std::vector<std::map<std::string, std::vector<std::byte>>> bytes(inputs.size());
  std::vector<sim::Buffers> buffers(inputs.size());
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    for (const auto& [name, array] : inputs[rank]) bytes[rank][name] = to_bytes(array);
    for (const Constant& k : compiled.constants) bytes[rank][k.name] = to_bytes(k.array);
    for (const Output& o : graph.outputs())
      bytes[rank][o.name].resize(
          static_cast<std::size_t>(graph.type(o.value).size() * size_bytes(graph.type(o.value).dtype)));
    for (auto& [name, own] : bytes[rank]) buffers[rank][name] = {own.data(), own.size()};
  }
  sim::run(compiled.launch().on_ranks(static_cast<int>(inputs.size())), arch(options.target), buffers);
  std::vector<Arrays> out(inputs.size());
  for (std::size_t rank = 0; rank < inputs.size(); ++rank)
    for (const Output& o : graph.outputs())
      out[rank][o.name] = from_bytes(graph.type(o.value), bytes[rank].at(o.name).data());
  return out;
}

// Runs the program on all ranks and compares with what the oracle says.
inline void expect_on_ranks(const Graph& graph, const std::vector<Arrays>& inputs, const CompileOptions& options) {
  const std::vector<Arrays> expected = evaluate(graph, inputs), got = run_on_ranks(graph, inputs, options);
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    for (const auto& [name, wanted] : expected[rank]) {
      const std::vector<double>& mine = got[rank].at(name).data;
      ASSERT_EQ(mine.size(), wanted.data.size());
      for (std::size_t i = 0; i < mine.size(); ++i)
        ASSERT_NEAR(mine[i], wanted.data[i], 1e-4 * (1 + std::abs(wanted.data[i])))
            << name << " of rank " << rank << ", element " << i << " on " << arch(options.target).name << " lnc "
            << options.lnc;
    }
  }
}

}  // namespace kiln::tensor
