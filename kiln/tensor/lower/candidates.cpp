// Level 2: candidates are built and compared with the timing model, one after the other.
#include "kiln/tensor/lower/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "kiln/analysis/trips.h"
#include "kiln/tensor/lower/as_timed.h"
#include "kiln/tensor/lower/dma_starts.h"
#include "kiln/tensor/lower/fingerprint.h"
#include "kiln/tensor/lower/quick_time.h"
#include "kiln/vendor/balance.h"

namespace kiln::tensor {
namespace {

// Another way to use PSUM and SBUF, for programs with products.
struct Candidate {
  const char* what;
  void (*change)(RegionOptions&);
  double worth = 1;         // of the time so far: with more it is not taken
  bool of_weights = false;  // changes nothing in programs without exponentials
};
using Evacuate = RegionOptions::Evacuate;
using Sums = RegionOptions::WeightSums;
constexpr Candidate kProductCandidates[] = {
    {"attention of few queries with these on partitions", [](RegionOptions& o) { o.few_queries = false; }, 1, true},
    {"attention with the largest scores", [](RegionOptions& o) { o.unshifted = false; }, 1, true},
    {"attention of one head after the other", [](RegionOptions& o) { o.heads_together = 0; }, 1, true},
    {"attention of one head on the partitions", [](RegionOptions& o) { o.heads_together = o.heads_together | 8; }, 1,
     true},
    {"attention of several heads together", [](RegionOptions& o) { o.heads_together = 2 | (o.heads_together & 8); }, 1,
     true},
    {"attention of several heads together, with values held",
     [](RegionOptions& o) {
       o.heads_together = 2 | (o.heads_together & 8);
       o.holds_values = true;
     },
     1, true},
    {"products of 512 columns leave PSUM",
     [](RegionOptions& o) { o.psum_columns = std::min<std::int64_t>(512, o.psum_columns); }},
    {"PSUM emptied by the scalar engine", [](RegionOptions& o) { o.evacuate = Evacuate::scalar; }},
    {"PSUM emptied by the vector engine", [](RegionOptions& o) { o.evacuate = Evacuate::vector; }},
    {"matrices loaded 512 rows at a time", [](RegionOptions& o) { o.load_blocks = 4; }},
    {"matrices loaded 256 rows at a time", [](RegionOptions& o) { o.load_blocks = 2; }},
    {"rows stored whole", [](RegionOptions& o) { o.whole_rows = true; }},
    {"7 of 8 blocks turned by DMA", [](RegionOptions& o) { o.turned_by_dma = 14; }},
    {"operands turned while they are loaded", [](RegionOptions& o) { o.loads_turned = true; }},
    {"attention without the largest scores", [](RegionOptions& o) { o.unshifted = true; }, 1, true},
    {"attention of several heads together, which are turned while they are loaded",
     [](RegionOptions& o) {
       o.heads_together = 2 | (o.heads_together & 8);
       o.loads_turned = true;
     },
     1, true},
    {"attention of several heads together, with values held, which are turned while they are loaded",
     [](RegionOptions& o) {
       o.heads_together = 2 | (o.heads_together & 8);
       o.holds_values = o.loads_turned = true;
     },
     1, true},
    {"attention of one head after the other, which is turned while it is loaded",
     [](RegionOptions& o) {
       o.heads_together = 0;
       o.loads_turned = true;
     },
     1, true},
    {"attention of fewer heads together", [](RegionOptions& o) { o.heads_together = o.heads_together | 4; }, 1, true},
    {"PSUM emptied by two engines at once", [](RegionOptions& o) { o.evacuate = Evacuate::shared; }, 0.98},
    {"PSUM emptied in turn", [](RegionOptions& o) { o.evacuate = Evacuate::in_turn; }},
    {"weights added up on the tensor engine", [](RegionOptions& o) { o.weight_sums = Sums::tensor; }, 1, true},
    {"every second weights added up on the tensor engine", [](RegionOptions& o) { o.weight_sums = Sums::half; }, 1,
     true},
    {"attention without the largest scores, its weights held by the tensor engine",
     [](RegionOptions& o) {
       o.unshifted = true;
       o.heads_together = 0;
       o.weight_sums = Sums::held;
     },
     1, true},
    {"what is added to scores shared by the vector and the tensor engine",
     [](RegionOptions& o) {
       o.unshifted = true;
       o.heads_together = 0;
       o.terms_added = true;
     },
     1, true},
    {"most weights added up by gpsimd", [](RegionOptions& o) { o.weight_sums = Sums::gpsimd; }, 1, true},
    {"weights of three blocks of keys made together", [](RegionOptions& o) { o.key_blocks = 3; }, 1, true},
    {"all products leave PSUM", [](RegionOptions& o) { o.psum_columns = 0; }},
    {"small operands only stay in SBUF",
     [](RegionOptions& o) { o.hoisted_bytes = std::min<std::int64_t>(16384, o.hoisted_bytes); }},
    {"groups of rows meet pieces of matrices",
     [](RegionOptions& o) {
       o.hoisted_bytes = std::min<std::int64_t>(4096, o.hoisted_bytes);
       o.psum_columns = 0;
     }},
};

// How columns are turned, for programs without products.
constexpr Candidate kTurnCandidates[] = {
    {"512 columns turned together", [](RegionOptions& o) { o.turned_blocks = 4; }},
    {"copies in another order made by an engine", [](RegionOptions& o) { o.regroups_matrices = true; }},
    {"128 columns turned together", [](RegionOptions& o) { o.turned_blocks = 1; }},
    {"PSUM emptied by the vector engine", [](RegionOptions& o) { o.evacuate = Evacuate::vector; }},
    {"PSUM emptied by the scalar engine", [](RegionOptions& o) { o.evacuate = Evacuate::scalar; }},
};

// How much is copied in another order at a time.
constexpr Candidate kCopyCandidates[] = {
    {"copies of 16 KiB of a partition", [](RegionOptions& o) { o.regrouped_bytes = 16384; }},
    {"copies of 8 KiB of a partition", [](RegionOptions& o) { o.regrouped_bytes = 8192; }},
    {"copies of 4 KiB of a partition", [](RegionOptions& o) { o.regrouped_bytes = 4096; }},
};

// Who computes what several engines can, for all programs.
constexpr Candidate kEngineCandidates[] = {
    {"rows of several passes moved together", [](RegionOptions& o) { o.passes_together = 2; }, 0.97},
    {"sums of rows on the scalar engine",
     [](RegionOptions& o) {
       o.sums_on_scalar = true;
       o.moments = false;
     }},
    {"two tiles combined by gpsimd", [](RegionOptions& o) { o.pairs_on_gpsimd = true; }},
    {"every second two tiles combined by gpsimd", [](RegionOptions& o) { o.pairs_on_gpsimd = o.pairs_in_turn = true; }},
    {"factors of rows on the scalar engine", [](RegionOptions& o) { o.factors_on_scalar = true; }},
    {"sums of terms shared by two engines", [](RegionOptions& o) { o.terms_shared = true; }, 0.98},
    {"sums of rows on the vector engine", [](RegionOptions& o) { o.sums_on_scalar = false; }},
    {"two blocks of rows side by side", [](RegionOptions& o) { o.side_by_side = 2; }, 0.97},
    {"four blocks of rows side by side", [](RegionOptions& o) { o.side_by_side = 4; }, 0.97},
    {"wide rows in pieces",
     [](RegionOptions& o) {
       if (o.column_tile == 0) o.column_tile = 8192;
     },
     0.97},
    {"wide rows in short pieces",
     [](RegionOptions& o) {
       if (o.column_tile > 2048) o.column_tile = 2048;
     }},
    {"mean and variance in one pass, or not", [](RegionOptions& o) { o.moments = !o.moments; }},
    {"two heads of few queries side by side", [](RegionOptions& o) { o.few_beside = true; }, 0.97, true},
    {"results of several blocks of queries stored together", [](RegionOptions& o) { o.stores_together = true; }, 1,
     true},
};

// The same where sums of terms are shared, which the scalar engine then has a part of.
constexpr Candidate kSharedCandidates[] = {
    {"PSUM emptied in turn", [](RegionOptions& o) { o.evacuate = Evacuate::in_turn; }},
    {"PSUM emptied by the vector engine", [](RegionOptions& o) { o.evacuate = Evacuate::vector; }},
    {"512 columns turned together", [](RegionOptions& o) { o.turned_blocks = 4; }},
    {"128 columns turned together", [](RegionOptions& o) { o.turned_blocks = 1; }},
};

// How soon software starts one DMA after the other is known from few traces: not for a little.
constexpr double kSoftwareWorth = 0.9;

bool has_products(const Graph& graph) {
  return std::any_of(graph.ops().begin(), graph.ops().end(), [](const Op& op) { return is_product(op.code); });
}

bool turns_columns(const isa::Program& program) {
  return std::any_of(program.instructions.begin(), program.instructions.end(),
                     [](const isa::Instruction& i) { return i.opcode == isa::Opcode::nc_transpose; });
}

// From more passes than candidates are compared by, for programs that have other loops.
double time_in_full_ns(const Compiled& made) {
  constexpr double kInstructions = 20000;
  return quick_time_ns(made.launch(), kInstructions);
}

// Keeps the program that is quickest, and how long the others took.
class Search {
 public:
  // Programs of at most `in_full` instructions are timed as they are.
  Search(const Solved& solved, const CompileOptions& options, Choice choice, Compiled first,
         const char* what = "the best estimates", double in_full = kTimedInFull)
      : solved_(solved), options_(options), choice_(std::move(choice)), best_(std::move(first)), in_full_(in_full) {
    best_.time_ns = quick_time_ns(best_.launch(), in_full_, &common_);
    seen_.insert(fingerprint(best_.program));
    tried_.push_back({what, best_.time_ns});
    chosen_.push_back(choice_);
  }
  bool has_seen(const Compiled& made) const { return seen_.contains(fingerprint(made.program)); }
  const Choice& choice() const { return choice_; }
  const Compiled& best() const { return best_; }

