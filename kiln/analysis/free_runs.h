// FreeRuns: where a row of equal places, which come to be taken and free again, has enough free ones side by side.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace kiln::analysis {

// A list of what is taken, and from the moment on where that is much, a tree over the places, where asking and changing
// take as long as it is high.
class FreeRuns {
 public:
  explicit FreeRuns(std::int32_t places) : places_(places) {}

  // Takes places [begin, end) once more (step 1), or once less (step -1) after they were taken so.
  void take(std::int32_t begin, std::int32_t end, int step) {
    if (begin < end) nodes_.empty() ? take_few({begin, end}, step) : take({1, 0, leaves_}, begin, end, step);
  }
  // The first place from which `count` places are free; -1 when there is none.
  std::int32_t find(std::int32_t count) const;

 private:
  struct Node {
    std::int32_t taken = 0;                           // how often as a whole
    std::int32_t before = 0, after = 0, longest = 0;  // free places at its beginning, at its end, side by side
  };
  struct Part {
    std::size_t node;
    std::int32_t begin, end;
    std::int32_t middle() const { return begin + (end - begin) / 2; }
    Part left() const { return {2 * node, begin, middle()}; }
    Part right() const { return {2 * node + 1, middle(), end}; }
  };
  void take(const Part& part, std::int32_t begin, std::int32_t end, int step);
  void sum_up(const Part& part);

  using Taken = std::pair<std::int32_t, std::int32_t>;  // begin, end
  void take_few(Taken run, int step);
  std::int32_t find_few(std::int32_t count) const;
  void grow_tree();

  std::int32_t places_;
  std::vector<Taken> taken_;  // by their beginning; empty when there is a tree
  std::int32_t leaves_ = 0;   // of the tree
  std::vector<Node> nodes_;   // empty: there is none
};

}  // namespace kiln::analysis
