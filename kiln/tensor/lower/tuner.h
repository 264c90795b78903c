// Tuner: level 3, a search with the timing model. It asks for candidates to be timed and is told their times, so that
// whoever drives it may time them where he likes. What it asks for depends on the program, the seed and the times
// alone; times that it knows already, from a file, cost nothing: a search that was stopped goes on where it was.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>

#include "kiln/tensor/lower/instruction_knobs.h"
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
  // What is tried in turn: changes of regions, one by one and then at random; changes of instructions, those of one
  // kind together, one by one, at random.
  enum class Stage : std::uint8_t { regions, some_regions, kinds, instructions, some_instructions, done };
  std::vector<Knobs> round();
  void next_regions(std::vector<Knobs>& out);
  void some_regions(std::vector<Knobs>& out);
  void next_kinds(std::vector<Knobs>& out);
  void next_instructions(std::vector<Knobs>& out);
  void some_instructions(std::vector<Knobs>& out);
  void change(Knobs& knobs, int key, int value) const;
  void find_instructions();
  std::string describe(const Knobs& knobs) const;
  void finish_round();
  void go_on(bool better);
  std::shared_ptr<const Compiled> made_of(const Knobs& regions) const;
  std::optional<Compiled> built(const Knobs& knobs) const;

  CompileOptions options_;
  std::string key_;
  Solved solved_;
  TuningSpace space_;
  std::mt19937 random_;
  std::map<Knobs, double> times_, known_;
  std::vector<Knobs> asked_;        // of this round
  std::vector<std::size_t> order_;  // knobs of regions, those of the longest regions first
  std::vector<InstructionKnob> instructions_;
  std::vector<int> kinds_;  // of instructions
  Stage stage_ = Stage::regions;
  std::size_t sweep_ = 0;  // of the changes of a stage that come one after the other
  int dry_ = 0;            // rounds without anything new
  Knobs best_;
  std::vector<Knobs> improved_;  // what was best, one after the other
  double first_ns_ = 0, best_ns_ = 0;
  std::size_t allowed_ = 0;   // warnings of check: those of level 2
  mutable std::mutex mutex_;  // of what was made last: changes of its instructions begin with it
  mutable Knobs last_;
  mutable std::shared_ptr<const Compiled> last_made_;
};

struct TuneOptions {
  double seconds = 60;
  unsigned seed = 0;
  std::string file = {};  // times that are known; written every second, and at the end
  std::function<void(const Tuner&, double part)> progress;  // after every round; part of the time that is over
};
// Searches until the time is over or nothing is left to try.
Compiled tuned(const Graph& graph, const CompileOptions& options, const TuneOptions& how = {});

}  // namespace kiln::tensor
