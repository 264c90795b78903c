#include "kiln/check/unwritten.h"

#include <fmt/format.h>

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

class UnwrittenSearch {
 public:
  UnwrittenSearch(const Program& program, std::vector<Diagnostic>& out)
      : program_(program), out_(out), written_(analysis::may_share_bytes(program)) {
    for (TensorId id = 0; id < program.tensors.size(); ++id) {
      const Tensor& t = program.tensors[id];
      if (!is_on_chip(t.memory) || t.role != Role::internal) written_[id] = true;
    }
  }

  // In the order of the text: the first pass of a loop reads what nothing before the loop, or above in it, has written.
  void run() {
    for (const Instruction& inst : program_.instructions) {
      const bool stores = writes_to_hbm(inst), adds = adds_to_sum(inst);
      for_each_use(program_, inst, [&](const Access& access, Use use) {
        if (written_[access.tensor]) return;
        const bool added = use != Use::read && adds;
        if (use == Use::read || added) report(inst, access, stores || added);
        if (use != Use::read) written_[access.tensor] = true;
      });
    }
  }

 private:
  bool adds_to_sum(const Instruction& inst) const {
    const InstView view(program_, inst);
    return view.facts().sum_mode && view.facts().sum_mode(view) == SumMode::adds;
  }

  bool writes_to_hbm(const Instruction& inst) const {
    bool found = false;
    for_each_use(program_, inst, [&](const Access& access, Use use) {
      found |= use != Use::read && !is_on_chip(program_.tensors[access.tensor].memory);
    });
    return found;
  }

  void report(const Instruction& inst, const Access& access, bool certain) {
    if (!lines_.is_first(program_, inst)) return;
    const Tensor& t = program_.tensors[access.tensor];
    out_.push_back(
        broken(flow_rules::kTable, flow_rules::kWrittenFirst,
               {.found = fmt::format("`{}` is read here, and nothing has written it", t.name),
                .loc = program_.locs[inst.loc],
                .context = print(program_, inst),
                .notes = {{fmt::format("`{}` {} is declared here", t.name, type_text(t)), program_.locs[t.loc]}},
                .severity = certain ? Severity::error : Severity::warning}));
  }

  const Program& program_;
  std::vector<Diagnostic>& out_;
  std::vector<bool> written_;  // or not asked about
  OncePerLine lines_;
};

}  // namespace

void check_unwritten(const Program& program, std::vector<Diagnostic>& out) { UnwrittenSearch(program, out).run(); }

}  // namespace kiln::check
