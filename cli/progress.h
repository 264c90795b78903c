// A line on the terminal that shows that something long is still going on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace kiln::cli {

// From the first second on shows `text` and the time since construction on stderr, until destroyed, and a bar
// once something is done. Nothing when stderr is no terminal.
class Progress {
 public:
  explicit Progress(std::string text);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  std::atomic<double>& done() { return done_part_; }  // 0 to 1; 0: not known
  void next(std::string text);                        // the next piece of work begins

 private:
  void show();

  std::string text_;
  std::atomic<double> done_part_ = 0;
  std::mutex mutex_;
  std::condition_variable done_changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace kiln::cli
