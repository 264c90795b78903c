#include "kiln/sim/far_carrier.h"

#include <algorithm>
#include <set>

namespace kiln::sim {
using namespace isa;
namespace {

std::span<std::byte> elements(const Parcel& p, std::int64_t first, std::int64_t count) {
  const std::int64_t size = size_bytes(p.dtype);
  return {p.data + first * size, static_cast<std::size_t>(count * size)};
}

std::span<std::byte> shadows(const Parcel& p, std::int64_t first, std::int64_t count) {
  return std::as_writable_bytes(std::span(p.shadow + first, count));
}

}  // namespace

FarCarrier::FarCarrier(Processes& processes, std::vector<int> homes, bool with_shadows, const Kernels& kernels,
                       Scratch& scratch)
    : self_(processes.self()),
      homes_(std::move(homes)),
      with_shadows_(with_shadows),
      kernels_(kernels),
      wire_(processes),
      scratch_(scratch),
      stream_(processes, scratch, kernels) {
  scratch_.reset();
}

void FarCarrier::send(int to, const Parcel& from, std::int64_t first, std::int64_t count) {
  wire_.send(to, elements(from, first, count));
  if (from.shadow) wire_.send(to, shadows(from, first, count));
}

void FarCarrier::receive(int from, const Parcel& to, std::int64_t first, std::int64_t count) {
  wire_.receive(from, elements(to, first, count));
  if (to.shadow) wire_.receive(from, shadows(to, first, count));
}

void FarCarrier::move(const Gathering& g, const Spot& from, const Spot& to, std::int64_t count) {
  if (is_here(from) && is_here(to)) return copy_elements(g.parcel(from), from.element, g.parcel(to), to.element, count);
  if (is_here(from)) send(homes_[to.member], g.parcel(from), from.element, count);
  if (is_here(to)) receive(homes_[from.member], g.parcel(to), to.element, count);
}

// Where all sources are, or all targets, is the process that computes; else each one with a source or a target
// computes a part, so that every element travels twice.
std::vector<FarCarrier::Part> FarCarrier::parts_of(const std::vector<Spot>& from, const std::vector<Spot>& to,
                                                   std::int64_t count) const {
  std::set<int> sources, targets;
  for (const Spot& s : from) sources.insert(homes_[s.member]);
  for (const Spot& s : to) targets.insert(homes_[s.member]);
  if (sources.size() == 1) return {{*sources.begin(), 0, count}};
  if (targets.size() == 1) return {{*targets.begin(), 0, count}};
  sources.merge(targets);
  std::vector<Part> parts;
  const auto all = std::ssize(sources);
  for (const int process : sources) {
    const std::int64_t part = std::ssize(parts), first = count * part / all;
    parts.push_back({process, first, count * (part + 1) / all - first});
  }
  return parts;
}

Parcel FarCarrier::make_scratch(DType dtype, std::int64_t count) {
  Parcel parcel{nullptr, count, dtype, nullptr};
  parcel.data = scratch_.take(static_cast<std::size_t>(count * size_bytes(dtype)));
  if (with_shadows_)
    parcel.shadow = reinterpret_cast<Shadow*>(scratch_.take(static_cast<std::size_t>(count) * sizeof(Shadow)));
  return parcel;
}

void FarCarrier::reduce(const Gathering& g, AluOp op, const std::vector<Spot>& from, const std::vector<Spot>& to,
                        std::int64_t count) {
  for (const Part& part : parts_of(from, to, count)) {
    if (part.count == 0) continue;
    FarReduction& r = reductions_.emplace_back(reduction_of(g, op, from, to, part));
    if (r.is_streamed) {
      stream_.begin(r);
    } else {
      begin(r);
    }
  }
}

FarReduction FarCarrier::reduction_of(const Gathering& g, AluOp op, const std::vector<Spot>& from,
                                      const std::vector<Spot>& to, const Part& part) {
  FarReduction r{op, g.parcel(from[0]).dtype, part.process, part.count, {}, {}, {}, {}};
  r.is_streamed = !with_shadows_ && SliceStream::is_worth_it(r.dtype, r.count);
  for (const Spot& s : from) {
    r.from.push_back(from_on(g.parcel(s), s.element + part.first, part.count));
    r.from_homes.push_back(homes_[s.member]);
  }
  for (const Spot& s : to) {
    r.to.push_back(from_on(g.parcel(s), s.element + part.first, part.count));
    r.to_homes.push_back(homes_[s.member]);
  }
  if (r.process == self_ && !r.target_of(self_)) {  // the result is on its way only
    r.to.push_back(make_scratch(r.dtype, r.count));
    r.to_homes.push_back(self_);
  }
  return r;
}

// Sources go to the process that computes.
void FarCarrier::begin(FarReduction& r) {
  for (std::size_t i = 0; i < r.from.size(); ++i) {
    const bool here = r.from_homes[i] == self_;
    if (r.process == self_ && !here) {
      r.from[i] = make_scratch(r.dtype, r.count);
      receive(r.from_homes[i], r.from[i], 0, r.count);
    } else if (r.process != self_ && here) {
      send(r.process, r.from[i], 0, r.count);
    }
  }
}

// A result goes once to each process that has a target.
void FarCarrier::hand_out(const FarReduction& r) {
  const Parcel* const own = r.target_of(self_);
  if (r.process != self_) {
    if (own) receive(r.process, *own, 0, r.count);
    return;
  }
  for (const int process : r.receivers()) send(process, *own, 0, r.count);
}

void FarCarrier::mirror(std::vector<Gathering::Member>& members, int param) {
  std::set<int> processes(homes_.begin(), homes_.end());
  for (std::size_t m = 0; m < members.size(); ++m) {
    for (Parcel& parcel : members[m].parcels[param]) {
      if (homes_[m] == self_) {
        for (const int p : processes) {
          if (p != self_) send(p, parcel, 0, parcel.count);
        }
      } else {
        parcel = make_scratch(parcel.dtype, parcel.count);
        receive(homes_[m], parcel, 0, parcel.count);
      }
    }
  }
  wire_.wait();
}

void FarCarrier::finish() {
  wire_.begin();
  for (const bool mine : {true, false}) {  // no process waits for a result before it has sent its own
    for (const FarReduction& r : reductions_) {
      if (r.is_streamed && mine == (r.process == self_)) stream_.finish(r);
    }
  }
  wire_.wait();
  for (const FarReduction& r : reductions_) {
    if (!r.is_streamed && r.process == self_) compute_slice(r, self_, r.from, 0, kernels_);
  }
  for (const FarReduction& r : reductions_) {
    if (!r.is_streamed) hand_out(r);
  }
  wire_.wait();
  for (const FarReduction& r : reductions_) {
    if (r.process != self_) spread_result(r, self_);
  }
}

}  // namespace kiln::sim