  // `other_loops`: it has fewer passes, which are longer.
  void attempt(const Choice& choice, const std::string& what, double worth = 1, bool other_loops = false) {
    if (looked_at_ > kMostInstructions) return;
    looked_at_ += best_.program.instructions.size();
    if (std::any_of(built_.begin(), built_.end(), [&](const Choice& c) { return c.is_same_with(choice); })) return;
    choice.region.forget_asked();
    std::optional<Compiled> made = make(solved_.cores, options_, choice, *solved_.plans);
    built_.push_back(choice);
    if (!made || !seen_.insert(fingerprint(made->program)).second || !errors_of(*made, options_).empty()) return;
    made->time_ns = quick_time_ns(made->launch(), in_full_, &common_);
    tried_.push_back({what, made->time_ns});
    chosen_.push_back(choice);
    if (made->time_ns >= worth * best_.time_ns) return;
    if (other_loops) {
      if (!best_in_full_ns_) best_in_full_ns_ = time_in_full_ns(best_);
      const double in_full = time_in_full_ns(*made);
      if (in_full >= worth * *best_in_full_ns_) return;
      best_in_full_ns_ = in_full;
    } else {
      best_in_full_ns_.reset();
    }
    made->refused = best_.refused;
    best_ = std::move(*made);
    choice_ = choice;
  }

