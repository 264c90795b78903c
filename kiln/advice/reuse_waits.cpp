#include "kiln/advice/reuse_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kiln/base/place_index.h"
#include "kiln/base/quantity_text.h"

namespace kiln::advice {
namespace {

constexpr double kLeastShare = 0.05;  // of the time lost, for a line to be named
constexpr int kBuffers[] = {2, 4};    // that are tried
constexpr double kMuchMore = 1.1;     // gain of more buffers over fewer, to ask for more

// Lines with the time lost because of them, in order of appearance.
class Losses {
 public:
  void add(const Place& place, double ns) {
    const std::size_t at = index_(place.file, place.line);
    if (at == losses_.size()) losses_.emplace_back(place, 0);
    losses_[at].second += ns;
  }
  // Lines that matter: of very many small ones, all.
  void append_to(Places& places, double total_ns) const {
    const double least = std::min(kLeastShare, 0.5 / static_cast<double>(losses_.size())) * total_ns;
    for (const auto& [place, ns] : losses_) {
      if (ns >= least) places.add(place);
    }
  }

 private:
  std::vector<std::pair<Place, double>> losses_;
  PlaceIndex index_;
};

// Bytes per partition that one more copy of what an access touches takes.
std::int64_t bytes_of(const isa::Program& program, const isa::Access& access) {
  const std::int64_t all = program.tensors[access.tensor].bytes_per_partition();
  if (access.offset.term_count || access.dynamic != isa::kNone) return all;
  return std::min(all, access.row_size() * size_bytes(access.dtype));
}

// Tensors of a core that writers wait for, with the bytes of one more copy.
using Waited = std::map<isa::TensorId, std::int64_t>;

struct ReuseWaits {
  double lost_ns = 0;      // that writers stood ready for
  std::int64_t count = 0;  // writers that did
  std::vector<Waited> cores;
  Losses waiting, in_the_way;
};

// In place it waits for what it reads.
bool reads(const isa::InstView& inst, isa::TensorId tensor) {
  for (int p = 0; p < static_cast<int>(inst.row().params.size()); ++p) {
    const isa::ParamInfo& param = inst.row().params[p];
    if (param.is_input() && !param.is_output() && inst.is_tile(p) && inst.access(p).tensor == tensor) return true;
  }
  return false;
}

// False when the instruction writes to no tile in `memory` anew.
bool add_tiles(Waited& waited, const isa::InstView& inst, Memory memory) {
  bool any = false;
  for (int p = 0; p < static_cast<int>(inst.row().params.size()); ++p) {
    if (!inst.row().params[p].is_output() || !inst.is_tile(p) || inst.memory(p) != memory) continue;
    if (reads(inst, inst.access(p).tensor)) continue;
    std::int64_t& bytes = waited[inst.access(p).tensor];
    bytes = std::max(bytes, bytes_of(inst.program(), inst.access(p)));
    any = true;
  }
  return any;
}

ReuseWaits find_reuse_waits(const TimedRun& run, Memory memory) {
  ReuseWaits found;
  found.cores.resize(run.cores().size());
  for (const timing::Event& event : run.timeline.events) {
    const bool reuse = event.wait == timing::Wait::overwrite || event.wait == timing::Wait::rewrite;
    if (!reuse || event.start == event.issue) continue;
    if (!add_tiles(found.cores[run.timeline.lanes[event.lane].core], run.instruction_of(event), memory)) continue;
    const double lost = timing::to_ns(event.start - event.issue) * static_cast<double>(event.repeats);
    found.lost_ns += lost;
    found.count += event.repeats;
    found.waiting.add(place_of(run, event), lost);
    if (event.because < run.timeline.events.size())
      found.in_the_way.add(place_of(run, run.timeline.events[event.because]), lost);
  }
  return found;
}

std::int64_t room(const TimedRun& run, int core, Memory memory) {
  const bool psum = memory == Memory::psum;
  std::int64_t peak = 0;
  for (const timing::MemorySample& sample : run.timeline.memory) {
    if (sample.core == core) peak = std::max(peak, psum ? sample.psum_bytes : sample.sbuf_bytes);
  }
  return (psum ? run.arch.psum_partition_bytes : run.arch.sbuf_partition_bytes - run.arch.sbuf_reserved_bytes) - peak;
}

// The tensors for which `buffers` - 1 more copies fit.
CoreChange fitting(const Waited& waited, std::int64_t room, int buffers) {
  CoreChange change;
  for (const auto& [tensor, bytes] : waited) {
    if (bytes * (buffers - 1) > room) continue;
    room -= bytes * (buffers - 1);
    change.in_turn.push_back(tensor);
  }
  return change;
}

// The gain with so many buffers for all tiles that have room for them; negative when none has.
double gain_with(const Evidence& e, const ReuseWaits& waits, Memory memory, int buffers) {
  Change change;
  change.buffers = buffers;
  bool any = false;
  for (std::size_t core = 0; core < waits.cores.size(); ++core) {
    change.cores.push_back(fitting(waits.cores[core], room(e.run, static_cast<int>(core), memory), buffers));
    any |= !change.cores.back().in_turn.empty();
  }
  return any ? e.gain_with(change) : -1;
}

}  // namespace

std::optional<Advice> advise_more_buffers(const Evidence& e, Memory memory, const ReuseWords& words) {
  const ReuseWaits waits = find_reuse_waits(e.run, memory);
  if (waits.lost_ns < kLeastAdvice * e.total_ns()) return {};
  double gain = 0;
  int buffers = 0;
  for (const int tried : kBuffers) {
    const double with = gain_with(e, waits, memory, tried);
    if (with > kMuchMore * gain) gain = with, buffers = tried;
  }
  if (buffers == 0) return {};
  Places places;
  waits.waiting.append_to(places, waits.lost_ns);
  waits.in_the_way.append_to(places, waits.lost_ns);
  const bool two = buffers == 2;
  return Advice{.found = fmt::format("{} {} times, {} in all, for {}", words.who, waits.count, time_text(waits.lost_ns),
                                     words.what),
                .remedy = fmt::format("use {} {}s in turn, so that one is filled while another is used",
                                      two ? "two" : "four", words.tile),
                .places = std::move(places).take(),
                .gain_ns = gain,
                .estimate = e.estimate(two ? "two tiles in turn for each that is waited for and fits twice"
                                           : "four tiles in turn for each that is waited for and fits four times")};
}

}  // namespace kiln::advice
