#include "kiln/tensor/lower/tuner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "kiln/base/file.h"
#include "kiln/check/check_program.h"
#include "kiln/tensor/lower/as_timed.h"
#include "kiln/tensor/lower/cache.h"
#include "kiln/tensor/lower/quick_time.h"

namespace kiln::tensor {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kRound = 8;
constexpr double kInFull = 4000;  // instructions: in programs that are longer, long loops are timed by some passes
constexpr std::size_t kLast = 6;  // of what was best in turn: longer programs are timed in full before one is chosen
constexpr int kMostDryRegions = 40, kMostDry = 200;

CompileOptions at_level_2(CompileOptions options) {
  options.level = 2;
  return options;
}

// What check says of a program, warnings too.
std::size_t complaints(const Compiled& made, const CompileOptions& options) {
  std::size_t out = 0;
  for (const isa::Program* program : made.launch().programs) {
    const check::Report report = check::check_program(*program, chip_of(options));
    if (!report.ok()) return std::numeric_limits<std::size_t>::max();
    out += report.diagnostics.size();
  }
  return out;
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
  first_ns_ = best_ns_ = quick_time_ns(solved_.made.launch(), kInFull);
  times_[best_] = best_ns_;
  allowed_ = complaints(solved_.made, options_);
  const std::size_t per = space_.knobs_per_region();
  order_.resize(best_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    return solved_.made.regions[a / per].hbm_bytes > solved_.made.regions[b / per].hbm_bytes;
  });
}

std::shared_ptr<const Compiled> Tuner::made_of(const Knobs& regions) const {
  {
    const std::scoped_lock lock(mutex_);
    if (last_made_ && last_ == regions) return last_made_;
  }
  std::shared_ptr<const Compiled> made;
  if (std::optional<Compiled> now = make(solved_.cores, options_, space_.choice(regions), *solved_.plans))
    made = std::make_shared<const Compiled>(std::move(*now));
  const std::scoped_lock lock(mutex_);
  last_ = regions;
  last_made_ = made;
  return made;
}

std::optional<Compiled> Tuner::built(const Knobs& knobs) const {
  const auto regions = knobs.begin() + static_cast<std::ptrdiff_t>(space_.sizes().size());
  if (regions == knobs.end()) return make(solved_.cores, options_, space_.choice(knobs), *solved_.plans);
  const std::shared_ptr<const Compiled> made = made_of({knobs.begin(), regions});
  return made ? changed(*made, Changes(regions, knobs.end())) : std::nullopt;
}

double Tuner::time(const Knobs& knobs) const {
  const std::optional<Compiled> made = built(knobs);
  if (!made || complaints(*made, options_) > allowed_) return std::numeric_limits<double>::infinity();
  return quick_time_ns(made->launch(), kInFull);
}

// Single changes of the best one after the other, knob by knob.
void Tuner::next_regions(std::vector<Knobs>& out) {
  const std::size_t knob = order_[sweep_++];
  for (int x = 0; x < space_.sizes()[knob]; ++x) {
    Knobs changed = best_;
    changed[knob] = x;
    if (x != best_[knob]) out.push_back(std::move(changed));
  }
}

