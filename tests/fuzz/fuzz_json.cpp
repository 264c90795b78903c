// All JSON that is written parses: diagnostics of any text, and of random programs, their names odd ones, also the
// report of a time, a comparison and the data of the page.
#include <nlohmann/json.hpp>

#include "kiln/analysis/trips.h"
#include "kiln/check/check_program.h"
#include "kiln/isa/text/parse.h"
#include "kiln/timing/trips.h"
#include "kiln/views/compare.h"
#include "kiln/views/html.h"
#include "kiln/views/json.h"
#include "kiln/views/timed_kernel.h"
#include "tests/fuzz/require.h"
#include "tests/programs/random_program.h"

namespace {

using namespace kiln;
using Json = nlohmann::json;

constexpr double kMostExecuted = 300;  // instructions; advice times them several times over

Json parsed(const std::string& text, const char* what) {
  Json json = Json::parse(text, nullptr, false);
  require(!json.is_discarded(), what);
  return json;
}

// As the commands write it: bytes that are no UTF-8 are replaced.
Json written(const nlohmann::ordered_json& json, const char* what) {
  return parsed(json.dump(2, ' ', false, Json::error_handler_t::replace), what);
}

void check_diagnostics(const std::vector<Diagnostic>& found) {
  const Json json = parsed(to_json(found, 2), "diagnostics are no JSON");
  require(json.size() == found.size(), "diagnostics are missing");
}

// The data of a page stands in elements of their own.
void check_page(const std::string& page) {
  constexpr std::string_view kBegin = "<script type=\"application/json\"", kEnd = "</script>";
  int count = 0;
  for (std::size_t at = page.find(kBegin); at != std::string::npos; at = page.find(kBegin, at + 1), ++count) {
    const std::size_t begin = page.find('>', at) + 1, end = page.find(kEnd, begin);
    require(end != std::string::npos, "an element of the page has no end");
    parsed(page.substr(begin, end - begin), "data of the page are no JSON");
  }
  require(count > 0, "a page without data");
}

void check_report(const views::TimedKernel& kernel) {
  const Json json = written(views::to_json(kernel.report), "a report is no JSON");
  require(json.at("program") == written(kernel.report.program, "a name is no JSON"), "another name in the report");
  const std::vector<views::Column> columns{{"one", &kernel.report}, {"two", &kernel.report}};
  written(views::compare_json(columns), "a comparison is no JSON");
  check_page(views::to_html(kernel.report, kernel.picture()));
}

// Times the programs when that is quick.
void time(Programs programs, Choices& choices) {
  views::TimeRequest request;
  for (const isa::Program& p : programs) {
    for (const isa::Loop& loop : p.loops) {
      if (loop.kind != isa::Loop::Kind::static_for) request.trip_counts.try_emplace(loop.variable, choices.below(3));
    }
  }
  for (const isa::Program& p : programs) {
    const auto trips = timing::trip_counts(p, {.trip_counts = request.trip_counts});
    if (analysis::executed_instructions(p, p.body, trips) > kMostExecuted) return;
  }
  request.advice = choices.chance(4);
  try {
    check_report(*views::time_kernel(std::move(programs), request));
  } catch (const Error& e) {
    check_diagnostics(e.diagnostics());
  }
}

Programs parse(std::string_view text) {
  try {
    return {isa::parse(text, "fuzz.kiln")};
  } catch (const Error& e) {
    check_diagnostics(e.diagnostics());
    return {};
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  const bool generated = choices.chance(2);
  const Programs programs =
      generated || size == 0 ? isa::random_launch(choices) : parse({reinterpret_cast<const char*>(data) + 1, size - 1});
  bool legal = !programs.empty();
  for (const isa::Program& p : programs) {
    const check::Report report = check::check_program(p, arch(p.target));
    check_diagnostics(report.diagnostics);
    legal = legal && report.ok();
  }
  if (legal) time(programs, choices);
  return 0;
}
