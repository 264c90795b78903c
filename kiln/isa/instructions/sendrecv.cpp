#include "kiln/isa/instructions/shared/sendrecv.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/instructions/shared/dma.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::sendrecv {
namespace {
using namespace args::sendrecv;

constexpr std::int64_t kGpsimdElements = 256;  // per partition: 1024 bytes of 32 bits, 512 of 16, 256 of 8

constexpr Rule kPair{1, "the kernel runs on a pair of cores (lnc 2)", "build the kernel for lnc 2"};
constexpr Rule kSameDtype{2, "src and dst have the same dtype", "convert with tensor_copy before or after"};
constexpr Rule kSameShape{3, "src and dst have the same shape", "slice or reshape one of them"};
constexpr Rule kGpsimdSize{
    5, "gpsimd_dma moves at most 1024 bytes per partition of a 32-bit dtype, 512 of a 16-bit, 256 of an 8-bit one",
    "use dma_engine.dma, or send in pieces of 256 elements"};

constexpr Rule kRules[] = {kPair, kSameDtype, kSameShape, kSendrecvRanks, kGpsimdSize, kSendrecvPeerTile};

bool on_gpsimd(const InstView& v) { return v.get<DmaEngine>(dma_engine) == DmaEngine::gpsimd_dma; }

Engine choose_engine(const InstView& v, const Arch&) { return on_gpsimd(v) ? Engine::gpsimd : Engine::dma; }

void check(Check& c) {
  const Access &from = c.access(src), &to = c.access(dst);
  c.require(kPair, c.program().lnc == 2, [&] { return fmt::format("lnc is {}", c.program().lnc); });
  c.require(kSameDtype, from.dtype == to.dtype,
            [&] { return fmt::format("src is {}, dst is {}", name(from.dtype), name(to.dtype)); });
  c.require(kSameShape,
            from.rank == to.rank && std::equal(from.dims, from.dims + from.rank, to.dims,
                                               [](const Dim& a, const Dim& b) { return a.count == b.count; }),
            [&] { return fmt::format("src is {}, dst is {}", shape_text(from), shape_text(to)); });
  const std::int64_t to_rank = c.integer(send_to_rank), from_rank = c.integer(recv_from_rank);
  c.require(kSendrecvRanks, (to_rank == 0 || to_rank == 1) && to_rank == from_rank,
            [&] { return fmt::format("send_to_rank is {}, recv_from_rank is {}", to_rank, from_rank); });
  c.require(kGpsimdSize, !on_gpsimd(c) || c.free_size(src) <= kGpsimdElements,
            [&] { return fmt::format("{} bytes per partition", c.free_size(src) * size_bytes(from.dtype)); });
}

// The machine exchanges the tiles when the cores meet (sim/pair.h); no core does it alone.
void run(Run&) { internal_error(__FILE__, __LINE__, "sendrecv runs on a pair of cores"); }

Cost cost(const CostQuery& q) {
  if (!on_gpsimd(q)) return dma_cost(q, q.access(dst), std::span(&q.access(src), 1));
  const double bytes = static_cast<double>(q.access(src).count()) * size_bytes(q.dtype(src));
  return {.cycles = q.stream(bytes / q.arch().dma.gpsimd_bytes_per_ns * q.spec().clock_ghz)};
}

// What neither core can see alone: that each names the other one, and that tiles fit.
void check_meeting(const InstView& ours, int core, const InstView& theirs, const Arch& arch) {
  const auto fail = [&](const Rule& rule, std::string found) {
    throw Error(broken(ours, arch, rule, {.found = std::move(found)}));
  };
  if (ours.integer(send_to_rank) != 1 - core)
    fail(kSendrecvRanks, fmt::format("core {} has send_to_rank {}", core, ours.integer(send_to_rank)));
  const Access &sent = ours.access(src), &received = theirs.access(dst);
  if (sent.dtype != received.dtype || shape_text(sent) != shape_text(received))
    fail(kSendrecvPeerTile, fmt::format("core {} sends {} {}, core {} receives {} {}", core, name(sent.dtype),
                                        shape_text(sent), 1 - core, name(received.dtype), shape_text(received)));
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "The cores that call with the same pipe_id exchange: my src becomes the peer's dst and the peer's src mine, "
        "bit for bit. Both sources are read before either destination is written.",
    .engine = choose_engine,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_none,
    .cost_text = "dma: as dma_copy; gpsimd_dma: 150 + bytes at 153 GB/s each way (the wait for the peer comes on top)",
    .facts = {.exchange = {.sent = src, .received = dst, .to = send_to_rank, .channel = pipe_id},
              .meets = true,
              .check_meeting = check_meeting},
};

}  // namespace kiln::isa::instruction::sendrecv
