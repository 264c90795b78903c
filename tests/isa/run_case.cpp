#include "tests/isa/run_case.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "kiln/base/file.h"
#include "kiln/base/npy.h"
#include "kiln/check/check_program.h"
#include "kiln/isa/replica_groups.h"
#include "kiln/isa/text/parse.h"
#include "kiln/sim/machine.h"
#include "tests/isa/case_folders.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using isa::Program;
using isa::Role;
using isa::Tensor;

struct Variant {
  const char* name;
  sim::RunOptions options;
};
const Variant kVariants[] = {
    {"plain kernels on one thread", {.threads = 1, .plain = true}},
    {"fast kernels on one thread", {.threads = 1}},
    {"fast kernels on two threads", {.threads = 2}},
};

using Arrays = std::map<std::string, std::vector<std::byte>, std::less<>>;

// What one run gave: outputs, or the diagnostics of a rule that failed.
struct Outcome {
  bool ok = false;
  std::vector<Diagnostic> diagnostics;
  Arrays arrays;
};

// Outputs start as bytes that no case expects, so that one which is never written shows.
constexpr std::byte kUnwritten{0xA5};

// A program, or the two programs of a pair of cores, which share inputs and outputs by name.
using Programs = std::vector<Program>;

// Inputs and outputs of all programs.
std::vector<Tensor> border(const Programs& programs) {
  std::map<std::string, Tensor> found;
  for (const Program& p : programs) {
    for (const Tensor& t : p.tensors) {
      if (t.role != Role::internal) found.emplace(t.name, t);
    }
  }
  std::vector<Tensor> tensors;
  for (const auto& [name, t] : found) tensors.push_back(t);
  return tensors;
}

Arrays read_arrays(const Programs& programs, const fs::path& folder) {
  Arrays arrays;
  for (const Tensor& t : border(programs)) {
    if (t.role == Role::output) {
      arrays[t.name].assign(static_cast<std::size_t>(t.size() * size_bytes(t.dtype)), kUnwritten);
    } else {
      arrays[t.name] = read_npy(folder / fmt::format("in_{}.npy", t.name), t.dtype).data;
    }
  }
  return arrays;
}

Outcome run_variant(const Programs& programs, const Arrays& inputs, const sim::RunOptions& options) {
  const isa::Launch launch = isa::Launch::of(programs).on_ranks(isa::named_ranks(programs[0]));
  std::vector<Arrays> arrays(launch.ranks, inputs);  // all ranks have the same inputs
  std::vector<sim::Buffers> buffers(launch.ranks);
  for (int rank = 0; rank < launch.ranks; ++rank) {
    for (auto& [name, bytes] : arrays[rank]) buffers[rank][name] = {bytes.data(), bytes.size()};
  }
  Outcome outcome;
  try {
    outcome.diagnostics = sim::run(launch, arch(programs[0].target), buffers, options).warnings;
    outcome.ok = true;
  } catch (const Error& error) {
    outcome.diagnostics = error.diagnostics();
  }
  outcome.arrays = std::move(arrays[0]);
  return outcome;
}

bool is_nan(DType t, std::uint32_t bits) { return !is_packed(t) && !is_integer(t) && std::isnan(to_float(t, bits)); }

// Where two runs differ, or nothing. A NaN equals every NaN.
std::string difference(const Programs& programs, const Outcome& a, const Outcome& b) {
  if (a.ok != b.ok) return a.ok ? "only the second one fails" : "only the first one fails";
  if (to_text(a.diagnostics) != to_text(b.diagnostics)) return "the diagnostics";
  if (!a.ok) return "";
  for (const Tensor& t : border(programs)) {
    const std::byte *x = a.arrays.at(t.name).data(), *y = b.arrays.at(t.name).data();
    const int size = size_bytes(t.dtype);
    for (std::int64_t i = 0; i < t.size(); ++i) {
      const auto p = load_bits(t.dtype, x + i * size), q = load_bits(t.dtype, y + i * size);
      if (p != q && !(is_nan(t.dtype, p) && is_nan(t.dtype, q)))
        return fmt::format("element {} of {} has bits {:#x} and {:#x}", i, t.name, p, q);
    }
  }
  return "";
}

void write_outputs(const Programs& programs, const Arrays& arrays, const fs::path& folder) {
  for (const Tensor& t : border(programs)) {
    if (t.role == Role::input) continue;
    write_npy(folder / fmt::format("out_{}.npy", t.name), {t.dtype, t.shape, arrays.at(t.name)});
  }
}

struct Verdict {
  std::string status;
  std::vector<Diagnostic> diagnostics;
  std::string differs;
};

Verdict run_case(const fs::path& folder) {
  Programs programs;
  try {
    for (const char* name : {"program.kiln", "peer.kiln"}) {
      if (fs::exists(folder / name)) programs.push_back(isa::parse(read_file(folder / name), name));
    }
  } catch (const Error& error) {
    return {"rejected", error.diagnostics(), ""};
  }
  Verdict verdict;
  for (Program& program : programs) {
    check::Report report = check::check_program(program, arch(program.target));
    if (!report.ok()) return {"rejected", std::move(report.diagnostics), ""};
    for (Diagnostic& d : report.diagnostics) verdict.diagnostics.push_back(std::move(d));
  }
  const Arrays inputs = read_arrays(programs, folder);
  const Outcome first = run_variant(programs, inputs, kVariants[0].options);
  for (const Variant& variant : std::span(kVariants).subspan(1)) {
    const std::string what = difference(programs, first, run_variant(programs, inputs, variant.options));
    if (!what.empty() && verdict.differs.empty())
      verdict.differs = fmt::format("{}, then {}: {}", kVariants[0].name, variant.name, what);
  }
  if (first.ok) write_outputs(programs, first.arrays, folder);
  verdict.status = first.ok ? "ok" : "failed";
  verdict.diagnostics.insert(verdict.diagnostics.end(), first.diagnostics.begin(), first.diagnostics.end());
  return verdict;
}

nlohmann::json result_json(const fs::path& folder) {
  try {
    const Verdict verdict = run_case(folder);
    return {{"status", verdict.status},
            {"diagnostics", nlohmann::json::parse(to_json(verdict.diagnostics))},
            {"differs", verdict.differs}};
  } catch (const std::exception& error) {
    return {{"status", "exception"}, {"diagnostics", nlohmann::json::array()}, {"message", error.what()}};
  }
}

}  // namespace

void run_cases(const std::string& directory) {
  for (const fs::path& folder : case_folders(directory)) {
    if (fs::exists(folder / "result.json")) continue;
    write_atomically(folder / "result.json", result_json(folder).dump());
  }
}

}  // namespace kiln
