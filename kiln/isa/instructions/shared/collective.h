// What the functions of nki.collectives share: rules, what moves, and what it costs.
#pragma once

#include <map>

#include "kiln/arch/link_load.h"
#include "kiln/base/rule.h"
#include "kiln/isa/instructions/shared/link_time.h"
#include "kiln/isa/replica_groups.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/gathering.h"

namespace kiln::isa {

inline constexpr Rule kAsMany{1, "there are as many sources as destinations, at least one",
                              "pass one dst for each src"};
inline constexpr Rule kOneMemory{2, "all tensors of a collective are in HBM, or all are in SBUF",
                                 "copy some of them with dma_copy"};
inline constexpr Rule kCoalescing{3, "several tensors at once are in HBM",
                                  "call it once for each tensor, or keep them in HBM"};
inline constexpr Rule kOneTensor{2, "it takes exactly one tensor", "call it once for each tensor"};
inline constexpr Rule kOnePerChannel{3, "it takes one tensor for each channel", "call it once for each tensor"};
inline constexpr Rule kSameDtype{4, "src and dst have the same dtype", "convert with tensor_copy before or after"};
inline constexpr Rule kReplicaGroups{
    5, "a replica group names ranks from 0 on, each of them once, and no list is empty", "list each rank in one group"};
inline constexpr Rule kSourceTargetPairs{
    4, "a pair is a source and a target rank from 0 on, and each rank is a source once and a target once at most",
    "list each rank in at most two pairs, in one as the source"};
inline constexpr Rule kCollectivePriority{6, "priority is 0 to 3, and exists from gen4 on", "leave priority out"};
inline constexpr Rule kCallersTensors{
    7, "the vendor's compiler refuses collectives on arguments and results of the kernel",
    "copy with dma_copy from or to a tensor of the kernel's own in shared HBM, with a name", Mark::external};

inline constexpr Rule kCollectiveOperator{9, "op is add, minimum or maximum",
                                          "reduce in another way after an all_gather"};

// The number is that of the function.
inline constexpr RuleWords kReducesFloats{
    "ranks reduce in float32, which holds integers up to 2^24; the vendor's compiler refuses 32-bit integers",
    "convert to float32 before, or gather the integers and reduce them on the core", Mark::external};

// Shapes of groups that a server's runtime knows; the numbers are those of the function.
inline constexpr RuleWords kServerSizes{
    "of one server a list has as many ranks as its runtime supports: 1, 2, 8, 16 or 32 on trn1, a power of two on trn2",
    "make groups of so many ranks of a server, and let ranks that have nothing to add bring zeros", Mark::external};
inline constexpr RuleWords kServerPlaces{"a list over several servers has ranks at the same places of each",
                                         "list the same ranks of every server, counted from its first"};

// Parameter positions.
struct CollectiveParams {
  std::span<const int> sources;  // lists of the same length
  int destinations, groups, priority;
  int without = 0;  // how many of R2 and R3 it lacks: a function for HBM alone needs no rule about memories
};

// Rules that count on from there.
constexpr Rule earlier(Rule rule, int without) {
  rule.number -= without;
  return rule;
}

// The rules R1 to R7, but for that about several tensors, which has one of three forms.
void check_collective(Check& c, const CollectiveParams& params);
void check_coalescing(Check& c, int tensors);
void check_one_tensor(Check& c, int tensors);
// Of source and destination tile by tile: their shape.
bool same_shapes(const Access& a, const Access& b);
// The dimension `dim` of `large` is n times that of `small`, and the others agree.
bool is_multiple(const Access& large, const Access& small, std::int64_t dim, std::int64_t n);
void check_operator(Check& c, int op);
// 32-bit integers among `sources`, which are reduced.
void check_reduced(Check& c, int sources, const Rule& rule);
// Ranks in each list; 0 when the lists differ or there is none.
std::int64_t group_size(const InstView& inst, int groups);

// Whether lists of ranks are replica groups, or pairs of a source and a target.
bool are_replica_groups(const InstView& inst, int groups);
bool are_pairs(const InstView& inst, int groups);

// The devices of a list, by how many of their ranks it has.
std::map<std::int64_t, std::int64_t> devices_of(const Check& c, RankList list);
// Whether a list has all ranks of every device that it has one of.
bool has_whole_devices(const Check& c, RankList list);

// The two rules about what a list has of each server; nothing is known where a switch joins them.
struct ServerRules {
  Rule sizes, places;
};
constexpr ServerRules server_rules(int first) { return {{first, kServerSizes}, {first + 1, kServerPlaces}}; }
void check_servers(Check& c, int groups, const ServerRules& rules);

// Channels: R10 of the functions that have them.
inline constexpr Rule kChannels{
    10, "channel_ids count from 0: up to 2 channels, up to 4 when the group spans all devices of a node",
    "pass channel_ids=[0], or [0, 1], and one list of tensors for each"};
inline constexpr int kMostChannels = 4;
void check_channels(Check& c, int srcs, int groups, int channel_ids);

// Tensors by channel: of `sources` there is at most one for each channel, in the shape that `shape` asks of dst.
void check_by_channel(Check& c, int sources, int dsts, int channel_ids, const Rule& shape);

// One hop to the next rank of a ring.
Collective::Traffic to_the_neighbour(int ranks, double bytes);

// Sizes in a tensor: R7 to R9 of the functions that end with _v.
inline constexpr Rule kFlatTensor{7, "the elements of src and dst follow each other in memory",
                                  "copy the elements to a tensor of their own"};
inline constexpr Rule kMetadata{
    8, "metadata_tensor is uint32 (rows, ranks) in HBM or (1, rows, ranks) in SBUF, of 3 rows, or 4 with has_rdispls",
    "rows are send_counts, send_displs, recv_counts, and recv_displs; columns are the ranks of the group"};
inline constexpr Rule kPartsFit{9, "what is sent lies in src, and what arrives fits its place in dst",
                                "make dst ranks x largest part, and look at rows 0 and 1 of metadata_tensor"};
struct SizedParams {
  int srcs, dsts, groups, metadata, recv_counts_known, has_rdispls;
};
void check_sizes(Check& c, const SizedParams& params);
// The place of part `from` in a destination of `size` elements.
struct Part {
  std::int64_t count, from_element;
};
Part sent_part(const Gathering& g, int sender, const SizedParams& params, int column);
// Moves a part and writes recv_counts.
void move_part(const Gathering& g, int sender, int receiver, const Part& part, const SizedParams& params);

Cost collective_cost(const CostQuery& q);

// No core does it alone: the machine runs `exchange` when the ranks are there (sim/ranks.h).
void run_collective(Run& r);

}  // namespace kiln::isa