  // What else was tried and took at most `slower` times as long, the quickest first.
  std::vector<Choice> next_best(double slower, std::size_t most) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < tried_.size(); ++i) {
      if (tried_[i].time_ns <= slower * best_.time_ns && !chosen_[i].is_same_with(choice_)) order.push_back(i);
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return tried_[i].time_ns; });
    std::vector<Choice> out;
    for (std::size_t i = 0; i < std::min(most, order.size()); ++i) out.push_back(chosen_[order[i]]);
    return out;
  }

  // With what another search tried.
  Compiled finish(const Search* other = nullptr) {
    if (other) tried_.insert(tried_.end(), other->tried_.begin(), other->tried_.end());
    std::stable_sort(tried_.begin(), tried_.end(),
                     [](const Alternative& a, const Alternative& b) { return a.time_ns < b.time_ns; });
    best_.alternatives = std::move(tried_);
    return std::move(best_);
  }

 private:
  const Solved& solved_;
  const CompileOptions& options_;
  Choice choice_;
  Compiled best_;
  std::optional<double> best_in_full_ns_;  // where it was asked for
  double in_full_;
  static constexpr std::size_t kMostInstructions = 250000;  // of all programs that are tried: sorts have many
  std::size_t looked_at_ = 0;
  LongPasses common_;
  std::set<std::uint64_t> seen_;  // programs
  std::vector<Choice> built_;     // with what was asked of them
  std::vector<Alternative> tried_;
  std::vector<Choice> chosen_;  // for each of them
};

