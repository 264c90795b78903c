// Prints every bar of the library kernels with its predicted figure; --json for other programs.
#include <fmt/format.h>

#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/libraries/blas_bars.h"
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

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto blas = kiln::bench::blas_bars(), mp2 = kiln::bench::mp2_bars(), original = kiln::bench::original_bars(),
               others = kiln::bench::other_figures();
    if (argc > 1 && std::strcmp(argv[1], "--json") == 0) {
      std::cout << nlohmann::json{{"blas", json_of(blas)},
                                  {"mp2", json_of(mp2)},
                                  {"original", json_of(original)},
                                  {"others", json_of(others)}}
                       .dump(2)
                << "\n";
      return 0;
    }
    print("BLAS", blas);
    print("MP2", mp2);
    print("What the original measured, dispatch left out", original);
    print("Other figures", others);
  } catch (const kiln::Error& error) {
    std::cerr << to_text(error.diagnostics()) << "\n";
    return 1;
  }
}
