// A report and its picture as one HTML page that needs nothing else: no network, no other file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kiln/views/picture.h"
#include "kiln/views/time_report.h"

namespace kiln::views {

using Sources = std::map<std::string, std::string, std::less<>>;  // text of a source file by its name in places

// The source files that the lines of a report stand in, as far as they can be read.
Sources read_sources(const TimeReport& report);

// What somebody else has to say about the program, as it is.
struct Section {
  std::string title, text;
};

// Lines of files that `sources` lacks are shown without their text.
std::string to_html(const TimeReport& report, const Picture& picture, const Sources& sources = {},
                    const std::vector<Section>& sections = {});

}  // namespace kiln::views
