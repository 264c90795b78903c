#include <fmt/format.h>

#include "kiln/isa/text/text_limits.h"
#include "kiln/isa/verify/verifier.h"

namespace kiln::isa {

bool Verifier::lay_out() {
  instructions_.assign(program_.instructions.size(), {});
  tensors_.assign(program_.tensors.size(), {});
  loops_.assign(program_.loops.size(), {});
  lay_out(program_.body, kNone, 0);
  if (!out_.empty()) return false;
  const auto missing = [&](const std::vector<Site>& sites, const char* what) {
    for (std::size_t i = 0; i < sites.size(); ++i) {
      if (sites[i].order == kNone) report(program_rules::kOnce, 0, "", fmt::format("{} {} stands nowhere", what, i));
    }
  };
  missing(instructions_, "instruction");
  missing(loops_, "loop");
  missing(tensors_, "tensor");
  return out_.empty();
}

// A loop that occurs twice is not entered again, so a loop inside itself ends here too.
void Verifier::lay_out(const Block& block, LoopId loop, int depth) {
  if (depth > kMaxDepth) {
    report(program_rules::kDepth, program_.loops[loop].loc, "", fmt::format("{} loops inside each other", depth));
    return;
  }
  for (const Node& node : block) {
    const std::size_t before = out_.size();
    switch (node.kind) {
      case Node::Kind::instruction:
        place(instructions_, node, loop, "instruction");
        break;
      case Node::Kind::declare:
        place(tensors_, node, loop, "tensor");
        break;
      case Node::Kind::loop:
        place(loops_, node, loop, "loop");
        if (out_.size() == before) lay_out(program_.loops[node.index].body, node.index, depth + 1);
        break;
    }
    if (!out_.empty()) return;
  }
}

void Verifier::place(std::vector<Site>& sites, const Node& node, LoopId loop, const char* what) {
  Site& site = sites[node.index];
  if (site.order != kNone) {
    const bool tensor = node.kind == Node::Kind::declare;
    report(program_rules::kOnce, tensor ? program_.tensors[node.index].loc : 0, "",
           fmt::format("{} {} stands in two places", what, node.index));
  }
  site = {order_++, loop};
}

bool Verifier::encloses(LoopId outer, LoopId inner) const {
  while (inner != outer && inner != kNone) inner = loops_[inner].loop;
  return inner == outer;
}

// Whether every dynamic loop around the producer is also around the consumer.
bool Verifier::in_dynamic_loops_of(LoopId producer, LoopId consumer) const {
  for (; producer != kNone; producer = loops_[producer].loop) {
    const bool dynamic = program_.loops[producer].kind != Loop::Kind::static_for;
    if (dynamic && !encloses(producer, consumer)) return false;
  }
  return true;
}

}  // namespace kiln::isa
