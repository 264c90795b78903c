#include "cli/side_by_side.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "kiln/analysis/engine_counts.h"
#include "kiln/arch/arch.h"
#include "kiln/views/text_table.h"

namespace kiln::cli {
namespace {

using Cells = std::vector<std::string>;

std::string verdict_text(const check::Verdict& v) {
  const auto plural = [](std::size_t n, const char* word) {
    return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
  };
  std::string text = v.errors == 0 ? "ok" : plural(v.errors, "error");
  return v.warnings ? text + ", " + plural(v.warnings, "warning") : text;
}

std::string use_text(const analysis::MemoryUse& use) {
  return fmt::format("{} of {}", use.peak_bytes, use.available_bytes);
}

// What one core of a legal program uses, by label.
std::vector<std::pair<std::string, std::string>> uses(const check::Checked& core) {
  std::vector<std::pair<std::string, std::string>> rows{
      {"SBUF, bytes per partition", use_text(core.allocation->sbuf)},
      {"PSUM, bytes per partition", use_text(core.allocation->psum)},
      {"instructions", fmt::format("{}", core.program->instructions.size())}};
  analysis::for_each_engine(analysis::count_by_engine(*core.program, arch(core.program->target)),
                            [&](const std::string& engine, std::int64_t count) {
                              rows.emplace_back("  " + engine, fmt::format("{}", count));
                            });
  return rows;
}

// Adds the rows of a core: one for each label that any chip has, `-` where one has it not.
void add_core(views::TextTable& table, std::span<const check::Verdict> verdicts, std::size_t core) {
  std::vector<std::string> labels;
  std::map<std::string, Cells> rows;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i].errors || core >= verdicts[i].cores.size()) continue;
    for (auto& [label, text] : uses(verdicts[i].cores[core])) {
      const auto [row, is_new] = rows.try_emplace(label, Cells(verdicts.size(), "-"));
      if (is_new) labels.push_back(label);
      row->second[i] = std::move(text);
    }
  }
  for (const std::string& label : labels) {
    Cells cells{label};
    cells.insert(cells.end(), rows[label].begin(), rows[label].end());
    table.add(std::move(cells));
  }
}

// What makes diagnostics of two chips the same; what was found names the chip here and there.
auto key_of(const Diagnostic& d) {
  return std::tuple(d.severity, d.code, d.loc.file, d.loc.line, d.loc.stack, d.context, d.operand);
}

}  // namespace

std::string side_by_side(std::span<const check::Verdict> verdicts) {
  std::vector<views::Align> aligns(verdicts.size() + 1, views::Align::right);
  aligns[0] = views::Align::left;
  views::TextTable table(std::move(aligns));
  Cells head{""}, texts{"verdict"};
  std::size_t cores = 0;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    head.emplace_back(all_archs()[i]->name);
    texts.push_back(verdict_text(verdicts[i]));
    cores = std::max(cores, verdicts[i].errors ? 0 : verdicts[i].cores.size());
  }
  table.add(std::move(head));
  table.add(std::move(texts));
  for (std::size_t core = 0; core < cores; ++core) {
    if (cores > 1) table.add({fmt::format("core {}", core)});
    add_core(table, verdicts, core);
  }
  return verdicts[0].title + '\n' + table.to_text();
}

std::vector<Diagnostic> each_once(std::span<const std::vector<Diagnostic>> by_chip) {
  using Key = decltype(key_of(by_chip[0][0]));
  std::vector<Diagnostic> once;
  std::vector<std::vector<std::string_view>> chips_of;       // of each: the chips that have it
  std::map<std::pair<Key, std::size_t>, std::size_t> known;  // a key and how often the chip had it before
  for (std::size_t i = 0; i < by_chip.size(); ++i) {
    std::map<Key, std::size_t> times;
    for (const Diagnostic& d : by_chip[i]) {
      const auto [it, is_new] = known.try_emplace({key_of(d), times[key_of(d)]++}, once.size());
      if (is_new) {
        once.push_back(d);
        chips_of.emplace_back();
      }
      chips_of[it->second].push_back(all_archs()[i]->name);
    }
  }
  for (std::size_t i = 0; i < once.size(); ++i) {
    const char* only = chips_of[i].size() == 1 ? " only" : "";
    once[i].notes.push_back({fmt::format("on {}{}", fmt::join(chips_of[i], " and "), only), {}});
  }
  return once;
}

}  // namespace kiln::cli
