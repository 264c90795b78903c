// Rules of sendrecv that only both cores together can break: the machine raises them when the cores meet.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::isa {

inline constexpr Rule kSendrecvRanks{
    4, "send_to_rank and recv_from_rank are 0 or 1, and both name the other core of the pair",
    "pass 1 - nl.program_id(0) for both"};
inline constexpr Rule kSendrecvPeerTile{6,
                                        "what a core sends has the dtype and the shape of what its peer receives into",
                                        "give both cores the same dtype and shape for this pipe_id"};

}  // namespace kiln::isa
