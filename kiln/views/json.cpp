#include "kiln/views/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "kiln/views/figures.h"

namespace kiln::views {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Place& place) { return {{"file", place.file}, {"line", place.line}}; }

// Counts and bytes are whole numbers unless they are means.
Json json_of(const Figure& figure, double value) {
  const bool whole = (figure.unit == Unit::count || figure.unit == Unit::bytes) && value == std::floor(value);
  return whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

Json json_of(const LaneUse& lane) {
  Json waiting = Json::object();
  for (int w = 0; w < timing::kWaitCount; ++w) {
    if (lane.waiting_ns[w] > 0) waiting[timing::name(static_cast<timing::Wait>(w))] = lane.waiting_ns[w];
  }
  Json json{{"name", lane.name},
            {"instruction_count", lane.instructions},
            {"busy_ns", lane.busy_ns},
            {"active_ns", lane.active_ns},
            {"waiting_ns", std::move(waiting)}};
  if (lane.queues) json["queues"] = lane.queues;
  return json;
}

Json json_of(const RankUse& ranks) {
  return {{"name", ranks.name},
          {"count", ranks.count},
          {"total_ns", ranks.total_ns},
          {"links_ns", ranks.links_ns},
          {"exposed_ns", ranks.exposed_ns}};
}

Json json_of(const LineTime& line) {
  Json json = json_of(line.place);
  json["instructions"] = line.instructions;
  json["executions"] = line.executions;
  json["busy_ns"] = line.busy_ns;
  json["waiting_ns"] = line.waiting_ns;
  json["waits_for"] = timing::name(line.waits_for);
  json["critical_ns"] = line.critical_ns;
  return json;
}

Json json_of(const PathStep& step) {
  Json json = json_of(step.place);
  json["lane"] = step.lane;
  json["instruction"] = step.instruction;
  json["wait"] = timing::name(step.wait);
  json["time_ns"] = step.time_ns;
  json["repeats"] = step.repeats;
  return json;
}

Json json_of(const Roofline& roof) {
  Json ceilings = Json::array();
  for (const Ceiling& c : roof.ceilings) {
    ceilings.push_back({{"name", c.name},
                        {"unit", c.is_bytes ? "bytes" : "flops"},
                        {"work", c.work},
                        {"peak_per_ns", c.peak_per_ns},
                        {"least_ns", c.least_ns()}});
  }
  return {{"flops", roof.flops},
          {"hbm_bytes", roof.hbm_bytes},
          {"intensity", roof.intensity()},
          {"ridge", roof.ridge()},
          {"achieved_flops_per_ns", roof.achieved_flops_per_ns},
          {"peak_flops_per_ns", roof.peak_flops_per_ns},
          {"peak_bytes_per_ns", roof.peak_bytes_per_ns},
          {"lowest", roof.lowest().name},
          {"ceilings", std::move(ceilings)}};
}

Json json_of(const Advice& advice) {
  Json places = Json::array();
  for (const Place& place : advice.places.first) places.push_back(json_of(place));
  return {{"rule", advice.rule},
          {"found", advice.found},
          {"remedy", advice.remedy},
          {"lines", std::move(places)},
          {"lines_left_out", advice.places.left_out},
          {"gain_ns", advice.gain_ns},
          {"estimate", advice.estimate}};
}

template <class Items>
Json list(const Items& items) {
  Json json = Json::array();
  for (const auto& item : items) json.push_back(json_of(item));
  return json;
}

}  // namespace

Json to_json(const TimeReport& r) {
  Json summary = Json::object();
  for (const Figure& figure : figures()) summary[std::string(figure.key)] = json_of(figure, figure.get(r));
  return {{"program", r.program},
          {"target", r.target},
          {"what_if", r.what_if},
          {"order", r.reordered ? "reordered" : "program"},
          {"compiled", r.compiled},
          {"total_ns", r.total_ns},
          {"band", {{"low_ns", r.low_ns}, {"high_ns", r.high_ns}, {"basis", r.band_basis}, {"rows", r.band_rows}}},
          {"bottleneck", r.lanes[r.bottleneck].name},
          {"summary", std::move(summary)},
          {"topology", r.topology},
          {"ranks", list(r.ranks)},
          {"engines", list(r.lanes)},
          {"lines", list(r.lines)},
          {"critical_path", list(r.critical_path)},
          {"critical_path_left_out", r.critical_path_left_out},
          {"roofline", json_of(r.roofline)},
          {"advice", list(r.advice)}};
}

}  // namespace kiln::views
