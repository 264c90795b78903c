#include "kiln/check/unused_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kiln/analysis/shared_bytes.h"
#include "kiln/check/once_per_line.h"
#include "kiln/check/rules.h"
#include "kiln/check/tensor_text.h"
#include "kiln/isa/inst_view.h"
#include "kiln/isa/text/print.h"
#include "kiln/isa/uses.h"

namespace kiln::check {
using namespace isa;
namespace {

// A line that makes several instructions, such as a call of a function, has one for each kind.
using Kind = std::pair<LineKey, Opcode>;
Kind kind_of(const Program& program, const Instruction& inst) { return {line_of(program, inst), inst.opcode}; }

// What the instructions of a line have come to.
struct Line {
  const Instruction* first = nullptr;  // of those without use
  std::int64_t unused = 0;
  bool any_used = false;
};

class Search {
 public:
  Search(const Program& program, const analysis::Liveness& liveness)
      : program_(program), is_read_(liveness.is_read), shares_bytes_(analysis::may_share_bytes(program)) {}

  // Most programs have none, and are through here in no time.
  std::map<Kind, Line> lines() const {
    std::map<Kind, Line> lines;
    if (all_read()) return lines;
    for (const Instruction& inst : program_.instructions) {
      if (!is_unused(inst)) continue;
      Line& line = lines[kind_of(program_, inst)];
      if (!line.first) line.first = &inst;
      ++line.unused;
    }
    if (!lines.empty()) mark_used(lines);
    return lines;
  }

 private:
  void mark_used(std::map<Kind, Line>& lines) const {
    for (const Instruction& inst : program_.instructions) {
      const auto line = lines.find(kind_of(program_, inst));
      if (line != lines.end() && !is_unused(inst)) line->second.any_used = true;
    }
  }

  bool is_unread(TensorId id) const {
    const Tensor& t = program_.tensors[id];
    return !is_read_[id] && is_on_chip(t.memory) && t.role == Role::internal && !shares_bytes_[id];
  }
  bool is_unread(const Access& a) const { return is_unread(a.tensor); }

  bool all_read() const {
    for (TensorId id = 0; id < program_.tensors.size(); ++id) {
      if (is_unread(id)) return false;
    }
    return true;
  }

  // A result is all that it gives: no state of an engine, no register, no word to the other core. What takes no tile
  // computes nothing.
  bool is_unused(const Instruction& inst) const {
    const InstView view(program_, inst);
    const InstructionInfo& row = view.row();
    if (row.result < 0 || !view.is_tile(row.result) || !is_unread(view.access(row.result))) return false;
    if (view.facts().meets || (row.semantics->state && row.semantics->state(view) != 0)) return false;
    bool reads = false, unused = true;
    for_each_use(program_, inst, [&](const Access& a, Use use) {
      reads |= use != Use::write;
      unused &= use == Use::read || is_unread(a);
    });
    return reads && unused;
  }

  const Program& program_;
  const std::vector<bool>& is_read_;
  const std::vector<bool> shares_bytes_;
};

Diagnostic warning(const Program& program, const Line& line) {
  const InstView view(program, *line.first);
  const Tensor& t = view.tensor(view.row().result);
  const std::string more =
      line.unused == 1 ? "" : fmt::format(", nor are {} more results of this line", line.unused - 1);
  return broken(flow_rules::kTable, flow_rules::kResultUsed,
                {.found = fmt::format("`{}` is computed here and never read{}", t.name, more),
                 .loc = view.loc(),
                 .context = print(program, *line.first),
                 .operand = std::string(view.row().params[view.row().result].name),
                 .notes = {{fmt::format("`{}` {} is declared here", t.name, type_text(t)), program.locs[t.loc]}},
                 .severity = Severity::warning});
}

}  // namespace

void check_unused(const Program& program, const analysis::Liveness& liveness, std::vector<Diagnostic>& out) {
  std::vector<const Line*> found;
  const std::map<Kind, Line> lines = Search(program, liveness).lines();
  for (const auto& [key, line] : lines) {
    if (line.unused && !line.any_used) found.push_back(&line);
  }
  std::ranges::sort(found, {}, [](const Line* line) { return line->first; });
  for (const Line* line : found) out.push_back(warning(program, *line));
}

}  // namespace kiln::check
