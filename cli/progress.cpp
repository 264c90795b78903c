#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace kiln::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kSilence{1000}, kStep{200};
constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace

Progress::Progress(std::string text) {
  if (::isatty(STDERR_FILENO)) thread_ = std::thread([this, text = std::move(text)] { show(text); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  done_changed_.notify_all();
  thread_.join();
}

void Progress::show(const std::string& text) {
  const auto start = Clock::now();
  std::unique_lock lock(mutex_);
  if (done_changed_.wait_for(lock, kSilence, [this] { return done_; })) return;
  do {
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    fmt::print(stderr, "{}{} {:.1f} s", kClearLine, text, elapsed.count());
    std::fflush(stderr);
  } while (!done_changed_.wait_for(lock, kStep, [this] { return done_; }));
  fmt::print(stderr, "{}", kClearLine);
}

}  // namespace kiln::cli
