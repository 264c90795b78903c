// LinkNet: the links between all ranks, which collectives of different groups share. Those of one rank follow each
// other anyway (dma_unit.h).
#pragma once

#include <map>

#include "kiln/arch/link_load.h"
#include "kiln/timing/server.h"

namespace kiln::timing {

class LinkNet {
 public:
  // Takes every link for its time (ns) from the first moment at or after `earliest` at which all of them are free for
  // so long; returns it.
  Time take(Time earliest, const std::map<Link, double>& times);

 private:
  std::map<Link, Server> links_;
};

}  // namespace kiln::timing
