#include "kiln/sim/slice_stream.h"

#include <algorithm>

namespace kiln::sim {
using namespace isa;
namespace {

// Slices of eight sources stay in the caches; smaller ones cost more messages than they save.
constexpr std::int64_t kSliceBytes = 256 << 10;

template <class Work>
void in_slices(const FarReduction& r, const Work& work) {
  const std::int64_t slice = kSliceBytes / size_bytes(r.dtype);
  for (std::int64_t first = 0; first < r.count; first += slice) work(first, std::min(slice, r.count - first));
}

}  // namespace

bool SliceStream::is_worth_it(DType dtype, std::int64_t count) { return count * size_bytes(dtype) >= 2 * kSliceBytes; }

void SliceStream::begin(const FarReduction& r) {
  if (r.process == processes_.self()) return;
  in_slices(r, [&](std::int64_t first, std::int64_t count) {
    for (const Parcel& source : r.from) {
      if (source.data) processes_.send(r.process, bytes_of(from_on(source, first, count)), Channel::sources);
    }
  });
}

void SliceStream::finish(const FarReduction& r) {
  const int self = processes_.self();
  if (r.process == self) return compute_slices(r);
  const Parcel* const target = r.target_of(self);
  if (!target) return;
  in_slices(r, [&](std::int64_t first, std::int64_t count) {
    processes_.receive(r.process, bytes_of(from_on(*target, first, count)), Channel::results);
  });
}

void SliceStream::compute_slices(const FarReduction& r) {
  while (arriving_.size() < r.from.size()) arriving_.push_back(scratch_.take(kSliceBytes));
  const std::vector<int> receivers = r.receivers();
  in_slices(r, [&](std::int64_t first, std::int64_t count) {
    std::vector<Parcel> sources;
    for (std::size_t i = 0; i < r.from.size(); ++i) {
      sources.push_back(from_on(r.from[i], first, count));
      if (sources.back().data) continue;
      sources.back().data = arriving_[i];
      processes_.receive(r.from_homes[i], bytes_of(sources.back()), Channel::sources);
    }
    processes_.wait_for_received();
    compute_slice(r, r.process, sources, first, kernels_);
    for (const int process : receivers)
      processes_.send(process, bytes_of(from_on(*r.target_of(r.process), first, count)), Channel::results);
  });
}

}  // namespace kiln::sim
