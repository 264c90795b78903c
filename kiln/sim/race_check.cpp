#include "kiln/sim/race_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/text/print.h"
#include "kiln/sim/plain_copy.h"
#include "kiln/sim/rules.h"
#include "kiln/sim/spans.h"

namespace kiln::sim {
using namespace isa;

namespace {
constexpr int kRaceNumber = -11;  // among the warnings of an instruction: its own rules count from 1

std::vector<std::byte> bytes_of(const Storage& storage, const ByteRanges& ranges) {
  std::vector<std::byte> out;
  for (const auto& [begin, end] : ranges) out.insert(out.end(), storage.data + begin, storage.data + end);
  return out;
}

std::int64_t nonzero_bytes(const Storage& storage, const ByteRanges& ranges) {
  const std::vector<std::byte> bytes = bytes_of(storage, ranges);
  return std::ranges::count_if(bytes, [](std::byte b) { return b != std::byte{0}; });
}

// Calls fn(byte) for those that do not hold what they held. Bytes that hold no value count as the same: where
// they go is what matters, and that is checked elsewhere.
template <class Fn>
void for_changed(const Storage& storage, const ByteRanges& ranges, const std::vector<std::byte>& before, Fn&& fn) {
  const std::byte* old = before.data();
  for (const auto& [begin, end] : ranges) {
    for (std::int64_t at = begin; at < end; ++at, ++old) {
      if (storage.data[at] != *old && storage.shadow.at(at) == 0) fn(at);
    }
  }
}

bool is_zero(const Tile& t) {
  bool zero = true;
  const std::int64_t size = t.element_bytes();
  for (std::int64_t row = 0; zero && row < t.rows; ++row) {
    for_runs(t, row, 0, t.free_size, [&](std::byte* at, std::int64_t stride, std::int64_t n, std::int64_t) {
      for (std::int64_t i = 0; i < n; ++i)
        zero = zero && std::all_of(at + i * stride * size, at + (i * stride + 1) * size,
                                   [](std::byte b) { return b == std::byte{0}; });
    });
  }
  return zero;
}

bool is_output(const Instruction& inst, const Operand& operand) {
  return info(inst.opcode).params[operand.param].is_output();
}

}  // namespace

// Tensors that no core writes cannot be raced for. An input of this core may be one that the other writes.
bool RaceCheck::is_raced_for(const Tensor& t) const {
  if (t.role == Role::internal) return t.memory == Memory::shared_hbm;
  return t.role != Role::input || common_.written.contains(t.name);
}

// Kernels fill a tensor with zeros, each core its part, and then scatter rows into all of it with nothing in
// between: the zeros are long there when the first indices are. That is warned of, and the zeros come first.
RaceCheck::Fill RaceCheck::fill_of(const Instruction& inst, const Operand& written, const Operands& operands,
                                   const Races::Clash& clash) const {
  const Storage& storage = *written.storage;
  const InstView view(program_, inst);
  if (!is_plain_copy(view) || !clash.they_write) return Fill::none;
  if (nonzero_bytes(storage, clash.ranges) > nonzero_bytes(storage, clash.scattered)) return Fill::none;
  if (is_scattered(program_, *written.access)) return clash.scattered.empty() ? Fill::theirs : Fill::none;
  const auto src = std::ranges::find(operands.list, from_of(view), &Operand::param);
  if (!is_zero(src->tile)) return Fill::none;
  return clash.scattered.empty() ? Fill::both : Fill::ours;
}

// Kernels read a cache whole, the rows of new tokens masked out, while the other core puts those rows in at
// run-time positions. Which of the two values such a row has does not matter then, and only the kernel knows.
bool RaceCheck::is_row_update(const Instruction& inst, const Operand& operand, const Races::Clash& clash) const {
  const bool we_write = is_output(inst, operand);
  if (we_write && clash.they_write) return false;
  const std::string& tensor = program_.tensors[operand.access->tensor].name;
  const Program& reader = we_write ? *clash.program : program_;
  const bool only_read =
      std::ranges::any_of(reader.tensors, [&](const Tensor& t) { return t.role == Role::input && t.name == tensor; });
  return only_read && (we_write ? operand.access->dynamic != kNone : clash.at_run_time);
}

void RaceCheck::warn_of_update(const Instruction& inst, const Operand& operand, const Races::Clash& clash) {
  common_.warnings.add({common_.sequence, &inst, &loops_}, kRaceNumber, [&] {
    Diagnostic d = race_diagnostic(
        inst, clash,
        fmt::format("one core reads elements of `{}` that the other writes at run-time positions, and no "
                    "core_barrier or sendrecv stands between them: either value may be read",
                    program_.tensors[operand.access->tensor].name));
    d.severity = Severity::warning;
    return d;
  });
}

void RaceCheck::keep_scattered(const Operand& operand, const Races::Clash& clash) {
  Scattered s{operand.storage, clash.scattered, bytes_of(*operand.storage, clash.scattered), {}};
  for (const auto& [begin, end] : clash.scattered)
    for (std::int64_t at = begin; at < end; ++at) s.shadow.push_back(operand.storage->shadow.at(at));
  scattered_.push_back(std::move(s));
}

void RaceCheck::restore_scattered() {
  common_.queue.wait();
  for (const Scattered& s : scattered_) {
    std::size_t i = 0;
    for (const auto& [begin, end] : s.ranges) {
      for (std::int64_t at = begin; at < end; ++at, ++i) {
        s.storage->data[at] = s.bytes[i];
        s.storage->shadow.fill(at, at + 1, s.shadow[i]);
      }
    }
  }
  scattered_.clear();
}

void RaceCheck::check(const Instruction& inst, const Operands& operands) {
  for (const Operand& o : operands.list) {
    if (!is_raced_for(program_.tensors[o.access->tensor])) continue;
    const ParamInfo& param = info(inst.opcode).params[o.param];
    if (param.is_input()) check_read(inst, o);
    if (param.is_output()) check_write(inst, o, operands);
  }
}

void RaceCheck::check_read(const Instruction& inst, const Operand& operand) {
  const Races::Clash clash = common_.races.access(core_, program_, inst, operand, false);
  if (!clash.found) return;
  if (!is_row_update(inst, operand, clash)) report(inst, operand, clash);
  warn_of_update(inst, operand, clash);
}

void RaceCheck::check_write(const Instruction& inst, const Operand& operand, const Operands& operands) {
  const Races::Clash clash = common_.races.access(core_, program_, inst, operand, true);
  if (!clash.found || clash.ranges.empty()) return;
  common_.queue.wait();  // the other core's values must be there to be compared with
  const Fill fill = fill_of(inst, operand, operands, clash);
  if (fill == Fill::ours || fill == Fill::theirs) {
    warn_of_fill(inst, operand, clash, fill);
    if (fill == Fill::ours) keep_scattered(operand, clash);
    return;
  }
  rewrites_.push_back({&inst, operand, clash, bytes_of(*operand.storage, clash.ranges), fill == Fill::both});
}

// A core wrote bytes that the other one wrote or read. Kernels do that with values that both have, step by
// step; when they end with the same ones, no order matters.
void RaceCheck::check_agreement() {
  if (rewrites_.empty()) return;
  common_.queue.wait();
  for (const Rewrite& r : rewrites_) {
    bool same = true, scattered = r.both_fill;
    for_changed(*r.operand.storage, r.clash.ranges, r.before, [&](std::int64_t at) {
      same = false;
      scattered = scattered && common_.races.is_scattered(core_, *r.operand.storage, at);
    });
    if (same) continue;
    if (is_row_update(*r.inst, r.operand, r.clash)) {
      warn_of_update(*r.inst, r.operand, r.clash);
      continue;
    }
    if (!scattered) report(*r.inst, r.operand, r.clash);
    warn_of_fill(*r.inst, r.operand, r.clash, Fill::theirs);
  }
  rewrites_.clear();
}

Diagnostic RaceCheck::race_diagnostic(const Instruction& inst, const Races::Clash& clash, std::string found) const {
  Diagnostic d = broken(run_rules::kTable, run_rules::kOrderedAccess,
                        {.found = std::move(found),
                         .loc = program_.locs[inst.loc],
                         .context = print(program_, inst),
                         .category = Category::undefined});
  if (clash.inst)
    d.notes.push_back({fmt::format("core {} does it here: {}", 1 - core_, print(*clash.program, *clash.inst)),
                       clash.program->locs[clash.inst->loc]});
  return d;
}

void RaceCheck::warn_of_fill(const Instruction& inst, const Operand& operand, const Races::Clash& clash, Fill fill) {
  const std::string& tensor = program_.tensors[operand.access->tensor].name;
  const int filler = fill == Fill::ours ? core_ : 1 - core_;
  common_.warnings.add({common_.sequence, &inst, &loops_}, kRaceNumber, [&] {
    Diagnostic d = race_diagnostic(
        inst, clash,
        fmt::format("core {} fills elements of `{}` with zeros and core {} writes them at the rows of an "
                    "index tile, and no core_barrier or sendrecv stands between them: the zeros were taken "
                    "to come first",
                    filler, tensor, 1 - filler));
    d.severity = Severity::warning;
    return d;
  });
}

void RaceCheck::report(const Instruction& inst, const Operand& operand, const Races::Clash& clash) const {
  const bool writes = is_output(inst, operand);
  throw Error(race_diagnostic(
      inst, clash,
      fmt::format("core {} {} elements of `{}` that core {} {}, and no core_barrier or sendrecv stands "
                  "between them",
                  core_, writes ? "writes" : "reads", program_.tensors[operand.access->tensor].name, 1 - core_,
                  !writes            ? "writes"
                  : clash.they_write ? "writes with other values"
                                     : "reads")));
}

}  // namespace kiln::sim
