#include "kiln/check/clobber.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/analysis/first_passes.h"
#include "kiln/analysis/region.h"
#include "kiln/check/rules.h"
#include "kiln/check/tensor_text.h"
#include "kiln/isa/uses.h"

namespace kiln::check {
using namespace analysis;
namespace {

using isa::Access;
using isa::Program;
using isa::TensorId;

constexpr std::size_t kMaxRegions = 256;  // per tensor; more are forgotten, which can only hide an error

// Another tensor at the same bytes, alive at the same time. A view: one of the two has read what the other
// wrote, so the sharing is meant.
struct Neighbour {
  TensorId tensor;
  bool is_view = false;
};
struct Loss {
  Region region;
  TensorId by;
  isa::LocId at;
};
struct State {
  std::vector<Neighbour> neighbours;
  std::vector<Region> written;
  std::vector<Loss> lost;
};

std::vector<State> find_neighbours(const Program& program, const Liveness& liveness) {
  std::vector<TensorId> placed;
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    const isa::Tensor& t = program.tensors[id];
    if (is_on_chip(t.memory) && t.address && !liveness.tensors[id].empty()) placed.push_back(id);
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [&](TensorId a, TensorId b) { return liveness.tensors[a].begin < liveness.tensors[b].begin; });
  std::vector<State> states(program.tensors.size());
  std::vector<TensorId> alive;
  for (TensorId id : placed) {
    std::erase_if(alive, [&](TensorId a) { return liveness.tensors[a].end < liveness.tensors[id].begin; });
    for (TensorId a : alive) {
      const isa::Tensor &x = program.tensors[a], &y = program.tensors[id];
      if (x.memory != y.memory || intersection(region_of(x), region_of(y)).empty()) continue;
      states[a].neighbours.push_back({id});
      states[id].neighbours.push_back({a});
    }
    alive.push_back(id);
  }
  return states;
}

bool touches(const std::vector<Region>& regions, const Region& region) {
  return std::any_of(regions.begin(), regions.end(), [&](const Region& r) { return !intersection(r, region).empty(); });
}

class FollowBytes {
 public:
  FollowBytes(const Program& program, std::vector<State> states, std::vector<Diagnostic>& out)
      : program_(program), states_(std::move(states)), passes_(program), out_(out) {}

  void run() {
    passes_.walk([this](const isa::Node& node) {
      if (node.kind == isa::Node::Kind::instruction) return instruction(program_.instructions[node.index]);
      states_[node.index].written.clear();
      states_[node.index].lost.clear();
    });
  }

 private:
  void instruction(const isa::Instruction& inst) {
    isa::for_each_use(program_, inst, [&](const Access& access, isa::Use use) {
      if (states_[access.tensor].neighbours.empty()) return;
      const auto regions = certain_regions(program_, access, passes_.loop_values());
      if (use == isa::Use::read) {
        for (const Region& region : regions) read(inst, access.tensor, region);
        return;
      }
      restore(access);
      for (const Region& region : regions) write(inst, access.tensor, region);
    });
  }

  void read(const isa::Instruction& inst, TensorId id, const Region& region) {
    State& state = states_[id];
    for (const Loss& loss : state.lost) {
      const Region common = intersection(loss.region, region);
      if (common.empty()) continue;
      report(inst, id, loss, common);
      state.lost.clear();  // once is enough
      break;
    }
    if (touches(state.written, region)) return;
    for (Neighbour& n : state.neighbours) {
      if (n.is_view || !touches(states_[n.tensor].written, region)) continue;
      n.is_view = true;
      for (Neighbour& back : states_[n.tensor].neighbours) back.is_view |= back.tensor == id;
    }
  }

  // What a tensor may have written anew is no longer lost.
  void restore(const Access& access) {
    State& state = states_[access.tensor];
    if (state.lost.empty()) return;
    const Region cut = reach(program_, access);
    std::vector<Loss> left;
    for (const Loss& loss : state.lost) {
      std::vector<Region> pieces;
      append_difference(loss.region, cut, pieces);
      for (const Region& piece : pieces) left.push_back({piece, loss.by, loss.at});
    }
    state.lost = std::move(left);
  }

  void write(const isa::Instruction& inst, TensorId id, const Region& region) {
    State& state = states_[id];
    const bool known =
        std::any_of(state.written.begin(), state.written.end(), [&](const Region& r) { return r.covers(region); });
    if (!known && state.written.size() < kMaxRegions) state.written.push_back(region);
    for (const Neighbour& n : state.neighbours) {
      if (n.is_view) continue;
      State& other = states_[n.tensor];
      for (const Region& value : other.written) {
        const Region common = intersection(value, region);
        const bool is_lost = std::any_of(other.lost.begin(), other.lost.end(),
                                         [&](const Loss& loss) { return loss.region.covers(common); });
        if (common.empty() || is_lost || other.lost.size() >= kMaxRegions) continue;
        other.lost.push_back({common, id, inst.loc});
      }
    }
  }

  void report(const isa::Instruction& inst, TensorId id, const Loss& loss, const Region& region) {
    const isa::Tensor &tensor = program_.tensors[id], &other = program_.tensors[loss.by];
    Diagnostic d =
        broken(memory_rules::kTable, memory_rules::kClobbered,
               {.found = fmt::format("`{}` is read after `{}` overwrote its bytes {} to {} in partitions {} to {}",
                                     tensor.name, other.name, region.begin, region.end - 1, region.partition,
                                     region.partition_end - 1),
                .loc = program_.locs[inst.loc],
                .context = std::string(info(inst.opcode).name)});
    d.notes.push_back({fmt::format("`{}` is written here", other.name), program_.locs[loss.at]});
    for (const isa::Tensor* t : {&tensor, &other}) {
      d.notes.push_back({fmt::format("`{}` {} is placed at ({}, {})", t->name, type_text(*t), t->address->partition,
                                     t->address->byte_offset),
                         program_.locs[t->loc]});
    }
    out_.push_back(std::move(d));
  }

  const Program& program_;
  std::vector<State> states_;  // by tensor
  FirstPasses passes_;
  std::vector<Diagnostic>& out_;
};

}  // namespace

void check_clobbered(const Program& program, const Liveness& liveness, std::vector<Diagnostic>& out) {
  std::vector<State> states = find_neighbours(program, liveness);
  const bool shared = std::any_of(states.begin(), states.end(), [](const State& s) { return !s.neighbours.empty(); });
  if (shared) FollowBytes(program, std::move(states), out).run();
}

}  // namespace kiln::check
