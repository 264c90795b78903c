#include "kiln/check/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "kiln/check/reorder.h"
#include "kiln/check/rules.h"
#include "kiln/check/tensor_text.h"
#include "kiln/isa/table.h"
#include "kiln/isa/uses.h"

namespace kiln::check {
using namespace analysis;
namespace {

using isa::Program;
using isa::Tensor;
using isa::TensorId;

constexpr std::size_t kMaxNotes = 12;

std::optional<isa::Address> address_by_hand(const Tensor& t) { return is_on_chip(t.memory) ? t.address : std::nullopt; }

// Largest first.
std::vector<TensorId> alive_at(const Program& program, const Liveness& liveness, Memory memory, Position at) {
  std::vector<TensorId> alive;
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    if (program.tensors[id].memory == memory && liveness.tensors[id].contains(at)) alive.push_back(id);
  }
  std::stable_sort(alive.begin(), alive.end(), [&](TensorId a, TensorId b) {
    return program.tensors[a].bytes_per_partition() > program.tensors[b].bytes_per_partition();
  });
  return alive;
}

std::string statement_text(const Program& program, const isa::Node& node) {
  switch (node.kind) {
    case isa::Node::Kind::instruction:
      return std::string(info(program.instructions[node.index].opcode).name);
    case isa::Node::Kind::loop:
      return fmt::format("loop over {}", program.loops[node.index].variable);
    case isa::Node::Kind::declare:
      break;
  }
  return title(program.tensors[node.index]);
}

// Tensors that one line made alike, as those of an unrolled loop are.
struct Alike {
  const Tensor* first;
  std::string type;
  std::size_t count = 0;
  std::int64_t bytes = 0;  // of all, per partition
};

std::vector<Alike> groups_of(const Program& program, const std::vector<TensorId>& alive) {
  std::vector<Alike> groups;
  std::map<std::tuple<std::string, std::string, int, bool>, std::size_t> known;
  for (const TensorId id : alive) {
    const Tensor& t = program.tensors[id];
    const SourceLoc& loc = program.locs[t.loc];
    const std::string type = type_text(t);
    const auto [at, is_new] = known.try_emplace({type, loc.file, loc.line, t.address.has_value()}, groups.size());
    if (is_new) groups.push_back({&t, type});
    ++groups[at->second].count;
    groups[at->second].bytes += t.bytes_per_partition();
  }
  return groups;
}

void add_notes(const Program& program, const std::vector<TensorId>& alive, Diagnostic& d) {
  const std::vector<Alike> groups = groups_of(program, alive);
  const std::size_t shown = std::min(groups.size(), kMaxNotes);
  for (std::size_t i = 0; i < shown; ++i) {
    const Tensor& t = *groups[i].first;
    const std::size_t others = groups[i].count - 1;
    const std::string like = others ? fmt::format(" and {} like it:", others) : "";
    const std::string together = others ? fmt::format(" each, {} together", groups[i].bytes) : "";
    d.notes.push_back({fmt::format("`{}`{} {}, {} bytes per partition{}{}", t.name, like, groups[i].type,
                                   t.bytes_per_partition(), together, t.address ? ", placed by hand" : ""),
                       program.locs[t.loc]});
  }
  std::int64_t rest = 0;
  std::size_t count = 0;
  for (std::size_t i = shown; i < groups.size(); ++i) {
    rest += groups[i].bytes;
    count += groups[i].count;
  }
  if (count) d.notes.push_back({fmt::format("and {} more with {} bytes per partition", count, rest), {}});
}

std::string available_text(const Arch& arch, Memory memory, std::int64_t available) {
  if (memory == Memory::psum) {
    return fmt::format("{} bytes per partition, {} banks of {} ({})", available, arch.psum_banks, arch.psum_bank_bytes,
                       arch.name);
  }
  const std::int64_t reserved = arch.sbuf_partition_bytes - available;
  return fmt::format("{} bytes per partition ({}{})", available, arch.name,
                     reserved ? fmt::format(", {} reserved", reserved) : "");
}

// Whether tensors placed by hand leave no gap for one that lives beside them, wherever the others go. One of up to half
// of the partitions may find another start.
bool is_shut_out(const Program& program, const Arch& arch, const Liveness& liveness, TensorId id) {
  const Tensor& t = program.tensors[id];
  if (2 * t.partitions() <= arch.partitions) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;
  for (TensorId other = 0; other < program.tensors.size(); ++other) {
    const Tensor& o = program.tensors[other];
    const Interval &a = liveness.tensors[id], &b = liveness.tensors[other];
    if (o.memory != t.memory || !o.address || b.empty() || a.end < b.begin || b.end < a.begin) continue;
    if (o.address->partition < t.partitions())
      taken.emplace_back(o.address->byte_offset, o.address->byte_offset + o.bytes_per_partition());
  }
  std::sort(taken.begin(), taken.end());
  std::int64_t free = 0;
  for (const auto& [begin, end] : taken) {
    if (begin - free >= t.bytes_per_partition()) return false;
    free = std::max(free, end);
  }
  return available_bytes(arch, t.memory) - free < t.bytes_per_partition();
}

// In SBUF the compiler may find another arrangement of the pieces, if there is one; banks leave little choice.
bool is_fatal(const Program& program, const Arch& arch, const Liveness& liveness, const Overflow& o) {
  return o.too_much || o.memory == Memory::psum || is_shut_out(program, arch, liveness, o.tensor);
}

const Overflow* overflow_of(const Allocation& allocation, Memory memory) {
  const auto it = std::ranges::find(allocation.overflows, memory, &Overflow::memory);
  return it == allocation.overflows.end() ? nullptr : &*it;
}

// The allocation of another order of the instructions in which nothing is fatal any more and no other memory overflows.
std::optional<Allocation> after_reordering(const Program& program, const Arch& arch, const Liveness& liveness,
                                           const Allocation& written) {
  unsigned short_of = 0;
  for (const Overflow& o : written.overflows)
    short_of |= is_fatal(program, arch, liveness, o) ? memory_bit(o.memory) : 0;
  if (!short_of) return {};
  for (const unsigned memories : {short_of, memory_bit(Memory::sbuf) | memory_bit(Memory::psum)}) {
    for (const FillOrder fill : kFillOrders) {
      const Program moved = reordered(program, memories, fill);
      const Liveness lives = live_intervals(moved);
      Allocation found = allocate(moved, arch, lives);
      const bool fits = std::ranges::none_of(found.overflows, [&](const Overflow& o) {
        return is_fatal(moved, arch, lives, o) || !overflow_of(written, o.memory);
      });
      if (fits) return found;
    }
  }
  return {};
}

// The instruction whose own tensors need most bytes per partition.
struct Hungriest {
  isa::InstructionId instruction = isa::kNone;
  std::int64_t bytes = 0;
};
Hungriest hungriest(const Program& program, Memory memory) {
  Hungriest most;
  std::vector<TensorId> used;
  for (isa::InstructionId id = 0; id < program.instructions.size(); ++id) {
    used.clear();
    isa::for_each_use(program, program.instructions[id], [&](const isa::Access& access, isa::Use) {
      if (program.tensors[access.tensor].memory == memory) used.push_back(access.tensor);
    });
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    std::int64_t bytes = 0;
    for (const TensorId t : used) bytes += program.tensors[t].bytes_per_partition();
    if (bytes > most.bytes) most = {id, bytes};
  }
  return most;
}

// Spilling moves tensors to HBM between their uses; what one instruction uses must be there at once.
std::string spill_text(const Program& program, Memory memory, const MemoryUse& use) {
  const Hungriest most = hungriest(program, memory);
  if (most.bytes > use.available_bytes) {
    const isa::Instruction& inst = program.instructions[most.instruction];
    return fmt::format("; the tensors of one {} alone need {} bytes per partition", info(inst.opcode).name, most.bytes);
  }
  return fmt::format(
      "; as it is, it fits only if the vendor's compiler spills: no order of the instructions that was tried makes "
      "room, "
      "nor does reuse in place, so {} bytes per partition at least would go to HBM and come back",
      use.peak_bytes - use.available_bytes);
}

constexpr const char* kOrderHelp =
    "use each value soon after it is made; the vendor's compiler may reorder instructions so, or may not: kiln check "
    "--strict-order refuses a kernel that needs it";

std::string found_text(const Program& program, const Overflow& overflow, const MemoryUse& use, std::size_t alive) {
  if (overflow.too_much) {
    return fmt::format("{} {} tensors alive here need {} bytes per partition{}, {} more than there are", alive,
                       name(overflow.memory), use.peak_bytes,
                       use.in_place ? " (bytes that can be used again in place count once)" : "",
                       use.peak_bytes - use.available_bytes);
  }
  const Tensor& stuck = program.tensors[overflow.tensor];
  return fmt::format("no gap of {} bytes per partition for `{}` among {} {} tensors alive here",
                     stuck.bytes_per_partition(), stuck.name, alive, name(overflow.memory));
}

// `moved`: the allocation in another order, in which the tensors fit; or null.
Diagnostic diagnostic_of(const Program& program, const Arch& arch, const Liveness& liveness, const Allocation& written,
                         const Overflow& overflow, const Allocation* moved) {
  const isa::Node& node = liveness.nodes[overflow.at];
  const MemoryUse& use = written.use(overflow.memory);
  const auto alive = alive_at(program, liveness, overflow.memory, overflow.at);
  const Rule& rule = overflow.too_much ? memory_rules::kCapacity : memory_rules::kPieces;
  Finding finding{.found = found_text(program, overflow, use, alive.size()),
                  .allowed = available_text(arch, overflow.memory, use.available_bytes),
                  .loc = loc_of(program, node),
                  .context = statement_text(program, node)};
  if (moved) {
    finding.found += fmt::format("; that is as written, when instructions are reordered they need {}",
                                 moved->use(overflow.memory).peak_bytes);
    finding.help = kOrderHelp;
  } else if (overflow.too_much) {
    finding.help = rule.help + spill_text(program, overflow.memory, use);
  }
  if (!is_fatal(program, arch, liveness, overflow)) finding.severity = Severity::warning;
  Diagnostic d = broken(memory_rules::kTable, rule, std::move(finding));
  add_notes(program, alive, d);
  return d;
}

}  // namespace

