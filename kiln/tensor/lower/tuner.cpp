#include "kiln/tensor/lower/tuner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "kiln/base/file.h"
#include "kiln/tensor/lower/assumed_trips.h"
#include "kiln/tensor/lower/cache.h"
#include "kiln/tensor/lower/quick_time.h"
#include "kiln/timing/simulate.h"

namespace kiln::tensor {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kRound = 8;
constexpr int kMostDry = 200;

CompileOptions at_level_2(CompileOptions options) {
  options.level = 2;
  return options;
}

double full_time_ns(const Compiled& made) {
  return timing::to_ns(timing::simulate(made.launch(), arch(made.program.target),
                                        {.trip_counts = assumed_trips(made.program), .keep_events = 0})
                           .total);
}

}  // namespace

Tuner::Tuner(const Graph& graph, const CompileOptions& options, unsigned seed)
    : options_(at_level_2(options)),
      key_(cache_key(graph, options_)),
      solved_(solve(graph, options_)),
      space_(solved_),
      random_(seed),
      best_(space_.sizes().size(), 0) {
  if (options_.lnc == 2) options_.donated.clear();
  fill_constants(solved_.made);
  first_ns_ = best_ns_ = solved_.made.time_ns;
  times_[best_] = best_ns_;
  const std::size_t per = space_.knobs_per_region();
  order_.resize(best_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    return solved_.made.regions[a / per].hbm_bytes > solved_.made.regions[b / per].hbm_bytes;
  });
}

double Tuner::time(const Knobs& knobs) const {
  const std::optional<Compiled> made = make(solved_.cores, options_, space_.choice(knobs));
  if (!made || !errors_of(*made, options_).empty()) return std::numeric_limits<double>::infinity();
  return quick_time_ns(made->launch());
}

// Single changes of the best one after the other, knob by knob; then some at random.
std::vector<Knobs> Tuner::round() {
  std::vector<Knobs> out;
  const std::vector<int>& sizes = space_.sizes();
  while (out.size() < kRound && sweep_ < order_.size()) {
    const std::size_t knob = order_[sweep_++];
    for (int x = 0; x < sizes[knob]; ++x) {
      Knobs changed = best_;
      changed[knob] = x;
      if (x != best_[knob]) out.push_back(std::move(changed));
    }
  }
  while (out.size() < kRound && !sizes.empty()) {
    Knobs changed = best_;
    const int changes = 2 + static_cast<int>(random_() % 3);
    const bool everywhere = random_() % 4 == 0;  // one knob of all regions
    for (int i = 0; i < changes; ++i) {
      const std::size_t knob = random_() % sizes.size(), per = space_.knobs_per_region();
      const int x = static_cast<int>(random_() % static_cast<unsigned>(sizes[knob]));
      changed[knob] = x;
      for (std::size_t r = 0; everywhere && r < space_.regions(); ++r) changed[r * per + knob % per] = x;
    }
    out.push_back(std::move(changed));
  }
  return out;
}

std::vector<Knobs> Tuner::ask() {
  while (dry_ < kMostDry && !space_.sizes().empty()) {
    if (asked_.empty()) asked_ = round();
    std::vector<Knobs> unknown;
    for (const Knobs& k : asked_) {
      if (const auto it = known_.find(k); it != known_.end()) times_.emplace(k, it->second);
      if (!times_.contains(k) && std::find(unknown.begin(), unknown.end(), k) == unknown.end()) unknown.push_back(k);
    }
    if (!unknown.empty()) return unknown;
    finish_round();
  }
  return {};
}

void Tuner::tell(const Knobs& knobs, double ns) { times_[knobs] = ns; }

// The best of a round is the next one to change; of equal ones the first.
void Tuner::finish_round() {
  const double before = best_ns_;
  for (const Knobs& k : asked_) {
    const auto it = times_.find(k);  // a round that was stopped has candidates without one
    if (it != times_.end() && it->second < best_ns_) best_ns_ = it->second, best_ = k;
  }
  dry_ = best_ns_ < before ? 0 : dry_ + 1;
  asked_.clear();
  if (sweep_ == order_.size() && best_ns_ < before) sweep_ = 0;  // once more round what is better now
}

Compiled Tuner::compiled() {
  if (!asked_.empty()) finish_round();
  std::optional<Compiled> made = make(solved_.cores, options_, space_.choice(best_));
  if (best_ == Knobs(best_.size(), 0) || !made) return solved_.made;
  // Candidates were timed quickly; what is handed out is not slower in full either.
  if (full_time_ns(*made) > full_time_ns(solved_.made)) return solved_.made;
  made->time_ns = best_ns_;
  made->split = solved_.made.split;
  made->refused = solved_.made.refused;
  made->alternatives = solved_.made.alternatives;
  made->alternatives.insert(made->alternatives.begin(), {space_.describe(best_), best_ns_});
  fill_constants(*made);
  return std::move(*made);
}

std::string Tuner::state() const {
  Json times = Json::array();
  for (const auto& [knobs, ns] : times_) times.push_back({knobs, std::isfinite(ns) ? Json(ns) : Json()});
  for (const auto& [knobs, ns] : known_) {
    if (!times_.contains(knobs)) times.push_back({knobs, std::isfinite(ns) ? Json(ns) : Json()});
  }
  return Json{{"key", key_}, {"times", times}}.dump();
}

void Tuner::restore(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("key", "") != key_ || !json.contains("times")) return;
  for (const Json& row : json["times"]) {
    if (!row.is_array() || row.size() != 2 || row[0].size() != best_.size()) continue;
    known_[row[0].get<Knobs>()] = row[1].is_null() ? std::numeric_limits<double>::infinity() : row[1].get<double>();
  }
}

Compiled tuned(const Graph& graph, const CompileOptions& options, const TuneOptions& how) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto part = [&] { return std::chrono::duration<double>(Clock::now() - start).count() / how.seconds; };
  Tuner tuner(graph, options, how.seed);
  if (!how.file.empty() && std::filesystem::exists(how.file)) tuner.restore(read_file(how.file));
  for (std::vector<Knobs> next = tuner.ask(); !next.empty() && part() < 1; next = tuner.ask()) {
    for (const Knobs& knobs : next) {
      if (part() >= 1) break;
      tuner.tell(knobs, tuner.time(knobs));
    }
    if (!how.file.empty()) write_atomically(how.file, tuner.state());
    if (how.progress) how.progress(tuner, std::min(1.0, part()));
  }
  return tuner.compiled();
}

}  // namespace kiln::tensor
