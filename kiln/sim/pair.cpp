#include "kiln/sim/pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/text/print.h"
#include "kiln/sim/pass_teller.h"
#include "kiln/sim/pieces.h"
#include "kiln/sim/rules.h"

namespace kiln::sim {
using namespace isa;

namespace {

std::string at(const Core& core) {
  const Instruction& inst = *core.waiting_at();
  const std::string pass = text_of(named(core.program(), core.pass()));
  return fmt::format("{} at {}{}", print(core.program(), inst), to_string(core.program().locs[inst.loc]),
                     pass.empty() ? "" : fmt::format(" ({})", pass));
}

[[noreturn]] void deadlock(const std::vector<std::unique_ptr<Core>>& cores) {
  std::string because;
  const Core* first = nullptr;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const bool waits = cores[i]->waiting_at();
    if (waits && !first) first = cores[i].get();
    because +=
        fmt::format("{}core {} {}", i ? "; " : "", i, waits ? "waits in " + at(*cores[i]) : std::string("has ended"));
  }
  raise(run_rules::kTable, run_rules::kCoresMeet,
        {.found = because, .loc = first->program().locs[first->waiting_at()->loc]});
}

bool same_meeting(const Core& a, const Core& b) {
  const Instruction &x = *a.waiting_at(), &y = *b.waiting_at();
  if (x.opcode != y.opcode) return false;
  const int channel = info(x.opcode).semantics->facts.exchange.channel;
  return channel < 0 || InstView(a.program(), x).integer(channel) == InstView(b.program(), y).integer(channel);
}

bool is_collective(const Core& core) { return info(core.waiting_at()->opcode).semantics->facts.collective; }

// What travels: bytes and shadows in row-major order.
struct Parcel {
  std::unique_ptr<std::byte[]> own;  // none: the bytes are where the core has them
  const std::byte* bytes;
  std::vector<Shadow> shadow;  // none: all of it was written
};

const Exchange& exchange_of(const Core& core) { return info(core.waiting_at()->opcode).semantics->facts.exchange; }

// `to`: the other core.
Parcel pick_up(Core& from, Core& to) {
  const Operand& src = from.operand(exchange_of(from).sent);
  const auto is_written = [&](Core& by) { return by.operand(exchange_of(by).received).storage == src.storage; };
  Parcel parcel{nullptr, src.tile.data, {}};
  if (!src.tile.is_dense() || is_written(from) || is_written(to)) {
    parcel.own = std::make_unique_for_overwrite<std::byte[]>(src.tile.count() * src.tile.element_bytes());
    parcel.bytes = parcel.own.get();
    for_pieces(src.tile, [&](std::byte* at, std::int64_t position, std::int64_t n) {
      std::memcpy(parcel.own.get() + position, at, n);
    });
  }
  Tracker tracker = from.tracker(*from.waiting_at());
  if (!tracker.is_clean(src.param)) parcel.shadow = tracker.read(src.param);
  return parcel;
}

void deliver(const Parcel& parcel, Core& to) {
  const Operand& dst = to.operand(exchange_of(to).received);
  for_pieces(dst.tile, [&](std::byte* at, std::int64_t position, std::int64_t n) {
    std::memcpy(at, parcel.bytes + position, n);
  });
  Tracker tracker = to.tracker(*to.waiting_at());
  parcel.shadow.empty() ? tracker.write_clean(dst.param) : tracker.write(dst.param, parcel.shadow);
}

void meet(Core& a, Core& b, const Arch& arch, Races& races) {
  a.check_agreement();
  b.check_agreement();
  const InstView at_a(a.program(), *a.waiting_at()), at_b(b.program(), *b.waiting_at());
  if (at_a.facts().exchange.sent >= 0) {
    at_a.facts().check_meeting(at_a, 0, at_b, arch);
    at_b.facts().check_meeting(at_b, 1, at_a, arch);
    // src and dst of a core may be the same elements: both are read before either is written.
    const Parcel from_a = pick_up(a, b), from_b = pick_up(b, a);
    deliver(from_a, b);
    deliver(from_b, a);
  }
  a.resume();
  b.resume();
  races.meet();
}

}  // namespace

bool run_to_collective(const std::vector<std::unique_ptr<Core>>& cores, const Arch& arch, Races& races) {
  std::vector<bool> ended(cores.size());
  while (true) {
    for (std::size_t i = 0; i < cores.size(); ++i) {
      if (!ended[i]) ended[i] = cores[i]->advance();
    }
    if (std::ranges::all_of(ended, std::identity())) {
      for (const auto& core : cores) core->check_agreement();
      return true;
    }
    const bool all_wait = std::ranges::none_of(ended, std::identity());
    const bool alike = all_wait && (cores.size() == 1 || same_meeting(*cores[0], *cores[1]));
    if (alike && is_collective(*cores[0])) return false;
    if (!alike || cores.size() != 2) deadlock(cores);
    meet(*cores[0], *cores[1], arch, races);
  }
}

}  // namespace kiln::sim
