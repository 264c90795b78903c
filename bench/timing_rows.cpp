// Reads lines "kernel name=value …" and answers each with one line of JSON: what the model says about that
// kernel. bench/timing drives it.
#include <algorithm>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/timing_kernels.h"
#include "kiln/check/check_program.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/timing/band.h"
#include "kiln/timing/simulate.h"

namespace {

using kiln::bench::Params;
using nlohmann::json;
using namespace kiln::timing;

constexpr std::size_t kShown = 500;  // events of a kernel that are told

double load_ns(const kiln::isa::Program& program) {
  const kiln::Arch& a = kiln::arch(program.target);
  double longest = 0;
  for (const kiln::isa::Instruction& inst : program.instructions) {
    const double cycles = kiln::isa::cost_of(program, inst, a).load_cycles;
    if (cycles > 0) longest = std::max(longest, a.timing.matmul.load_ns + cycles / a.tensor.clock_ghz);
  }
  return longest;
}

// `load_ns`: loading a stationary operand, and what the lower clock adds.
json tell(const Timeline& t, const kiln::isa::Program& program, double seconds) {
  json lanes = json::object();
  for (const Lane& lane : t.lanes) {
    if (lane.executions == 0) continue;
    lanes[lane.name] = {{"busy_ns", to_ns(lane.busy)}, {"active_ns", to_ns(lane.active)}, {"count", lane.executions}};
  }
  json events = json::array();
  for (std::size_t i = 0; i < t.events.size() && i < kShown; ++i) {
    const Event& e = t.events[i];
    events.push_back({t.lanes[e.lane].name, name(e.kind), to_ns(e.start), to_ns(e.end), name(e.wait)});
  }
  const auto engine = t.lanes[t.bottleneck].engine;
  return {{"total_ns", to_ns(t.total)},
          {"profiler_ns", to_ns(t.profiler_total)},
          {"benchmark_ns", to_ns(t.benchmark_latency)},
          {"low_ns", to_ns(t.band.low)},
          {"high_ns", to_ns(t.band.high)},
          {"basis", t.band.basis},
          {"dma_busy_ns", to_ns(t.dma_busy)},
          {"bottleneck", std::string(kiln::name(engine))},
          {"instructions", t.instructions},
          {"hbm_read", t.hbm_bytes_read},
          {"hbm_written", t.hbm_bytes_written},
          {"seconds", seconds},
          {"load_ns", load_ns(program)},
          {"cold_load_ns", kiln::arch(program.target).timing.matmul.cold_latency_ns},
          {"lanes", lanes},
          {"events", events}};
}

// band target=trn1 bottleneck=vector busy=0.1,0.9,0,0.2 decades=5.1 without=A,B: the factor of the band of such a run.
json band_answer(const Params& params) {
  const auto list = [&](const char* name) {
    std::vector<std::string> found;
    std::istringstream words(params.text(name));
    for (std::string word; std::getline(words, word, ',');) found.push_back(word);
    return found;
  };
  Likeness own;
  const std::vector<std::string> busy = list("busy"), without = list("without");
  for (std::size_t i = 0; i < own.busy.size(); ++i) own.busy[i] = std::stod(busy.at(i));
  own.decades = std::stod(params.text("decades"));
  kiln::Engine engine = kiln::Engine::unknown;
  kiln::Target target = {};
  if (!parse_engine(params.text("bottleneck"), engine) || !parse_target(params.text("target"), target))
    throw std::runtime_error("band of an unknown engine or target");
  return {{"factor", band_factor(own, engine, kiln::arch(target), without)}};
}

json answer(const std::string& line) {
  std::istringstream words(line);
  std::string name, word;
  words >> name;
  std::map<std::string, std::string> values;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    values[word.substr(0, equals)] = equals == std::string::npos ? "1" : word.substr(equals + 1);
  }
  const Params params(values);
  if (name == "band") return band_answer(params);
  const kiln::isa::Program program = kiln::bench::timing_kernel(name, params);
  kiln::check::Report report = kiln::check::check_program(program, kiln::arch(program.target));
  if (!report.ok()) throw kiln::Error(std::move(report.diagnostics));
  TimingOptions options;
  options.reorder = params.number("reorder") != 0;
  for (std::istringstream list(params.text("what_if")); std::getline(list, word, ',');) {
    std::replace(word.begin(), word.end(), ':', '=');
    options.what_if.push_back(parse_what_if(word));
  }
  const std::clock_t start = std::clock();  // of this process: the machine may have other work
  Timeline t = simulate(program, kiln::arch(program.target), options);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const std::string without[] = {params.text("without")};
  t.band = band_of(t, kiln::arch(program.target), without);
  return tell(t, program, seconds);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    json out;
    try {
      out = answer(line);
    } catch (const std::exception& e) {
      out = {{"error", e.what()}};
    }
    std::cout << out.dump() << std::endl;
  }
}