// Results of more than 128 rows stay in SBUF. What else is tried is quicker with some than with others: not for a
// little.
void try_kept_blocks(Search& search) {
  constexpr double kWorth = 0.96;
  if (search.best().spills.empty()) return;
  Choice tried = search.choice();
  tried.keeps_blocks = true;
  search.attempt(tried, "results of many rows kept in SBUF", kWorth, true);
  if (!search.choice().keeps_blocks) return;
  constexpr double kFirstWorth = 0.98;
  tried.region.rows_first = true;
  search.attempt(tried, "rows loaded before the matrices that they meet", kFirstWorth);
}

// Whether they are still worth it: DMAs turn what they load, which SBUF has as it is.
void try_without_kept_blocks(Search& search) {
  Choice tried = search.choice();
  if (!tried.keeps_blocks) return;
  tried.keeps_blocks = false;
  tried.region.rows_first = false;
  tried.region.loads_turned = true;
  search.attempt(tried, "results of many rows through HBM", 1, true);
}

// Products of several blocks of rows in one order. Passes of a loop go into each other without it too, by what the
// vendor's compiler moves: not for a little.
void try_side_by_side(Search& search) {
  constexpr double kWorth = 0.93;
  for (const int blocks : {2, 4}) {
    Choice tried = search.choice();
    const double worth = tried.region.products_beside > 1 ? 1 : kWorth;
    tried.region.products_beside = blocks;
    search.attempt(tried, fmt::format("products of {} blocks of rows side by side", blocks), worth, true);
  }
}

// Rows that are computed before many matrices meet them, such as queries with a norm, go through HBM. Regions have
// other numbers then.
void try_prepared_rows(Search& search) {
  constexpr double kWorth = 0.97;
  if (!search.best().prepares_rows) return;
  Choice tried = search.choice();
  tried.fuse.prepares_rows = false;
  search.attempt(tried, "rows of many matrices computed before", kWorth, true);
  tried.region.heads_together = 2;
  search.attempt(tried, "rows of many matrices computed before, several heads together", kWorth, true);
}

bool is_in_parts(const RegionReport& r, std::size_t tiling) {
  return std::find(r.in_parts.begin(), r.in_parts.end(), tiling) != r.in_parts.end();
}

std::size_t tiling_of(const Search& search, const RegionReport& r) {
  const auto chosen = search.choice().tiling.find(r.region);
  return chosen == search.choice().tiling.end() ? 0 : chosen->second;
}

// Whole rows are fewer instructions, which is worth some time.
double worth_of(const RegionReport& r, std::size_t from, std::size_t to) {
  constexpr double kWholeRows = 1.03;
  if (is_in_parts(r, from) == is_in_parts(r, to)) return 1;
  return is_in_parts(r, from) ? kWholeRows : 1 / kWholeRows;
}

// On how many partitions a row lies decides which engine has most to do: before engines are compared.
void try_parts(Search& search) {
  const std::vector<RegionReport> regions = search.best().regions;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    std::vector<std::size_t> others = regions[r].in_parts;
    const std::size_t whole = is_in_parts(regions[r], 0) ? others.size() : 0;  // the best tiling of whole rows
    if (!others.empty() && whole < regions[r].alternatives) others.push_back(whole);
    for (const std::size_t other : others) {
      const std::size_t now = tiling_of(search, regions[r]);
      if (other == now) continue;
      Choice tried = search.choice();
      tried.tiling[regions[r].region] = other;
      search.attempt(tried, fmt::format("tiling {} of group {} before others", other + 1, r + 1),
                     worth_of(regions[r], now, other));
    }
  }
}