Allocation check_capacity(const Program& program, const Arch& arch, const Liveness& liveness, bool strict_order,
                          std::vector<Diagnostic>& out) {
  Allocation written = allocate(program, arch, liveness);
  std::optional<Allocation> moved = after_reordering(program, arch, liveness, written);
  for (const Overflow& overflow : written.overflows) {
    const bool is_helped = moved && is_fatal(program, arch, liveness, overflow);
    out.push_back(diagnostic_of(program, arch, liveness, written, overflow, is_helped ? &*moved : nullptr));
    if (is_helped && !strict_order) out.back().severity = Severity::warning;
  }
  if (!moved || strict_order) return written;
  for (const Memory memory : {Memory::sbuf, Memory::psum})
    moved->use(memory).written_bytes = written.use(memory).peak_bytes;
  for (TensorId id = 0; id < program.tensors.size(); ++id) moved->address[id] = address_by_hand(program.tensors[id]);
  return *std::move(moved);
}

void check_hbm(const Program& program, const Arch& arch, std::vector<Diagnostic>& out) {
  std::int64_t total = 0;
  for (const Tensor& t : program.tensors) {
    if (!is_hbm(t.memory)) continue;
    total += t.size() * size_bytes(t.dtype);
    if (total <= arch.hbm_bytes) continue;
    out.push_back(broken(memory_rules::kTable, memory_rules::kHbm,
                         {.found = fmt::format("{} bytes with this tensor", total),
                          .allowed = fmt::format("at most {} ({})", arch.hbm_bytes, arch.name),
                          .loc = program.locs[t.loc],
                          .context = fmt::format("{}, {}", title(t), type_text(t))}));
    return;
  }
}

bool spilling_helps(const Diagnostic& d) {
  using namespace memory_rules;
  return d.code == code_of(kTable, kCapacity) || d.code == code_of(kTable, kPieces);
}

}  // namespace kiln::check
