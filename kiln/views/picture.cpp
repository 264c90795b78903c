#include "kiln/views/picture.h"

namespace kiln::views {

std::size_t Picture::slice_count() const {
  std::size_t count = 0;
  for (const Track& track : tracks) {
    for (const Row& row : track.rows) count += row.size();
  }
  return count;
}

SliceRef Picture::add(std::uint32_t track, const Slice& slice) {
  std::vector<Row>& rows = tracks[track].rows;
  std::uint32_t r = 0;
  while (r < rows.size() && rows[r].back().start + rows[r].back().duration > slice.start) ++r;
  if (r == rows.size()) rows.emplace_back();
  rows[r].push_back(slice);
  return {track, r, static_cast<std::uint32_t>(rows[r].size() - 1)};
}

}  // namespace kiln::views