void try_all(Search& search, const CompileOptions& options, const Graph& graph) {
  const bool products = has_products(graph);
  const bool weighs =
      std::any_of(graph.ops().begin(), graph.ops().end(), [](const Op& op) { return op.code == OpCode::exp; });
  const auto attempt = [&](const Candidate& c) {
    if (c.of_weights && !weighs) return;
    Choice tried = search.choice();
    c.change(tried.region);
    search.attempt(tried, c.what, c.worth);
  };
  if (products) try_prepared_rows(search);
  if (search.best().has_short_runs && search.best().stores_views) {
    Choice tried = search.choice();
    tried.fuse.short_runs = false;
    search.attempt(tried, "outputs put in order at the end", 1);
  }
  if (products) try_kept_blocks(search);
  if (products)
    std::for_each(std::begin(kProductCandidates), std::end(kProductCandidates), attempt);
  else if (turns_columns(search.best().program))
    std::for_each(std::begin(kTurnCandidates), std::end(kTurnCandidates), attempt);
  try_without_kept_blocks(search);
  if (search.best().has_short_runs) {
    Choice tried = search.choice();
    tried.fuse.short_runs = false;
    search.attempt(tried, "outputs put in order at the end", 0.97);
  }
  if (search.best().has_orders) {
    Choice tried = search.choice();
    tried.fuse.read_orders = false;
    search.attempt(tried, "results stored in their own order");
  }
  try_parts(search);
  if (search.best().regroups) std::for_each(std::begin(kCopyCandidates), std::end(kCopyCandidates), attempt);
  std::for_each(std::begin(kEngineCandidates), std::end(kEngineCandidates), attempt);
  // One region after the other takes the tiling with which the whole program is fastest.
  const std::vector<RegionReport> regions = search.best().regions;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    for (std::size_t other = regions[r].in_parts.empty() ? 1 : 0; other < regions[r].alternatives; ++other) {
      const std::size_t now = tiling_of(search, regions[r]);
      if (other == now) continue;
      const double worth = worth_of(regions[r], now, other);
      Choice tried = search.choice();
      tried.tiling[regions[r].region] = other;
      const bool has_terms = tried.region.terms_shared.was_asked() && !tried.region.terms_shared;
      search.attempt(tried, fmt::format("tiling {} of group {}", other + 1, r + 1), worth);
      if (!has_terms) continue;  // which one engine takes in other tilings than two
      tried.region.terms_shared = true;
      search.attempt(tried, fmt::format("tiling {} of group {}, sums of terms shared", other + 1, r + 1), worth);
    }
  }
  if (search.choice().region.terms_shared && !products)
    std::for_each(std::begin(kSharedCandidates), std::end(kSharedCandidates), attempt);
  if (products) try_side_by_side(search);
  if (waits_for_starts(search.best().program, arch(options.target), search.best().time_ns)) {
    Choice tried = search.choice();
    tried.started_by_software = true;
    search.attempt(tried, "DMAs started by software", kSoftwareWorth);
  }
}

// Programs with one row over many partitions go another way from the start: what is quickest beside it is not what is
// quickest with one row on one partition. Nothing when no row is spread.
std::optional<Search> search_spread(const Solved& solved, const CompileOptions& options, Choice choice,
                                    const Search& other) {
  const auto is_one = [](const RegionReport& r) { return r.rows == 1 && r.packed == 1 && r.loops.empty(); };
  const auto has_body = [](const Op& op) { return !op.bodies.empty(); };
  const std::vector<RegionReport>& regions = other.best().regions;
  const auto& ops = solved.cores[0].ops();
  if (std::none_of(regions.begin(), regions.end(), is_one) && std::none_of(ops.begin(), ops.end(), has_body)) return {};
  constexpr double kInFull = 4000;  // a step of a model has few passes of many loops
  std::optional<Search> out;
  for (const int how : {1, 2}) {
    choice.region.spread_rows = how;
    const char* what = how == 1 ? "one row over many partitions" : "one row over many partitions, in loops too";
    if (out) {
      out->attempt(choice, what);
      continue;
    }
    std::optional<Compiled> made = make(solved.cores, options, choice, *solved.plans);
    if (!made || other.has_seen(*made) || !errors_of(*made, options).empty()) continue;
    out.emplace(solved, options, choice, std::move(*made), what, kInFull);
  }
  if (out) try_all(*out, options, solved.cores[0]);
  return out;
}

// Of two searches, when one has software start DMAs and the other one does not, that is not what makes it quicker.
double worth_of(const Search& search, const Search& other) {
  return search.choice().started_by_software && !other.choice().started_by_software ? kSoftwareWorth : 1;
}

