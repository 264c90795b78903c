// Rules of sendrecv that only both cores together can break: the machine raises them when the cores meet.
#pragma once

namespace kiln::isa {

inline constexpr int kSendrecvRanks = 4, kSendrecvPeerTile = 6;

}  // namespace kiln::isa
