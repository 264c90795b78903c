#include "kiln/sim/race.h"

#include "kiln/sim/spans.h"

namespace kiln::sim {
namespace {
constexpr std::uint8_t kManySites = 63;  // a site that has no number of its own
constexpr std::uint8_t kRunTime = 64;    // added to the site of a write whose place the run decides
constexpr std::uint8_t kScatter = 128;   // and of one at the rows of an index tile

// The first byte that is written in `theirs` and not in `mine`.
std::uint8_t first_foreign(const ByteMap& theirs, const ByteMap& mine, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    if (mine.at(i) == 0 && theirs.at(i) != 0) return theirs.at(i);
  }
  return 0;
}

void add_byte(ByteRanges& ranges, std::int64_t i) {
  if (!ranges.empty() && ranges.back().second == i) {
    ++ranges.back().second;
  } else {
    ranges.push_back({i, i + 1});
  }
}

}  // namespace

bool is_scattered(const isa::Program& program, const isa::Access& access) {
  if (access.dynamic == isa::kNone) return false;
  const auto kind = program.dynamics[access.dynamic].kind;
  return kind == isa::Dynamic::Kind::vector || kind == isa::Dynamic::Kind::indirect;
}

void Races::add_ranges(const Maps& m, int core, std::int64_t begin, std::int64_t end, Clash& clash) {
  for (std::int64_t i = begin; i < end; ++i) {
    const std::uint8_t wrote = m.write[1 - core].at(i);
    if (!(wrote || m.read[1 - core].at(i)) || m.write[core].at(i)) continue;
    add_byte(clash.ranges, i);
    if (wrote & kScatter) add_byte(clash.scattered, i);
  }
}

std::uint8_t Races::site(const isa::Instruction& inst) {
  if (!sites_.empty() && sites_.back() == &inst) return static_cast<std::uint8_t>(sites_.size());
  if (sites_.size() + 1 >= kManySites) return kManySites;
  sites_.push_back(&inst);
  return static_cast<std::uint8_t>(sites_.size());
}

Races::Maps& Races::maps(const Storage& storage) {
  Maps& m = maps_[&storage];
  if (m.phase == phase_) return m;
  m.phase = phase_;
  for (int core : {0, 1}) {
    m.read[core].reset(storage.rows * storage.row_bytes, 0);
    m.write[core].reset(storage.rows * storage.row_bytes, 0);
  }
  return m;
}

bool Races::is_scattered(int core, const Storage& storage, std::int64_t byte) {
  return maps(storage).write[core].at(byte) & kScatter;
}

Races::Clash Races::access(int core, const isa::Program& program, const isa::Instruction& inst, const Operand& operand,
                           bool writes) {
  Maps& m = maps(*operand.storage);
  programs_[core] = &program;
  std::uint8_t own = site(inst);
  if (writes && operand.access->dynamic != isa::kNone) own |= kRunTime;
  if (writes && kiln::sim::is_scattered(program, *operand.access)) own |= kScatter;
  ByteMap &mine = (writes ? m.write : m.read)[core], &their_writes = m.write[1 - core], &their_reads = m.read[1 - core];
  const ByteMap& my_writes = m.write[core];
  std::uint8_t wrote = 0, read = 0;
  Clash clash;
  for_spans(operand, [&](std::int64_t byte, std::int64_t bytes, std::int64_t, std::int64_t) {
    if (!wrote) {
      wrote = their_writes.first_nonzero(byte, byte + bytes);
      if (wrote && !writes) wrote = first_foreign(their_writes, my_writes, byte, byte + bytes);
    }
    if (writes && !read) read = their_reads.first_nonzero(byte, byte + bytes);
    if (writes && (read || wrote)) add_ranges(m, core, byte, byte + bytes, clash);
    mine.fill(byte, byte + bytes, own);
  });
  const std::uint8_t other = (read ? read : wrote) & kManySites;
  clash.found = other != 0;
  clash.they_write = !read;
  clash.at_run_time = !read && (wrote & kRunTime);
  clash.program = programs_[1 - core];
  if (other && other != kManySites) clash.inst = sites_[other - 1];
  return clash;
}

}  // namespace kiln::sim