// Of short programs, which are timed as they are, the last choice goes by the time that the user sees: which engine
// computes what is open is left to the vendor's compiler, or said. Where that differs much from the time as written, so
// may the order of the best.
class AsSeen {
 public:
  AsSeen(const Solved& solved, const CompileOptions& options, Choice choice, Compiled best)
      : solved_(solved), options_(options), choice_(std::move(choice)), best_(std::move(best)) {}

  void run(const std::vector<Choice>& others) {
    constexpr double kSlower = 1.005, kMuch = 0.01;
    if (!is_short(best_.program) || !vendor::leaves_engines_open(best_.program, arch(options_.target))) return;
    const double as_written = best_.time_ns;
    const SeenTime seen = quick_time_as_seen(best_.launch());
    best_.time_ns = seen.ns;
    if (seen.is_balanced && seen.ns > kSlower * as_written) attempt(choice_, true);
    if (std::abs(best_.time_ns - as_written) <= kMuch * as_written) return;
    for (const Choice& other : others) attempt(other, choice_.says_engines);
  }
  std::pair<Choice, Compiled> finish() {
    if (!best_.alternatives.empty()) best_.alternatives.front().time_ns = best_.time_ns;
    return {std::move(choice_), std::move(best_)};
  }

 private:
  static bool is_short(const isa::Program& program) {
    if (!is_written_out(program)) return false;
    analysis::TripCounts trips;
    for (const isa::Loop& loop : program.loops) trips.push_back(loop.trip_count());
    return analysis::executed_instructions(program, program.body, trips) <= kTimedInFull;
  }
  void attempt(Choice choice, bool says_engines) {
    choice.says_engines = says_engines;
    std::optional<Compiled> made = make(solved_.cores, options_, choice, *solved_.plans);
    if (!made || !is_short(made->program) || !errors_of(*made, options_).empty()) return;
    made->time_ns = quick_time_as_seen(made->launch()).ns;
    if (made->time_ns >= best_.time_ns) return;
    made->refused = best_.refused;
    made->alternatives = std::move(best_.alternatives);
    best_ = std::move(*made);
    choice_ = std::move(choice);
  }

  const Solved& solved_;
  const CompileOptions& options_;
  Choice choice_;
  Compiled best_;
};

// Whether a program has a part that usually does not run.
bool has_unusual_part(const isa::Program& program) {
  return std::any_of(program.loops.begin(), program.loops.end(), [](const isa::Loop& l) { return l.usual == 0; });
}

}  // namespace

// What usually does not run is left out while they are compared; if the whole does not
// fit then, it takes part in it after all.
void improve(Solved& solved, const CompileOptions& options) {
  constexpr double kNear = 1.3;
  constexpr std::size_t kMost = 2;
  const bool unusual = has_unusual_part(solved.made.program);
  for (const bool whole : {false, true}) {
    if (!whole && !unusual) continue;
    Choice choice = solved.choice;
    choice.region.whole = whole;
    std::optional<Compiled> first = whole ? std::move(solved.made) : make(solved.cores, options, choice, *solved.plans);
    if (!first) continue;
    first->refused = std::max(first->refused, solved.made.refused);
    Search search(solved, options, choice, std::move(*first));
    try_all(search, options, solved.cores[0]);
    std::optional<Search> spread = search_spread(solved, options, choice, search);
    const bool is_quicker =
        spread && time_in_full_ns(spread->best()) < worth_of(*spread, search) * time_in_full_ns(search.best());
    choice = is_quicker ? spread->choice() : search.choice();
    const std::vector<Choice> others = (is_quicker ? *spread : search).next_best(kNear, kMost);
    choice.region.whole = true;
    Compiled best = is_quicker ? spread->finish(&search) : search.finish(spread ? &*spread : nullptr);
    if (whole) {
      AsSeen seen(solved, options, choice, std::move(best));
      seen.run(others);
      std::tie(choice, best) = seen.finish();
    }
    if (!whole) {
      std::optional<Compiled> all = make(solved.cores, options, choice, *solved.plans);
      if (!all || !errors_of(*all, options).empty()) continue;
      all->time_ns = best.time_ns;
      all->refused = best.refused;
      all->alternatives = std::move(best.alternatives);
      best = std::move(*all);
    }
    solved.choice = choice;
    solved.made = std::move(best);
    return;
  }
}

}  // namespace kiln::tensor
