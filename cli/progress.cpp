#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace kiln::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kSilence{1000}, kStep{200};
constexpr const char* kClearLine = "\r\x1b[K";

std::string bar(double part) {
  constexpr int kCells = 30;
  if (part <= 0) return {};
  const int full = static_cast<int>(std::min(part, 1.0) * kCells);
  return fmt::format(" [{:=<{}}{:{}}] {:3.0f} %", "", full, "", kCells - full, 100 * std::min(part, 1.0));
}

}  // namespace

Progress::Progress(std::string text) : text_(std::move(text)) {
  if (::isatty(STDERR_FILENO)) thread_ = std::thread([this] { show(); });
}

void Progress::next(std::string text) {
  const std::lock_guard lock(mutex_);
  text_ = std::move(text);
  done_part_ = 0;
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

void Progress::show() {
  const auto start = Clock::now();
  std::unique_lock lock(mutex_);
  if (done_changed_.wait_for(lock, kSilence, [this] { return done_; })) return;
  do {
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    fmt::print(stderr, "{}{}{} {:.1f} s", kClearLine, text_, bar(done_part_), elapsed.count());
    std::fflush(stderr);
  } while (!done_changed_.wait_for(lock, kStep, [this] { return done_; }));
  fmt::print(stderr, "{}", kClearLine);
}

}  // namespace kiln::cli
