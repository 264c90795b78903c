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

// The same elements from `first` on.
Parcel from_on(const Parcel& p, std::int64_t first, std::int64_t count) {
  return {p.data ? p.data + first * size_bytes(p.dtype) : nullptr, count, p.dtype,
          p.shadow ? p.shadow + first : nullptr};
}

}  // namespace

FarCarrier::FarCarrier(Processes& processes, std::vector<int> homes, bool with_shadows, const Kernels& kernels,
                       Scratch& scratch)
    : self_(processes.self()),
      homes_(std::move(homes)),
      with_shadows_(with_shadows),
      kernels_(kernels),
      wire_(processes),
      scratch_(scratch) {
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
    if (part.count > 0) begin(g, op, from, to, part);
  }
}

// Sources go to the process that computes.
void FarCarrier::begin(const Gathering& g, AluOp op, const std::vector<Spot>& from, const std::vector<Spot>& to,
                       const Part& part) {
  Reduction r{op, g.parcel(from[0]).dtype, part, {}, {}, {}};
  for (const Spot& s : from) {
    if (part.process == self_ && !is_here(s)) {
      r.from.push_back(make_scratch(r.dtype, part.count));
      receive(homes_[s.member], r.from.back(), 0, part.count);
    } else {
      r.from.push_back(from_on(g.parcel(s), s.element + part.first, part.count));
      if (part.process != self_ && is_here(s)) send(part.process, r.from.back(), 0, part.count);
    }
  }
  for (const Spot& s : to) {
    r.to.push_back(from_on(g.parcel(s), s.element + part.first, part.count));
    r.to_homes.push_back(homes_[s.member]);
  }
  reductions_.push_back(std::move(r));
}

void FarCarrier::compute(Reduction& r) {
  std::vector<const std::byte*> sources;
  std::vector<const Shadow*> source_shadows;
  for (const Parcel& p : r.from) {
    sources.push_back(p.data);
    source_shadows.push_back(p.shadow);
  }
  std::vector<Parcel> here;
  for (std::size_t i = 0; i < r.to.size(); ++i) {
    if (r.to_homes[i] == self_) here.push_back(r.to[i]);
  }
  if (here.empty()) {  // no target of this process: the result is on its way only
    here.push_back(make_scratch(r.dtype, r.part.count));
    r.to.push_back(here[0]);
    r.to_homes.push_back(self_);
  }
  std::vector<std::byte*> targets;
  std::vector<Shadow*> target_shadows;
  for (const Parcel& p : here) {
    targets.push_back(p.data);
    if (p.shadow) target_shadows.push_back(p.shadow);
  }
  reduce_elements(r.op, r.dtype, sources, targets, r.part.count, kernels_);
  if (!target_shadows.empty()) reduce_shadows(source_shadows, target_shadows, r.part.count);
}

// A result goes once to each process that has a target.
void FarCarrier::hand_out(const Reduction& r) {
  const auto own = std::ranges::find(r.to_homes, self_);
  if (r.part.process != self_) {
    if (own != r.to_homes.end()) receive(r.part.process, r.to[own - r.to_homes.begin()], 0, r.part.count);
    return;
  }
  for (const int process : std::set<int>(r.to_homes.begin(), r.to_homes.end())) {
    if (process != self_) send(process, r.to[own - r.to_homes.begin()], 0, r.part.count);
  }
}

// Further targets of this process get what the first one got.
void FarCarrier::spread(const Reduction& r) const {
  const Parcel* first = nullptr;
  for (std::size_t i = 0; i < r.to.size(); ++i) {
    if (r.to_homes[i] != self_) continue;
    if (first) copy_elements(*first, 0, r.to[i], 0, r.part.count);
    if (!first) first = &r.to[i];
  }
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
  wire_.wait();
  for (Reduction& r : reductions_) {
    if (r.part.process == self_) compute(r);
  }
  for (const Reduction& r : reductions_) hand_out(r);
  wire_.wait();
  for (const Reduction& r : reductions_) {
    if (r.part.process != self_) spread(r);
  }
}

}  // namespace kiln::sim
