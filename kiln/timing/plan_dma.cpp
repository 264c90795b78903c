#include "kiln/timing/plan_dma.h"

#include <algorithm>
#include <cmath>

#include "kiln/isa/instructions/shared/collective.h"
#include "kiln/isa/instructions/shared/dma.h"

namespace kiln::timing {
using namespace isa;

namespace {

DgeMode dge_mode(const InstView& v, const Arch& arch) {
  if (const DgeMode asked = v.get_or(AttrType::DgeMode, DgeMode::unknown); asked != DgeMode::unknown) return asked;
  bool moves = false;
  for (std::size_t i = 0; i < v.row().params.size(); ++i) {
    const int p = static_cast<int>(i);
    if (v.is_vector_offset(p)) return DgeMode::swdge;
    moves |= v.is_tile(p) && v.dynamic(p);
  }
  if (arch.features.hwdge && fits_hardware_dge(v, arch)) return DgeMode::hwdge;
  // Prebuilt descriptors hold addresses that are known before the kernel runs.
  return moves && arch.features.hwdge ? DgeMode::swdge : DgeMode::none;
}

// The kernel names neither the descriptors nor the engine that starts it.
bool is_open(const InstView& v) {
  return v.get_or(AttrType::DgeMode, DgeMode::unknown) == DgeMode::unknown &&
         v.get_or(AttrType::Engine, Engine::unknown) == Engine::unknown;
}

const DgeSpec& dge_of(const DmaSpec& dma, DgeMode mode) {
  return mode == DgeMode::swdge ? dma.swdge : mode == DgeMode::hwdge ? dma.hwdge : dma.prebuilt;
}

bool reads_chip(const InstView& v) {
  for (std::size_t i = 0; i < v.row().params.size(); ++i) {
    const Arg& a = v.arg(static_cast<int>(i));
    if (!v.row().params[i].is_input() || (a.kind != Arg::Kind::access && a.kind != Arg::Kind::accesses)) continue;
    if (is_on_chip(v.program().tensors[v.program().accesses[a.index].tensor].memory)) return true;
  }
  return false;
}

// Which stream triggers it, through which unit.
void choose_stream(Op& op, const InstView& v, DgeMode mode, bool stores) {
  const Engine chosen = v.get_or(AttrType::Engine, Engine::unknown);
  if (mode == DgeMode::swdge) {
    op.stream = Stream::gpsimd;
    op.unit = kGpsimdUnit;
  } else if (chosen != Engine::unknown) {
    op.stream = stream_of(chosen);
    op.unit = chosen == Engine::scalar ? kScalarUnit : kSyncUnit;
  } else {
    op.stream = stores ? Stream::store : Stream::sync;
  }
}

// Partitions on the chip decide which engines take part.
double engines_of(const InstView& v, const Arch& arch) {
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < v.row().params.size(); ++i) {
    const int param = static_cast<int>(i);
    if (v.is_tile(param) && is_on_chip(v.memory(param))) rows = std::max(rows, v.partitions(param));
  }
  const double all = arch.dma.engines;
  if (rows == 0) return all;
  return std::min(all, std::ceil(static_cast<double>(rows) / arch.dma.partitions_per_engine));
}

void plan_transfer(Op& op, const CostQuery& q, const Cost& cost, const Merge& merge) {
  const DmaSpec& t = q.arch().dma;
  const double all = t.engines, engines = engines_of(q, q.arch());
  const double packets = std::max(1.0, cost.dma_descriptors), size = cost.dma_bytes / packets;
  double fixed = t.packet_ns / merge.count;
  if (op.hbm_written > 0 && size * merge.count < t.small_write_bytes) fixed += t.hbm_write_packet_ns / merge.count;
  const double each = packets / engines / cost.dma_rate;
  op.transfer = from_ns(each * (fixed + size / merge.starts / t.packet_bytes_per_ns));
  op.share = from_ns(each * (fixed + size / merge.starts / t.loaded_bytes_per_ns) * engines / all);
  op.hbm_share = from_ns((op.hbm_read + op.hbm_written) / merge.starts / q.arch().hbm_bytes_per_ns);
  op.spread = engines > 1 ? from_ns(t.spread_ns / merge.starts) : 0;
  if (!q.facts().collective) return;
  const LinkTime links = link_time(q);
  op.link = from_ns(links.busy_ns / merge.starts);
  // The slower of the two: bytes move on while others come.
  op.moved = op.transfer;
  op.steps = from_ns(links.steps_ns / merge.count);
  op.transfer = std::max(op.moved, op.link + op.steps);
}

}  // namespace

void plan_dma(Op& op, const CostQuery& q, const Merge& merge, int turn) {
  const Cost cost = q.row().semantics->cost(q);
  const DmaSpec& t = q.arch().dma;
  const bool stores = reads_chip(q);
  const bool spread = q.inst().left_open && is_open(q) && q.arch().features.hwdge;
  const DgeMode mode = spread && stores ? DgeMode::swdge : dge_mode(q, q.arch());
  const DgeSpec& dge = dge_of(t, mode);
  op.kind = Kind::transfer;
  op.dge = static_cast<std::uint8_t>(mode);
  choose_stream(op, q, mode, stores);
  if (spread && mode == DgeMode::hwdge && turn % 2 == 1) op.stream = Stream::scalar, op.unit = kScalarUnit;
  op.interval = from_ns(q.arch().sync.interval_ns / merge.count);
  op.trigger = from_ns(std::max(0.0, (dge.trigger_ns + t.trigger_gap_ns) / merge.count - t.trigger_gap_ns));
  op.latency = from_ns(dge.start_ns / merge.starts);
  const int dst = q.row().result;
  if (q.in_hbm(dst)) op.hbm_written = static_cast<double>(q.access(dst).count()) * size_bytes(q.dtype(dst));
  if (!stores) op.hbm_read = cost.dma_bytes;
  plan_transfer(op, q, cost, merge);
}

}  // namespace kiln::timing
