#include "kernels/fft/host/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "kernels/fft/host/double_plan.h"
#include "kernels/fft/host/fft_rules.h"
#include "kernels/fft/host/finer_rows.h"
#include "kernels/fft/host/half_spectrum.h"
#include "kernels/fft/host/row_balance.h"
#include "kernels/fft/host/row_errors.h"
#include "kernels/fft/host/row_offset.h"
#include "kiln/check/check_program.h"
#include "kiln/num/kernels.h"
#include "kiln/views/timed_kernel.h"

namespace kiln::fft {
namespace {

std::string key_of(const TransformConfig& c) {
  return fmt::format("{} {} {} {} {:a} {}", c.n, c.rows, static_cast<int>(c.spectrum), c.positive, c.scale,
                     static_cast<int>(c.precision));
}

double time_ns(const std::vector<isa::Program>& programs) {
  for (const isa::Program& p : programs) {
    if (!check::check_program(p, arch(p.target)).ok()) return 1e300;
  }
  return views::time_kernel(programs, {.advice = false})->report.total_ns;
}

// Rows enough to tell the ways apart: what a plan costs to make does not grow with the batch. Some pairs at least.
constexpr std::int64_t kTrialNumbers = 1 << 20, kFewestRows = 12;

// Of x and y: with fewer, one trip through SBUF is over before threads have shared more than what handing over to each
// other, and fetching from each other's caches, takes them.
constexpr std::int64_t kNumbersForThreads = 1 << 18;

struct Choice {
  TransformConfig config;
  kernels::Way way;
};

// Half a spectrum of an odd length that would be a convolution may be faster as a whole one.
bool is_worth_whole(const TransformConfig& c, const std::vector<kernels::Way>& ways) {
  return c.spectrum != Spectrum::whole && c.n % 2 == 1 &&
         std::any_of(ways.begin(), ways.end(),
                     [](const kernels::Way& w) { return w.kind == kernels::Way::Kind::bluestein && !w.paired; });
}

std::vector<Choice> choices(const TransformConfig& c) {
  std::vector<Choice> found;
  const std::vector<kernels::Way> ways = kernels::ways(c);
  for (const kernels::Way& w : ways) found.push_back({c, w});
  if (!is_worth_whole(c, ways)) return found;
  TransformConfig whole = c;
  whole.spectrum = Spectrum::whole;
  whole.positive = c.positive || c.spectrum == Spectrum::inverse;
  for (const kernels::Way& w : kernels::ways(whole)) found.push_back({whole, w});
  return found;
}

std::int64_t trial_rows(const TransformConfig& c) { return std::max<std::int64_t>(kFewestRows, kTrialNumbers / c.n); }
std::vector<isa::Program> trial(const Choice& choice, Target target, bool pair, std::int64_t longer = 1) {
  TransformConfig c = choice.config;
  c.rows = std::min(c.rows, longer * trial_rows(c));
  return pair ? kernels::transform_pair(c, choice.way, target) : std::vector{kernels::transform(c, choice.way, target)};
}
double trial_ns(const Choice& choice, Target target, bool pair, std::int64_t longer = 1) {
  return time_ns(trial(choice, target, pair, longer));
}

// When the tensor engine has its first operands.
double first_product_ns(const std::vector<isa::Program>& programs) {
  const auto timed = views::time_kernel(programs, {.advice = false});
  const timing::Timeline& timeline = timed->run.timeline;
  for (const timing::Event& e : timeline.events) {
    if (timeline.lanes[e.lane].engine == Engine::tensor) return timing::to_ns(e.start);
  }
  return 0;
}

// With what nothing overlaps kept short, where that is sooner.
Choice finely(const Choice& whole, Target target, bool pair) {
  Choice fine = whole;
  fine.way.finely = whole.way.one_trip || (whole.way.kind == kernels::Way::Kind::two_factor &&
                                           whole.config.spectrum == kernels::Spectrum::forward);
  return fine.way.finely && trial_ns(fine, target, pair) < trial_ns(whole, target, pair) ? fine : whole;
}

// As many zeros as the tensor engine has time for before its first operands are there, where that is sooner.
Choice warmed_up(const Choice& cold, Target target, bool pair) {
  constexpr double kZerosMade = 300;  // ns
  constexpr std::int64_t kSome = 64;
  const Arch& a = arch(target);
  if (a.timing.matmul.warm_up_ns <= 0) return cold;
  const std::vector<isa::Program> programs = trial(cold, target, pair);
  const double column_ns = a.matmul_fp32_passes / (a.tensor.clock_ghz * a.timing.matmul.cold_rate),
               idle_ns = first_product_ns(programs) - kZerosMade;
  Choice best = cold;
  double least = time_ns(programs);
  const std::int64_t most = static_cast<std::int64_t>(idle_ns / column_ns) / kSome;
  for (const std::int64_t some :
       {most, most - 1, most - 2, most * 9 / 10, most * 8 / 10, most * 7 / 10, most * 6 / 10, most / 2}) {
    Choice warm = cold;
    warm.way.warm_up = std::max<std::int64_t>(0, some) * kSome;
    if (const double ns = trial_ns(warm, target, pair); ns < least) best = warm, least = ns;
  }
  return best;
}

// What software must be sooner by: it spares a transform a few microseconds once, and batches may be longer than
// trials.
constexpr double kSooner = 1.002;
// Ways that take little longer are compared on more rows, where there are more.
constexpr double kAlike = 1.15;
constexpr std::int64_t kLonger = 4;

// Ways are compared with their DMAs started by software, which nearly always is sooner; where gpsimd, which starts them
// then, has much else to do it is not.
Choice fastest(std::vector<Choice> some, Target target, bool pair) {
  std::vector<double> times;
  for (Choice& choice : some) {
    choice.way.by_software = true;
    times.push_back(trial_ns(choice, target, pair));
  }
  auto least = std::min_element(times.begin(), times.end());
  if (some.front().config.rows > trial_rows(some.front().config)) {
    // How they begin and end counts less for more rows.
    const double near = kAlike * *least;
    for (std::size_t i = 0; i < some.size(); ++i)
      times[i] = times[i] > near ? 1e300 : trial_ns(some[i], target, pair, kLonger);
    least = std::min_element(times.begin(), times.end());
  }
  const Choice found = some[static_cast<std::size_t>(least - times.begin())];
  Choice open = found;
  open.way.by_software = false;
  const bool is_open = trial_ns(open, target, pair) < kSooner * trial_ns(found, target, pair);
  return warmed_up(finely(is_open ? open : found, target, pair), target, pair);
}

bool is_finite(const float* values, std::int64_t count) {
  constexpr std::uint32_t kInfinity = 0x7f800000;
  return fast_kernels().largest(sizeof(float), values, 1, static_cast<std::size_t>(count)) < kInfinity;
}

// Imaginary parts of half a spectrum that do not count, the first number's and the middle one's: zeros of a table make
// nothing of them, but for NaN and infinity.
std::vector<std::int64_t> stray_places(const TransformConfig& c) {
  if (c.spectrum != Spectrum::inverse) return {};
  return c.n % 2 == 0 ? std::vector<std::int64_t>{1, c.n + 1} : std::vector<std::int64_t>{1};
}
bool has_stray_numbers(const TransformConfig& c, const float* x) {
  for (const std::int64_t i : stray_places(c)) {
    for (std::int64_t r = 0; r < c.rows; ++r) {
      if (!std::isfinite(x[r * c.x_width() + i])) return true;
    }
  }
  return false;
}
std::vector<float> without_stray_numbers(const TransformConfig& c, const float* x) {
  std::vector<float> out(x, x + c.rows * c.x_width());
  for (const std::int64_t i : stray_places(c)) {
    for (std::int64_t r = 0; r < c.rows; ++r) out[static_cast<std::size_t>(r * c.x_width() + i)] = 0;
  }
  return out;
}

struct Cache {
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const Plan>> plans;
  std::list<std::string> oldest_first;
};
Cache& cache() {
  static Cache c;
  return c;
}

backend::Call call_of(const TransformConfig& config) {
  return {.library = "FFT",
          .operation = config.spectrum == Spectrum::whole     ? "fft"
                       : config.spectrum == Spectrum::forward ? "rfft"
                                                              : "irfft",
          .key = key_of(config),
          .program = [config](Target t) { return Plan(config, t).program(t); },
          .arrays = {}};
}

}  // namespace

// Two cores share a transform as it is asked for: the way that one core takes where they can, so that they give the
// same bits, else the fastest that they can.
static Choice chosen_for_pair(std::vector<Choice> some, const TransformConfig& config, Target target) {
  const auto can_share = [&](const Choice& c) {
    return c.config.spectrum == config.spectrum && kernels::is_shareable(c.config, c.way);
  };
  if (arch(target).features.lnc2) {
    const Choice alone = fastest(some, target, false);
    if (can_share(alone)) return alone;
    std::erase_if(some, [&](const Choice& c) { return !can_share(c); });
    if (!some.empty()) return fastest(some, target, true);
  }
  raise(fft_rules::kTable, fft_rules::kPair,
        {.found = fmt::format("{} rows of {} on {}", config.rows, config.n, arch(target).name),
         .category = Category::not_yet});
}

Plan::Plan(const TransformConfig& config, Target target, Cores cores) : config_(config), computed_(config) {
  if (config.n < 1 || config.rows < 1)
    raise(fft_rules::kTable, fft_rules::kSizes, {.found = fmt::format("{} rows of {}", config.rows, config.n)});
  const std::vector<Choice> some = choices(config);
  if (some.empty())
    raise(fft_rules::kTable, fft_rules::kLength,
          {.found = fmt::format("n is {}", config.n), .operand = "n", .category = Category::not_yet});
  const Choice chosen = cores == Cores::pair ? chosen_for_pair(some, config, target) : fastest(some, target, false);
  computed_ = chosen.config, way_ = chosen.way;
  tables_ = kernels::transform_tables(computed_, way_);
  for (const kernels::Table& t : tables_) {
    if (t.rows <= kernels::kTile && t.dtype == DType::float32)
      known_.emplace_back(t.values.data(), static_cast<std::size_t>(t.rows), static_cast<std::size_t>(t.columns));
  }
}

std::string Plan::key() const { return key_of(config_); }

std::vector<backend::Array> Plan::arrays(const float* x, float* y) const {
  const auto array = [](std::string name, const float* data, std::int64_t rows, std::int64_t columns, DType dtype) {
    return backend::Array{std::move(name), const_cast<float*>(data), {rows, columns}, dtype};
  };
  std::vector<backend::Array> found = {array("x", x, computed_.rows, computed_.x_width(), DType::float32),
                                       array("y", y, computed_.rows, computed_.y_width(), DType::float32)};
  for (const kernels::Table& t : tables_) found.push_back(array(t.name, t.values.data(), t.rows, t.columns, t.dtype));
  return found;
}

void Plan::execute(const float* x, float* y, backend::Backend backend) const {
  backend::Call call = call_of(config_);
  // What was called is remembered longer than a plan may live.
  call.program = [computed = computed_, way = way_](Target t) { return kernels::transform(computed, way, t); };
  std::vector<float> whole_x, whole_y;
  const bool as_whole = computed_.spectrum != config_.spectrum;
  if (as_whole) {
    whole_x = to_whole(config_, x);
    whole_y.resize(static_cast<std::size_t>(computed_.rows * computed_.y_width()));
  }
  run(call, as_whole ? whole_x.data() : x, as_whole ? whole_y.data() : y, backend);
  if (as_whole) from_whole(config_, whole_y, y);
}

void Plan::run(backend::Call& call, const float* x, float* y, backend::Backend backend) const {
  std::vector<float> cleared;
  if (has_stray_numbers(computed_, x)) {
    cleared = without_stray_numbers(computed_, x);
    x = cleared.data();
  }
  const float* const given = x;
  const RowOffset offset(computed_, x);
  x = offset.x();
  std::optional<RowBalance> balance;
  if (way_.paired) balance.emplace(computed_, x);
  const bool is_short = way_.kind == kernels::Way::Kind::direct || way_.kind == kernels::Way::Kind::two_factor;
  call.is_fine_grained = is_short && computed_.rows * (computed_.x_width() + computed_.y_width()) < kNumbersForThreads;
  const float* computed = balance ? balance->x() : x;
  call.arrays = arrays(computed, y);
  backend::run(call, backend);
  std::vector<std::int64_t> inexact;
  if (are_looked_at(computed_)) {
    std::vector<Size> sizes = sizes_of(computed_, y);
    if (!are_finite(sizes) && keep_apart(call, backend)) sizes = sizes_of(computed_, y);
    inexact = inexact_rows(computed_, way_, computed, y, sizes);
  } else if (!is_finite(y, computed_.rows * computed_.y_width())) {
    keep_apart(call, backend);
  }
  if (balance) balance->undo(y);
  offset.add_to(y);
  compute_finer(computed_, inexact, given, y, backend);
}

// Rows share partitions, where zeros of a table times NaN or infinity are NaN: rows that are finite are computed again
// without those that are not. False: they are apart.
bool Plan::keep_apart(backend::Call& call, backend::Backend backend) const {
  const auto* x = static_cast<const float*>(call.arrays[0].data);
  auto* y = static_cast<float*>(call.arrays[1].data);
  const std::int64_t x_width = computed_.x_width(), y_width = computed_.y_width(), rows = computed_.rows;
  if (way_.kind == kernels::Way::Kind::direct || rows == 1) return false;
  std::vector<float> finite(x, x + rows * x_width), again(static_cast<std::size_t>(rows * y_width));
  std::vector<bool> is_good(static_cast<std::size_t>(rows));
  for (std::int64_t r = 0; r < rows; ++r) {
    is_good[static_cast<std::size_t>(r)] = is_finite(x + r * x_width, x_width);
    if (!is_good[static_cast<std::size_t>(r)]) std::fill_n(finite.begin() + r * x_width, x_width, 0.0f);
  }
  call.arrays[0].data = finite.data(), call.arrays[1].data = again.data();
  backend::run(call, backend);
  for (std::int64_t r = 0; r < rows; ++r) {
    if (is_good[static_cast<std::size_t>(r)]) std::copy_n(again.data() + r * y_width, y_width, y + r * y_width);
  }
  return true;
}

std::shared_ptr<const Plan> plan(const TransformConfig& config, Plan::Cores cores) {
  const Target target = backend::current_target();
  const std::string key =
      fmt::format("{} {} {}", arch(target).name, cores == Plan::Cores::pair ? "pair" : "one", key_of(config));
  {
    std::lock_guard lock(cache().mutex);
    const auto found = cache().plans.find(key);
    if (found != cache().plans.end()) return found->second;
  }
  auto made = std::make_shared<const Plan>(config, target, cores);
  std::lock_guard lock(cache().mutex);
  if (cache().plans.emplace(key, made).second) cache().oldest_first.push_back(key);
  if (cache().oldest_first.size() > kMostPlans) {
    cache().plans.erase(cache().oldest_first.front());
    cache().oldest_first.pop_front();
  }
  return made;
}

std::size_t plan_count() {
  std::lock_guard lock(cache().mutex);
  return cache().plans.size();
}

void clear_plans() {
  std::lock_guard lock(cache().mutex);
  cache().plans.clear();
  cache().oldest_first.clear();
  clear_double_plans();
}

void execute_pair(const TransformConfig& config, const float* x, float* y, backend::Backend backend) {
  const auto p = plan(config, Plan::Cores::pair);
  backend::Call call = call_of(config);
  const auto core = [config, way = p->way()](std::size_t i) {
    return [config, way, i](Target t) { return kernels::transform_pair(config, way, t)[i]; };
  };
  call.program = core(0), call.second = core(1);
  p->run(call, x, y, backend);
}

double pair_ns(const TransformConfig& config) {
  const auto p = plan(config, Plan::Cores::pair);
  const Target target = backend::current_target();
  return views::time_kernel(kernels::transform_pair(config, p->way(), target), {.advice = false})->report.total_ns;
}

void execute(const TransformConfig& config, const float* x, float* y, backend::Backend backend) {
  plan(config)->execute(x, y, backend);
}

void note_native(const TransformConfig& config) {
  backend::note_native([config] { return call_of(config); });
}

}  // namespace kiln::fft
