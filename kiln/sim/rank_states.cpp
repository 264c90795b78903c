#include "kiln/sim/rank_states.h"

#include "kiln/sim/message.h"

namespace kiln::sim {
namespace {

void tell(MessageWriter& message, const Rank& rank) {
  message << rank.ended << std::ssize(rank.stops) << rank.sends_written << rank.shares_tensors;
  for (const Stop& s : rank.stops) {
    message << s.inst - s.program->instructions.data() << std::ssize(s.pass);
    for (const isa::LoopValue& loop : s.pass) message << loop.loop << loop.value;
  }
}

void learn(MessageReader& message, const isa::Launch& launch, Rank& rank) {
  rank.ended = message.next();
  rank.stops.resize(message.next());
  rank.sends_written = message.next();
  rank.shares_tensors = message.next();
  for (std::size_t core = 0; core < rank.stops.size(); ++core) {
    const isa::Program& program = launch.program(rank.common.rank, static_cast<int>(core));
    isa::Pass pass;
    const isa::Instruction& inst = program.instructions.at(message.next());
    for (std::int64_t loops = message.next(); loops > 0; --loops) {
      const auto loop = static_cast<isa::LoopId>(message.next());
      pass.push_back({loop, message.next()});
    }
    rank.stops[core] = {&program, &inst, std::move(pass)};
  }
}

}  // namespace

bool share_states(Processes& processes, const isa::Launch& launch, const std::vector<Rank*>& ranks, bool moved) {
  MessageWriter own;
  own << moved;
  for (const Rank* rank : ranks) {
    if (rank->is_here()) tell(own, *rank);
  }
  const std::vector<std::string> all = all_say(processes, own.text());
  bool any = false;
  std::vector<MessageReader> readers(all.begin(), all.end());
  for (MessageReader& reader : readers) any |= reader.next() != 0;
  for (Rank* rank : ranks) {
    if (!rank->is_here()) learn(readers[rank->process], launch, *rank);
  }
  return any;
}

}  // namespace kiln::sim
