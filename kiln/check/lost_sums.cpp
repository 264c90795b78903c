#include "kiln/check/lost_sums.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/analysis/affine.h"
#include "kiln/analysis/box.h"
#include "kiln/analysis/first_passes.h"
#include "kiln/analysis/shared_bytes.h"
#include "kiln/check/once_per_line.h"
#include "kiln/check/rules.h"
#include "kiln/isa/inst_view.h"
#include "kiln/isa/text/print.h"
#include "kiln/isa/uses.h"

namespace kiln::check {
using namespace analysis;
using namespace isa;
namespace {

constexpr std::size_t kMaxSums = 64;  // per tensor; more are forgotten, which can only hide a warning

// What products have left in a part of PSUM.
struct Sum {
  Box box;
  const Instruction* by;                // the last of them
  bool may_be_read = false;             // since then
  const Instruction* reader = nullptr;  // one that reads it for certain
};

bool covers(const Box& a, const Box& b) {
  for (int d = 0; d < a.rank; ++d) {
    if (a.lo[d] > b.lo[d] || a.hi[d] < b.hi[d]) return false;
  }
  return a.step == 1 || (a.step == b.step && a.lo[a.rank - 1] == b.lo[b.rank - 1]);
}

bool moves(const Access& a) { return a.dynamic != kNone || a.offset.term_count || a.partition.term_count; }

class FollowSums {
 public:
  FollowSums(const Program& program, std::vector<Diagnostic>& out)
      : program_(program),
        shares_bytes_(may_share_bytes(program)),
        sums_(program.tensors.size()),
        passes_(program),
        out_(out) {}

  void run() {
    const auto in_psum = [](const Tensor& t) { return t.memory == Memory::psum; };
    if (std::ranges::none_of(program_.tensors, in_psum)) return;
    passes_.walk([this](const Node& node) {
      if (node.kind == Node::Kind::instruction) return instruction(program_.instructions[node.index]);
      sums_[node.index].clear();
    });
  }

 private:
  void instruction(const Instruction& inst) {
    const bool is_product = InstView(program_, inst).facts().sum_mode;  // which reads its own sum to add to it
    for_each_use(program_, inst, [&](const Access& access, Use use) {
      if (program_.tensors[access.tensor].memory != Memory::psum || shares_bytes_[access.tensor]) return;
      if (use == Use::read || (use != Use::write && !is_product)) read(inst, access);
      if (use != Use::read) write(inst, access);
    });
  }

  Box box_of(const Access& a) const {
    return BoxShape(program_, a, false)
        .at(value_of(program_, a.partition, passes_.loop_values()),
            value_of(program_, a.offset, passes_.loop_values()) * size_bytes(a.dtype));
  }

  // A part that moves may have been read in a pass that is not followed.
  void read(const Instruction& inst, const Access& access) {
    std::vector<Sum>& sums = sums_[access.tensor];
    if (sums.empty()) return;
    const Box box = box_of(access);
    for (Sum& sum : sums) {
      const bool overlaps = access.dynamic == kNone && box.overlaps(sum.box);
      sum.may_be_read |= overlaps || moves(access);
      if (overlaps && !sum.reader) sum.reader = &inst;
    }
  }

  void write(const Instruction& inst, const Access& access) {
    const InstView view(program_, inst);
    const bool is_product = view.facts().sum_mode;
    const SumMode mode = is_product ? view.facts().sum_mode(view) : SumMode::overwrites;
    std::vector<Sum>& sums = sums_[access.tensor];
    if (access.dynamic != kNone) return sums.clear();
    const Box box = box_of(access);
    if (view.facts().writes_some) {
      for (Sum& sum : sums) sum.may_be_read |= box.overlaps(sum.box);  // the elements that stay
      return;
    }
    if (mode == SumMode::overwrites) {
      std::erase_if(sums, [&](const Sum& sum) {
        if (!box.overlaps(sum.box)) return false;
        if (covers(box, sum.box) && !sum.may_be_read) report_loss(inst, access, sum);
        return true;
      });
    } else if (const auto sum = std::ranges::find(sums, box, &Sum::box); sum != sums.end()) {
      if (mode == SumMode::infers && sum->reader) report_going_on(inst, access, *sum);
      *sum = {box, &inst};
      return;
    } else {
      for (Sum& other : sums) other.may_be_read |= box.overlaps(other.box);  // it is a part of this one now
    }
    if (is_product && sums.size() < kMaxSums) sums.push_back({box, &inst});
  }

  void report_loss(const Instruction& inst, const Access& access, const Sum& sum) {
    if (!losses_.is_first(program_, inst)) return;
    report(flow_rules::kSumRead, inst,
           fmt::format("the sum in `{}` is overwritten before anything reads it", program_.tensors[access.tensor].name),
           {{"it was written here", program_.locs[sum.by->loc]}});
  }

  void report_going_on(const Instruction& inst, const Access& access, const Sum& sum) {
    if (!goings_on_.is_first(program_, inst)) return;
    report(flow_rules::kSumEnds, inst,
           fmt::format("accumulate=None adds to the sum in `{}`, which was read", program_.tensors[access.tensor].name),
           {{"it was read here", program_.locs[sum.reader->loc]}});
  }

  void report(const Rule& rule, const Instruction& inst, std::string found, std::vector<Note> notes) {
    out_.push_back(broken(flow_rules::kTable, rule,
                          {.found = std::move(found),
                           .loc = program_.locs[inst.loc],
                           .context = print(program_, inst),
                           .operand = "accumulate",
                           .notes = std::move(notes),
                           .severity = Severity::warning}));
  }

  const Program& program_;
  const std::vector<bool> shares_bytes_;
  std::vector<std::vector<Sum>> sums_;  // by tensor
  FirstPasses passes_;
  OncePerLine losses_, goings_on_;
  std::vector<Diagnostic>& out_;
};

}  // namespace

void check_sums(const Program& program, std::vector<Diagnostic>& out) {
  const auto leaves_sums = [](const Instruction& inst) {
    return info(inst.opcode).semantics->facts.sum_mode != nullptr;
  };
  if (std::ranges::any_of(program.instructions, leaves_sums)) FollowSums(program, out).run();
}

}  // namespace kiln::check
