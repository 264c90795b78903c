// Tuner: level 3, a search with the timing model. It asks for candidates to be timed and is told their times, so that
// whoever drives it may time them where he likes. What it asks for depends on the program, the seed and the times
// alone; times that it knows already, from a file, cost nothing: a search that was stopped goes on where it was.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "kiln/tensor/lower/tuning_knobs.h"

namespace kiln::tensor {

class Tuner {
 public:
  // Compiles at level 2, which is the first candidate.
  Tuner(const Graph& graph, const CompileOptions& options, unsigned seed = 0);

  // The next candidates whose times are not known, at most eight; none when there is nothing left to try.
  std::vector<Knobs> ask();
  // Predicted nanoseconds; infinity for what is no legal program. Any thread may ask.
  double time(const Knobs& knobs) const;
  void tell(const Knobs& knobs, double ns);

  double first_ns() const { return first_ns_; }
  double best_ns() const { return best_ns_; }
  const Knobs& best() const { return best_; }
  std::size_t tried() const { return times_.size(); }
  // The fastest program, or that of level 2 where nothing is faster.
  Compiled compiled();

  // Times that are known, as text, and back. Text of another program or version is as none.
  std::string state() const;
  void restore(const std::string& text);

 private:
  std::vector<Knobs> round();
  void finish_round();

  CompileOptions options_;
  std::string key_;
  Solved solved_;
  TuningSpace space_;
  std::mt19937 random_;
  std::map<Knobs, double> times_, known_;
  std::vector<Knobs> asked_;        // of this round
  std::vector<std::size_t> order_;  // knobs, those of the longest regions first
  std::size_t sweep_ = 0;           // of single changes, which come first
  int dry_ = 0;                     // rounds without anything new
  Knobs best_;
  double first_ns_ = 0, best_ns_ = 0;
};

struct TuneOptions {
  double seconds = 60;
  unsigned seed = 0;
  std::string file = {};                                    // times that are known; written after every round
  std::function<void(const Tuner&, double part)> progress;  // after every round; part of the time that is over
};
// Searches until the time is over or nothing is left to try.
Compiled tuned(const Graph& graph, const CompileOptions& options, const TuneOptions& how = {});

}  // namespace kiln::tensor
