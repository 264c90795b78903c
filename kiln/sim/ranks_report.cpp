#include "kiln/sim/ranks_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "kiln/isa/default_arg.h"
#include "kiln/isa/replica_groups.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/text/print.h"
#include "kiln/sim/pass_teller.h"
#include "kiln/sim/rules.h"

namespace kiln::sim {
using namespace isa;
namespace {

std::string tiles_text(const InstView& inst, int param) {
  std::vector<std::string> parts;
  if (inst.is_tile(param)) return fmt::format("{} {}", name(inst.dtype(param)), shape_text(inst.access(param)));
  for (const Access& a : inst.accesses(param)) parts.push_back(fmt::format("{} {}", name(a.dtype), shape_text(a)));
  return fmt::format("{}", fmt::join(parts, " and "));
}

bool same_lists(const InstView& a, const InstView& b, int param) {
  return std::ranges::equal(a.integers(param), b.integers(param));
}

// "rank 3", "ranks 0 to 2 and 5"
std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    parts.push_back(end - i > 1 ? fmt::format("{} to {}", ranks[i], ranks[end - 1]) : std::to_string(ranks[i]));
    i = end;
  }
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 < parts.size() ? ", " : " and ") + parts[i];
  return text;
}

struct Where {
  std::string text;  // as all ranks have it that are there
  SourceLoc loc;
  std::vector<int> ranks;
};

std::vector<Where> places_of(const std::vector<Rank*>& ranks) {
  std::vector<Where> places;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    Where here{"has ended", {}, {static_cast<int>(r)}};
    if (!ranks[r]->ended) {
      const Stop& stop = ranks[r]->stops[0];
      const std::string pass = text_of(named(*stop.program, stop.pass));
      here.text = fmt::format("waits in {}{}", print(*stop.program, *stop.inst),
                              pass.empty() ? "" : fmt::format(" ({})", pass));
      here.loc = stop.program->locs[stop.inst->loc];
    }
    const auto same =
        std::ranges::find_if(places, [&](const Where& w) { return w.text == here.text && w.loc == here.loc; });
    if (same == places.end()) {
      places.push_back(std::move(here));
    } else {
      same->ranks.push_back(static_cast<int>(r));
    }
  }
  return places;
}

// The first rank that another one waits for and that is elsewhere, in words.
std::string reason(const std::vector<Rank*>& ranks) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r]->ended) continue;
    const InstView here = ranks[r]->stops[0].view();
    for (const std::int64_t other : meeting_ranks(here, static_cast<std::int64_t>(r))) {
      if (ranks[other]->ended) return fmt::format("rank {} waits for rank {}, which has ended", r, other);
      const std::string how = difference(here, ranks[other]->stops[0].view());
      if (!how.empty()) return fmt::format("rank {} waits for rank {}, which {}", r, other, how);
    }
  }
  return "the ranks wait for each other";
}

}  // namespace

std::string difference(const InstView& a, const InstView& b) {
  if (a.inst().opcode != b.inst().opcode) return fmt::format("is in {}, not in {}", b.row().name, a.row().name);
  const bool own_sizes = a.facts().collective->own_sizes;
  const auto& params = a.row().params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const int param = static_cast<int>(i);
    const ParamInfo& p = params[i];
    if (p.is_tile()) {
      if (!own_sizes && tiles_text(a, param) != tiles_text(b, param))
        return fmt::format("has {} for {}, not {}", tiles_text(b, param), p.name, tiles_text(a, param));
    } else if (a.arg(param).kind == Arg::Kind::integers || b.arg(param).kind == Arg::Kind::integers) {
      if (!same_lists(a, b, param)) return fmt::format("has another {}", p.name);
    } else if (!same_scalar(a.arg(param), b.arg(param))) {
      return fmt::format("has another {}", p.name);
    }
  }
  return "";
}

void report_waiting(const std::vector<Rank*>& ranks) {
  const std::vector<Where> places = places_of(ranks);
  std::vector<Note> notes;
  SourceLoc first;
  for (const Where& w : places) {
    if (!first.known()) first = w.loc;
    const bool several = w.ranks.size() > 1;
    std::string text = w.text;
    if (several) text = text.starts_with("waits") ? "wait" + text.substr(5) : "have ended";
    notes.push_back({fmt::format("{} {}", ranks_text(w.ranks), text), w.loc});
  }
  raise(run_rules::kTable, run_rules::kRanksMeet, {.found = reason(ranks), .loc = first, .notes = std::move(notes)});
}

}  // namespace kiln::sim