void Tuner::some_regions(std::vector<Knobs>& out) {
  const std::vector<int>& sizes = space_.sizes();
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

// Changes of instructions are pairs behind the knobs of regions, ascending by key; a value of 0 is none.
void Tuner::change(Knobs& knobs, int key, int value) const {
  auto at = knobs.begin() + static_cast<std::ptrdiff_t>(space_.sizes().size());
  while (at != knobs.end() && *at < key) at += 2;
  const bool there = at != knobs.end() && *at == key;
  if (there && value == 0)
    knobs.erase(at, at + 2);
  else if (there)
    at[1] = value;
  else if (value != 0)
    knobs.insert(at, {key, value});
}

// One change of all instructions of a kind that can have it, or of none.
void Tuner::next_kinds(std::vector<Knobs>& out) {
  const int kind = kinds_[sweep_++];
  for (const auto what : {InstructionKnob::What::place, InstructionKnob::What::pieces}) {
    std::set<int> values{0};
    const auto is_it = [&](const InstructionKnob& k) { return k.kind == kind && k.what == what; };
    for (const InstructionKnob& k : instructions_) {
      if (is_it(k)) values.insert(k.values.begin(), k.values.end());
    }
    for (const int value : values) {
      Knobs changed = best_;
      for (const InstructionKnob& k : instructions_) {
        const bool has = std::find(k.values.begin(), k.values.end(), value) != k.values.end();
        if (is_it(k) && (has || value == 0)) change(changed, k.key(), value);
      }
      if (changed != best_) out.push_back(std::move(changed));
    }
  }
}

void Tuner::next_instructions(std::vector<Knobs>& out) {
  const InstructionKnob& knob = instructions_[sweep_++];
  for (std::size_t i = 0; i <= knob.values.size(); ++i) {
    Knobs changed = best_;
    change(changed, knob.key(), i == 0 ? 0 : knob.values[i - 1]);
    if (changed != best_) out.push_back(std::move(changed));
  }
}

// Neighbours more often than others: what follows each other in the program has to do with each other.
void Tuner::some_instructions(std::vector<Knobs>& out) {
  Knobs changed = best_;
  const int changes = 2 + static_cast<int>(random_() % 3);
  const std::size_t all = instructions_.size(), first = random_() % all;
  const bool near = random_() % 4 != 0;
  for (int i = 0; i < changes; ++i) {
    const InstructionKnob& knob = instructions_[near ? (first + random_() % 8) % all : random_() % all];
    const std::size_t value = random_() % (knob.values.size() + 1);
    change(changed, knob.key(), value == 0 ? 0 : knob.values[value - 1]);
  }
  if (changed != best_) out.push_back(std::move(changed));
}

std::vector<Knobs> Tuner::round() {
  std::vector<Knobs> out;
  for (std::size_t tries = 0; out.size() < kRound && tries < 2 * kRound; ++tries) {
    switch (stage_) {
      case Stage::regions:
        if (sweep_ < order_.size()) next_regions(out);
        break;
      case Stage::some_regions:
        some_regions(out);
        break;
      case Stage::kinds:
        if (sweep_ < kinds_.size()) next_kinds(out);
        break;
      case Stage::instructions:
        if (sweep_ < instructions_.size()) next_instructions(out);
        break;
      case Stage::some_instructions:
        some_instructions(out);
        break;
      case Stage::done:
        break;
    }
  }
  return out;
}

void Tuner::find_instructions() {
  const std::shared_ptr<const Compiled> made = made_of(best_);
  instructions_ = instruction_knobs(made ? made->program : solved_.made.program, chip_of(options_));
  for (const InstructionKnob& k : instructions_) {
    if (std::find(kinds_.begin(), kinds_.end(), k.kind) == kinds_.end()) kinds_.push_back(k.kind);
  }
}

// The next stage where this one has nothing new any more.
void Tuner::go_on(bool better) {
  dry_ = better ? 0 : dry_ + 1;
  const auto begin = [&](Stage stage) { stage_ = stage, sweep_ = 0, dry_ = 0; };
  switch (stage_) {
    case Stage::regions:
      if (sweep_ == order_.size()) begin(order_.empty() ? Stage::kinds : Stage::some_regions);
      break;
    case Stage::some_regions:
      if (better) begin(Stage::regions);  // once more round what is better now
      if (dry_ >= kMostDryRegions) begin(Stage::kinds);
      break;
    case Stage::kinds:
      if (sweep_ == kinds_.size()) begin(instructions_.empty() ? Stage::done : Stage::instructions);
      break;
    case Stage::instructions:
      if (sweep_ == instructions_.size()) begin(Stage::some_instructions);
      break;
    case Stage::some_instructions:
      if (better) begin(Stage::instructions);
      if (dry_ >= kMostDry) begin(Stage::done);
      break;
    case Stage::done:
      break;
  }
  if (stage_ == Stage::kinds && instructions_.empty()) find_instructions();
}

std::vector<Knobs> Tuner::ask() {
  while (stage_ != Stage::done) {
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
  asked_.clear();
  if (best_ns_ < before) improved_.push_back(best_);
  go_on(best_ns_ < before);
}

// Candidates were timed quickly; what is handed out is the best of the last ones, and not slower than level 2, in full.
Compiled Tuner::compiled() {
  if (!asked_.empty()) finish_round();
  double least = time_as_seen_ns(solved_.made.launch());
  std::optional<Compiled> best;
  const Knobs* of_best = nullptr;
  for (std::size_t i = 0; i < std::min(kLast, improved_.size()); ++i) {
    const Knobs& knobs = improved_[improved_.size() - 1 - i];
    std::optional<Compiled> made = built(knobs);
    const double ns = made ? time_as_seen_ns(made->launch()) : least;
    if (ns < least) least = ns, best = std::move(made), of_best = &knobs;
  }
  if (!best) return solved_.made;
  best->time_ns = times_.at(*of_best);
  best->split = solved_.made.split;
  best->refused = solved_.made.refused;
  best->by_tile_limits = solved_.made.by_tile_limits;
  best->alternatives = solved_.made.alternatives;
  best->alternatives.insert(best->alternatives.begin(), {describe(*of_best), best->time_ns});
  fill_constants(*best);
  return std::move(*best);
}

std::string Tuner::describe(const Knobs& knobs) const {
  const auto regions = knobs.begin() + static_cast<std::ptrdiff_t>(space_.sizes().size());
  const std::string said = space_.describe(knobs);
  const std::shared_ptr<const Compiled> made = regions == knobs.end() ? nullptr : made_of({knobs.begin(), regions});
  return made ? said + "; " + tensor::describe(made->program, Changes(regions, knobs.end())) : said;
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
    if (!row.is_array() || row.size() != 2 || row[0].size() < space_.sizes().size()) continue;
    known_[row[0].get<Knobs>()] = row[1].is_null() ? std::numeric_limits<double>::infinity() : row[1].get<double>();
  }
}

Compiled tuned(const Graph& graph, const CompileOptions& options, const TuneOptions& how) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto part = [&] { return std::chrono::duration<double>(Clock::now() - start).count() / how.seconds; };
  Tuner tuner(graph, options, how.seed);
  if (!how.file.empty() && std::filesystem::exists(how.file)) tuner.restore(read_file(how.file));
  auto written = start;
  for (std::vector<Knobs> next = tuner.ask(); !next.empty() && part() < 1; next = tuner.ask()) {
    for (const Knobs& knobs : next) {
      if (part() >= 1) break;
      tuner.tell(knobs, tuner.time(knobs));
    }
    if (!how.file.empty() && Clock::now() - written > std::chrono::seconds(1)) {
      write_atomically(how.file, tuner.state());
      written = Clock::now();
    }
    if (how.progress) how.progress(tuner, std::min(1.0, part()));
  }
  if (!how.file.empty()) write_atomically(how.file, tuner.state());
  return tuner.compiled();
}

}  // namespace kiln::tensor
