#include "kiln/views/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kiln/base/quantity_text.h"
#include "kiln/views/figures.h"
#include "kiln/views/text_table.h"

namespace kiln::views {
namespace {

std::vector<double> values(const Figure& figure, std::span<const Column> columns) {
  std::vector<double> all;
  for (const Column& column : columns) all.push_back(figure.get(*column.report));
  return all;
}

std::string change_text(double before, double after) {
  if (before == after) return "same";
  return before == 0 ? "new" : fmt::format("{:+.1f} %", 100 * (after / before - 1));
}

}  // namespace

std::string compare_text(std::span<const Column> columns) {
  const bool pair = columns.size() == 2;
  std::vector<Align> aligns(columns.size() + 2, Align::right);
  aligns[0] = Align::left;
  TextTable table(std::move(aligns));
  std::vector<std::string> head{""}, bottlenecks{"bottleneck"};
  for (const Column& column : columns) {
    head.push_back(column.title);
    bottlenecks.push_back(column.report->lanes[column.report->bottleneck].name);
  }
  if (pair) head.push_back("change");
  table.add(std::move(head));
  table.add(std::move(bottlenecks));
  for (const Figure& figure : figures()) {
    const std::vector<double> all = values(figure, columns);
    if (std::all_of(all.begin(), all.end(), [](double v) { return v == 0; })) continue;
    std::vector<std::string> row{std::string(figure.label)};
    for (const double value : all) row.push_back(to_text(figure, value));
    if (pair) row.push_back(change_text(all[0], all[1]));
    table.add(std::move(row));
  }
  return table.to_text(0);
}

nlohmann::ordered_json compare_json(std::span<const Column> columns) {
  nlohmann::ordered_json json{{"columns", nlohmann::ordered_json::array()},
                              {"bottlenecks", nlohmann::ordered_json::array()},
                              {"figures", nlohmann::ordered_json::object()}};
  for (const Column& column : columns) {
    json["columns"].push_back(column.title);
    json["bottlenecks"].push_back(column.report->lanes[column.report->bottleneck].name);
  }
  for (const Figure& figure : figures()) json["figures"][std::string(figure.key)] = values(figure, columns);
  return json;
}

}  // namespace kiln::views
