#include "kiln/tensor/lower/quick_time.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "kiln/analysis/trips.h"
#include "kiln/arch/arch.h"
#include "kiln/tensor/lower/as_timed.h"
#include "kiln/tensor/lower/assumed_trips.h"
#include "kiln/timing/lengths.h"

namespace kiln::tensor {
namespace {

constexpr double kBody = 150;     // a pass of a loop that is cut has hardly more, or its own loops are cut too
constexpr std::int64_t kFew = 2;  // passes that are left, at least
constexpr double kOfDma = 0.99;   // how much of the time DMAs are, where they take longer than all else
constexpr double kLong = 250;     // of a pass with so many instructions one is left

struct Cut {
  isa::LoopId loop;
  std::int64_t trips, left;     // passes, and those that are timed
  bool is_long;                 // a pass has many instructions
  double around = 1, kept = 1;  // passes of the cut loops around it: all, and those that are timed
};

class Cutter {
 public:
  explicit Cutter(const isa::Program& program) : program_(program) {
    for (const isa::Loop& loop : program.loops)
      trips_.push_back(analysis::known_trips(loop).value_or(loop.usual == isa::Loop::kUnsaid ? 1 : loop.usual));
  }
  std::vector<Cut> run(double in_full) {
    if (executed(program_.body) > in_full) walk(program_.body, 1, 1);
    return std::move(cuts_);
  }

 private:
  double executed(const isa::Block& block) const { return analysis::executed_instructions(program_, block, trips_); }
  void walk(const isa::Block& block, double around, double kept) {
    for (const isa::Node& node : block) {
      if (node.kind != isa::Node::Kind::loop) continue;
      const isa::Loop& loop = program_.loops[node.index];
      const double body = executed(loop.body);
      const std::int64_t trips = trips_[node.index];
      if (body * static_cast<double>(trips) < kBody || loop.kind != isa::Loop::Kind::static_for) continue;
      const auto fit = static_cast<std::int64_t>(kBody / std::max(1.0, body));
      const std::int64_t left = std::max(body > kLong ? 1 : kFew, fit);
      const bool cut = trips > 2 * left;
      if (cut) cuts_.push_back({node.index, trips, left, body > kLong, around, kept});
      const auto all = static_cast<double>(trips);
      if (body > 4 * kBody) walk(loop.body, around * all, kept * (cut ? static_cast<double>(left) : all));
    }
  }

  const isa::Program& program_;
  analysis::TripCounts trips_;
  std::vector<Cut> cuts_;
};

// The two programs of a pair have the same loops.
void shorten(std::vector<isa::Program>& programs, const Cut& cut, std::int64_t passes) {
  for (isa::Program& program : programs) {
    isa::Loop& loop = program.loops[cut.loop];
    loop.upper.value = loop.lower.value + loop.step * passes;
  }
}

// How long a program takes, and how long DMAs are under way.
struct Timed {
  double ns, dma_ns;
};

// The first timing says which order of instructions is the faster one; the others take it.
class Timer {
 public:
  // As written, or as seen: what is shorter is written out where the given programs are.
  Timer(const isa::Launch& launch, bool as_seen) : as_seen_(as_seen) {
    if (!as_seen) return;
    for (const isa::Program* program : launch.programs) written_out_.push_back(is_written_out(*program));
  }
  Timed operator()(const isa::Launch& launch) {
    if (!as_seen_) return time(launch);
    const AsTimed seen(launch, written_out_);
    is_balanced_ |= seen.is_balanced();
    return time(seen.launch());
  }
  // The same, and how long it takes with each of the cuts twice as long.
  struct All {
    Timed least;
    std::vector<Timed> more;
  };
  All operator()(std::vector<isa::Program>& programs, const std::vector<Cut>& cuts) {
    if (!as_seen_) {
      if (std::optional<All> all = together(isa::Launch::of(programs), cuts)) return std::move(*all);
    }
    All all{(*this)(isa::Launch::of(programs)), {}};
    for (const Cut& c : cuts) {
      shorten(programs, c, 2 * c.left);
      all.more.push_back((*this)(isa::Launch::of(programs)));
      shorten(programs, c, c.left);
    }
    return all;
  }
  bool is_balanced() const { return is_balanced_; }
  void take_order(std::optional<bool> reordered) { reorder_ = reordered; }
  std::optional<bool> is_reordered() const { return reorder_; }

 private:
  Timed time(const isa::Launch& launch) {
    const timing::Timeline t = timing::simulate(launch, arch(launch.target()), options_for(launch));
    if (!reorder_) reorder_ = t.reordered && !t.kept_order;
    return {timing::to_ns(t.total), timing::to_ns(t.dma_busy)};
  }
  std::optional<All> together(const isa::Launch& launch, const std::vector<Cut>& cuts) {
    std::vector<timing::MorePasses> longer;
    for (const Cut& c : cuts) longer.push_back({c.loop, 2 * c.left});
    const auto all = timing::lengths(launch, arch(launch.target()), options_for(launch), longer);
    if (!all) return {};
    reorder_ = all->reordered;
    All out{timed(all->as_written), {}};
    for (const timing::Length& l : all->longer) out.more.push_back(timed(l));
    return out;
  }
  static Timed timed(const timing::Length& l) { return {timing::to_ns(l.total), timing::to_ns(l.dma_busy)}; }
  timing::TimingOptions options_for(const isa::Launch& launch) const {
    timing::TimingOptions options{
        .trip_counts = assumed_trips(*launch.programs[0]), .reorder = reorder_, .keep_events = 0};
    options.pictures_memory = false;
    options.tries_program_order = !reorder_;
    return options;
  }

  bool as_seen_, is_balanced_ = false;
  std::vector<bool> written_out_;
  std::optional<bool> reorder_;
};

double time_of(const isa::Launch& launch, double in_full, Timer& time, LongPasses* common = nullptr) {
  const std::vector<Cut> cuts = Cutter(*launch.programs[0]).run(in_full);
  if (cuts.empty()) return time(launch).ns;
  const bool is_long = std::ranges::any_of(cuts, &Cut::is_long);
  if (common && is_long) time.take_order(common->are_reordered);
  std::vector<isa::Program> shorter;
  for (const isa::Program* program : launch.programs) shorter.push_back(*program);
  for (const Cut& c : cuts) shorten(shorter, c, c.left);
  const auto [least, longer] = time(shorter, cuts);
  if (common && is_long) common->are_reordered = time.is_reordered();
  Timed total = least;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const Cut& c = cuts[i];
    const Timed& more = longer[i];
    const double passes =
        c.around * static_cast<double>(c.trips - c.left) / (c.kept * static_cast<double>(c.left));  // for one of these
    total.ns += passes * std::max(0.0, more.ns - least.ns);
    total.dma_ns += passes * std::max(0.0, more.dma_ns - least.dma_ns);
  }
  // DMAs run ahead of the first passes, where engines do not wait for them yet. Of programs with the same DMAs the one
  // whose engines have less to do is the quicker one.
  return std::max(total.ns, kOfDma * total.dma_ns + (1 - kOfDma) * total.ns);
}

}  // namespace

double quick_time_ns(const isa::Launch& launch, double in_full, LongPasses* common) {
  Timer time(launch, false);
  return time_of(launch, in_full, time, common);
}

SeenTime quick_time_as_seen(const isa::Launch& launch, double in_full) {
  Timer time(launch, true);
  const double ns = time_of(launch, in_full, time);
  return {ns, time.is_balanced()};
}

}  // namespace kiln::tensor
