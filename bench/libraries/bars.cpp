// Prints every bar of the library kernels with its predicted figure; --json for other programs.
#include <fmt/format.h>

#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/libraries/blas_bars.h"
#include "bench/libraries/fft_bars.h"
#include "bench/libraries/sparse_bars.h"
#include "kiln/base/error.h"

namespace {

using kiln::bench::Bar;

void print(const char* title, const std::vector<Bar>& bars) {
  fmt::print("{}\n", title);
  for (const Bar& b : bars) {
    const std::string bar = b.bar == 0 ? "" : fmt::format("{} {:.3g}", b.is_least ? ">=" : "<=", b.bar);
    fmt::print("  {:52} {:5} {:12.2f} us {:9.3g}  {:10} {}\n", b.what, b.target, b.time_ns / 1e3, b.figure, bar,
               b.bar == 0   ? ""
               : b.is_met() ? "met"
                            : "MISSED");
  }
}

nlohmann::json json_of(const std::vector<Bar>& bars) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Bar& b : bars)
    rows.push_back({{"what", b.what},
                    {"target", b.target},
                    {"time_ns", b.time_ns},
                    {"figure", b.figure},
                    {"bar", b.bar},
                    {"at_least", b.is_least},
                    {"met", b.is_met()}});
  return rows;
}

struct Section {
  const char* key;
  const char* title;
  std::vector<Bar> (*bars)();
};
constexpr Section kSections[] = {
    {"blas", "BLAS", kiln::bench::blas_bars},
    {"mp2", "MP2", kiln::bench::mp2_bars},
    {"df_mp2", "DF-MP2 from end to end, dispatch left out", kiln::bench::df_mp2_bars},
    {"original", "What the original measured, dispatch left out", kiln::bench::original_bars},
    {"others", "Other figures", kiln::bench::other_figures},
    {"fft", "FFT", kiln::bench::fft_bars},
    {"fft_original", "What the original FFT measured, dispatch left out", kiln::bench::fft_original_bars},
    {"sparse", "Sparse", kiln::bench::sparse_bars},
    {"sparse_original", "What the original measured of sparse products, dispatch left out",
     kiln::bench::sparse_original_bars},
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool as_json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
    nlohmann::json all;
    for (const Section& section : kSections) {
      const std::vector<Bar> bars = section.bars();
      as_json ? void(all[section.key] = json_of(bars)) : print(section.title, bars);
    }
    if (as_json) std::cout << all.dump(2) << "\n";
  } catch (const kiln::Error& error) {
    std::cerr << to_text(error.diagnostics()) << "\n";
    return 1;
  }
}
