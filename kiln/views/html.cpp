#include "kiln/views/html.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "kiln/base/source.h"
#include "kiln/views/figures.h"
#include "kiln/views/html_parts.h"
#include "kiln/views/json.h"
#include "kiln/views/wait_words.h"

namespace kiln::views {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Inside a script element nothing may look like its end.
std::string script_data(const char* id, std::string json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", id, safe);
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

// A JSON array of what `number` makes of each slice. Pages hold many of them, so they do not become Json
// first.
template <class Number>
void append_array(std::string& out, const char* key, std::size_t count, Number&& number) {
  fmt::format_to(std::back_inserter(out), "\"{}\":[", key);
  for (std::size_t i = 0; i < count; ++i) {
    if (i) out += ',';
    fmt::format_to(std::back_inserter(out), "{}", number(i));
  }
  out += "]";
}

void append_critical(std::string& out, const Row& row) {
  out += "\"critical\":[";
  const char* separator = "";
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!row[i].critical) continue;
    fmt::format_to(std::back_inserter(out), "{}{}", separator, i);
    separator = ",";
  }
  out += "]";
}

// Slices count through all rows of all tracks.
class Numbering {
 public:
  explicit Numbering(const Picture& picture) {
    std::int64_t next = 0;
    for (const Track& track : picture.tracks) {
      first_.emplace_back();
      for (const Row& row : track.rows) {
        first_.back().push_back(next);
        next += static_cast<std::int64_t>(row.size());
      }
    }
  }
  std::int64_t at(const SliceRef& s) const { return first_[s.track][s.row] + s.slice; }

 private:
  std::vector<std::vector<std::int64_t>> first_;  // by track and row
};

// How far before a slice, in their numbers, the one stands that let it start; 0 when there is none. Mostly 1, the
// slice before it, so this is short.
std::int64_t steps_back(const Numbering& numbering, const SliceRef& at, const Slice& slice) {
  return slice.because.known() ? numbering.at(at) - numbering.at(slice.because) : 0;
}

void append_row(std::string& out, const Row& row, SliceRef at, const Numbering& numbering) {
  timing::Time end = 0;
  out += "{";
  append_array(out, "gap", row.size(), [&](std::size_t i) {
    const timing::Time gap = row[i].start - end;
    end = row[i].start + row[i].duration;
    return gap;
  });
  out += ",";
  append_array(out, "duration", row.size(), [&](std::size_t i) { return row[i].duration; });
  out += ",";
  append_array(out, "label", row.size(), [&](std::size_t i) { return row[i].label; });
  out += ",";
  append_array(out, "wait", row.size(), [&](std::size_t i) { return row[i].wait; });
  out += ",";
  append_array(out, "cause", row.size(), [&](std::size_t i) { return row[i].cause; });
  out += ",";
  append_array(out, "because", row.size(), [&](std::size_t i) {
    at.slice = static_cast<std::uint32_t>(i);
    return steps_back(numbering, at, row[i]);
  });
  out += ",";
  append_critical(out, row);
  out += "}";
}

void append_tracks(std::string& out, const Picture& picture) {
  const Numbering numbering(picture);
  out += "\"tracks\":[";
  for (std::uint32_t t = 0; t < picture.tracks.size(); ++t) {
    const Track& track = picture.tracks[t];
    out += fmt::format("{}{{\"name\":{},\"about\":{},\"left_out\":{},\"rows\":[", t ? "," : "", dump(track.name),
                       dump(track.about), track.left_out);
    for (std::uint32_t r = 0; r < track.rows.size(); ++r) {
      if (r) out += ",";
      append_row(out, track.rows[r], {t, r, 0}, numbering);
    }
    out += "]}";
  }
  out += "]";
}

std::string picture_json(const Picture& picture) {
  Json labels = Json::array(), curves = Json::array();
  for (const Label& l : picture.labels)
    labels.push_back({{"name", l.name}, {"detail", l.detail}, {"file", l.file}, {"line", l.line}});
  for (const Curve& c : picture.curves) {
    Json points = Json::array();
    for (const Point& p : c.points) points.push_back({timing::to_ns(p.at), p.value});
    curves.push_back(
        {{"name", c.name}, {"unit", c.unit}, {"about", c.about}, {"limit", c.limit}, {"points", std::move(points)}});
  }
  std::string out = fmt::format("{{\"total_ns\":{},\"slices_left_out\":{},\"causes\":{},\"labels\":{},\"curves\":{},",
                                timing::to_ns(picture.total), picture.slices_left_out, dump(picture.causes),
                                dump(labels), dump(curves));
  append_tracks(out, picture);
  return out + "}";
}

// Figures as people read them instead of the numbers.
Json report_json(const TimeReport& report) {
  Json json = to_json(report);
  json.erase("summary");
  json.erase("critical_path");  // the slices tell it
  for (const Figure& figure : figures())
    json["figures"].push_back(
        {{"key", figure.key}, {"label", figure.label}, {"text", to_text(figure, figure.get(report))}});
  for (int w = 0; w < timing::kWaitCount; ++w)
    json["wait_words"][timing::name(static_cast<timing::Wait>(w))] = words(static_cast<timing::Wait>(w));
  return json;
}

}  // namespace

Sources read_sources(const TimeReport& report) {
  Sources sources;
  for (const LineTime& line : report.lines) {
    const std::string& file = line.place.file;
    if (sources.contains(file)) continue;
    if (std::optional<std::string> text = source_text({file, line.place.line, {}, line.foreign}))
      sources[file] = std::move(*text);  // else the page shows the lines without their text
  }
  return sources;
}

std::string to_html(const TimeReport& report, const Picture& picture, const Sources& sources,
                    const std::vector<Section>& sections) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" "
      "href=\"data:,\">\n"
      "<title>Kiln</title>\n<style>\n";
  page += kHtmlStyle;
  page += "</style>\n</head>\n<body>\n";
  page += kHtmlBody;
  for (const Section& section : sections)
    page += fmt::format("<section><h2>{}</h2><pre>{}</pre></section>\n", escaped(section.title), escaped(section.text));
  page += script_data("report-data", dump(report_json(report)));
  page += script_data("picture-data", picture_json(picture));
  page += script_data("sources-data", dump(Json(sources)));
  page += "<script>\n\"use strict\";\n";
  page += kHtmlScript;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace kiln::views
