#include "kiln/sim/origins.h"

#include <fmt/format.h>

#include <functional>

#include "kiln/isa/text/print.h"
#include "kiln/sim/checks.h"
#include "kiln/sim/rules.h"

namespace kiln::sim {
using isa::Shadow;

namespace {

// Origins are bytes. From the second number on, tensors of a line that has one share it. Unread bytes belong
// to no tensor yet.
constexpr Shadow kUnread = 255, kMany = 254;
constexpr std::size_t kOfTheirOwn = 160;

std::size_t hash_of(const SourceLoc& loc) {
  std::size_t h = std::hash<std::string>()(loc.file) * 31 + static_cast<std::size_t>(loc.line);
  for (const std::string& frame : loc.stack) h = h * 31 + std::hash<std::string>()(frame);
  return h;
}

}  // namespace

Shadow Origins::add(const isa::Program& program, isa::TensorId tensor) {
  if (!kChecks) return 0;           // nobody follows shadows, so every byte counts as written
  Added& added = added_[&program];  // ranks may run the same program
  if (added.by_tensor.empty())
    added = {std::vector<Shadow>(program.tensors.size()), std::vector<std::size_t>(program.locs.size())};
  Shadow& shadow = added.by_tensor[tensor];
  if (!shadow) shadow = number_of(program, tensor, added);
  return shadow;
}

Shadow Origins::number_of(const isa::Program& program, isa::TensorId tensor, Added& added) {
  const SourceLoc& loc = program.locs[program.tensors[tensor].loc];
  std::size_t& place = added.by_loc[program.tensors[tensor].loc];
  if (!place) place = hash_of(loc);
  if (known_.size() >= kOfTheirOwn && loc.known()) {
    if (const auto it = by_place_.find(place); it != by_place_.end()) {
      known_[it->second - 1].shared = true;
      return it->second;
    }
  }
  if (known_.size() + 1 >= kMany) return kMany;
  known_.push_back({&program, tensor});
  const auto shadow = static_cast<Shadow>(known_.size());
  by_place_.try_emplace(place, shadow);
  return shadow;
}

Shadow Origins::many() { return kMany; }

Shadow Origins::unread() { return kChecks ? kUnread : 0; }

Shadow Origins::read_through(Shadow shadow, const isa::Program& program, isa::TensorId tensor) {
  if (shadow != kUnread) return shadow;
  const auto [it, fresh] = placed_.try_emplace({&program, tensor});
  if (fresh) it->second = add(program, tensor);
  return it->second;
}

Shadow Origins::padding_of(Shadow shadow) {
  const Origin* origin = find(shadow);
  if (!origin || origin->plain) return shadow;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (known_[i].plain == shadow) return static_cast<Shadow>(i + 1);
  }
  if (known_.size() + 1 >= kMany) return shadow;
  known_.push_back({origin->program, origin->tensor, shadow, origin->shared});
  return static_cast<Shadow>(known_.size());
}

Diagnostic unwritten_diagnostic(const Origins& origins, Shadow shadow, const Rule& rule, const std::string& element,
                                const isa::Tensor& reached, const isa::InstView& inst, const char* what) {
  const Origins::Origin* origin = origins.find(shadow);
  const isa::Tensor* from = origin ? &origin->program->tensors[origin->tensor] : nullptr;
  const std::string source = !from ? "a tensor declared late"
                                   : fmt::format("`{}`{}", from->name, origin->shared ? " or another of its line" : "");
  std::vector<Note> notes;
  if (from)
    notes.push_back(
        {fmt::format("`{}` ({} in {}) was declared here", from->name, name(from->dtype), name(from->memory)),
         origin->program->locs[from->loc]});
  return broken(run_rules::kTable, rule,
                {.found = fmt::format("element {} of `{}` depends on bytes of {} that were never written", element,
                                      reached.name, source),
                 .allowed = fmt::format("an {} that depends on written bytes only", what),
                 .loc = inst.loc(),
                 .context = isa::print(inst.program(), inst.inst()),
                 .notes = std::move(notes),
                 .category = Category::undefined});
}

}  // namespace kiln::sim
