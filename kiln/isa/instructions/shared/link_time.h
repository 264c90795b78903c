// What a collective takes on the links between ranks.
#pragma once

#include <map>

#include "kiln/arch/link_load.h"
#include "kiln/isa/replica_groups.h"
#include "kiln/isa/semantics/cost.h"

namespace kiln::isa {

// All groups of an instruction send at once; or those alone that have some of the ranks.
struct LinkTime {
  double sent_bytes;               // of a rank
  double busy_ns;                  // bytes over the busiest link
  double steps_ns;                 // steps x the latency of the farthest hop
  std::map<Link, double> links{};  // bytes over each link, in ns
};
LinkTime link_time(const CostQuery& q, RankList of_ranks = {});

}  // namespace kiln::isa
