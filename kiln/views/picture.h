// Picture: a run as slices on tracks, arrows between slices, and curves over time. What the trace file and
// the page both draw.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/timing/timeline.h"

namespace kiln::views {

// Where a slice stands in the picture.
struct SliceRef {
  std::uint32_t track = 0xffffffffu, row = 0, slice = 0;
  bool known() const { return track != 0xffffffffu; }
};

// A span of one row. Times count picoseconds, as in a timeline.
struct Slice {
  timing::Time start = 0, duration = 0;
  std::uint32_t label = 0;  // Picture::labels
  bool critical = false;    // on the critical path
  timing::Time wait = 0;    // how long it stood ready behind what it waited for
  std::uint32_t cause = 0;  // Picture::causes: what it waited for; 0 is "nothing"
  SliceRef because = {};    // the slice that let it start, also when that was its turn on the lane
};

// Slices that do not overlap, in order of time.
using Row = std::vector<Slice>;

// An engine or a queue. It has more than one row when its slices overlap.
struct Track {
  std::string name;
  std::vector<Row> rows;
  bool left_out = false;   // its slices stand for iterations that are not drawn
  std::string about = {};  // what it is, for a legend
};

// `to` could not start before `from` was done.
struct Flow {
  SliceRef from, to;
};

struct Point {
  timing::Time at = 0;
  double value = 0;  // holds until the next point
};
struct Curve {
  std::string name, unit, about;
  double limit = 0;  // what the chip has; 0: unknown
  std::vector<Point> points;
};

// What an instruction of the program is called and where it stands.
struct Label {
  std::string name;    // nc_matmul
  std::string detail;  // the instruction as text
  std::string file;
  int line = 0;  // 0: unknown
};

struct Picture {
  std::string title;
  timing::Time total = 0;
  std::vector<Label> labels;
  std::vector<std::string> causes{""};
  std::vector<Track> tracks;
  std::vector<Flow> flows;
  std::vector<Curve> curves;
  std::size_t slices_left_out = 0;

  std::size_t slice_count() const;
  // Puts a slice into the first row of the track that is free by then. Slices of a track come in order of
  // their start.
  SliceRef add(std::uint32_t track, const Slice& slice);
};

}  // namespace kiln::views
