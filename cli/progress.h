// A line on the terminal that shows that something long is still going on.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace kiln::cli {

// From the first second on shows `text` and the time since construction on stderr, until destroyed. Nothing
// when stderr is no terminal.
class Progress {
 public:
  explicit Progress(std::string text);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void show(const std::string& text);

  std::mutex mutex_;
  std::condition_variable done_changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace kiln::cli
