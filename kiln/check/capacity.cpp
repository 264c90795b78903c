#include "kiln/check/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "kiln/check/rules.h"
#include "kiln/check/tensor_text.h"
#include "kiln/isa/table.h"

namespace kiln::check {
using namespace analysis;
namespace {

using isa::Program;
using isa::Tensor;
using isa::TensorId;

constexpr std::size_t kMaxNotes = 12;

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

}  // namespace

void report_overflows(const Program& program, const Arch& arch, const Liveness& liveness, const Allocation& allocation,
                      std::vector<Diagnostic>& out) {
  for (const Overflow& overflow : allocation.overflows) {
    const isa::Node& node = liveness.nodes[overflow.at];
    const MemoryUse& use = allocation.use(overflow.memory);
    const auto alive = alive_at(program, liveness, overflow.memory, overflow.at);
    Diagnostic d = broken(memory_rules::kTable, overflow.too_much ? memory_rules::kCapacity : memory_rules::kPieces,
                          {.loc = loc_of(program, node), .context = statement_text(program, node)});
    // Banks leave little choice; in SBUF the compiler may find another arrangement, or spill.
    if (!overflow.too_much && overflow.memory == Memory::sbuf) d.severity = Severity::warning;
    if (overflow.too_much) {
      d.found = fmt::format("{} {} tensors alive here need {} bytes per partition, {} more than there are",
                            alive.size(), name(overflow.memory), use.peak_bytes, use.peak_bytes - use.available_bytes);
    } else {
      const Tensor& stuck = program.tensors[overflow.tensor];
      d.found = fmt::format("no gap of {} bytes per partition for `{}` among {} {} tensors alive here",
                            stuck.bytes_per_partition(), stuck.name, alive.size(), name(overflow.memory));
    }
    d.allowed = available_text(arch, overflow.memory, use.available_bytes);
    add_notes(program, alive, d);
    out.push_back(std::move(d));
  }
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

}  // namespace kiln::check
