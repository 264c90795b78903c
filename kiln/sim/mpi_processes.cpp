#include "kiln/sim/mpi_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "kiln/base/thread_count.h"
#include "kiln/sim/mpi_load.h"
#include "kiln/sim/mpi_rules.h"

namespace kiln::sim {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kChunk = 4 << 20;  // bytes of one message at most
constexpr int kControl = 1;              // a tag; those of the channels follow it
constexpr std::chrono::milliseconds kBeat{1000}, kLook{100};
constexpr int kSilentSeconds = 8;
constexpr char kAlive = 'a', kEnded = 'e', kGivesUp = 'g';  // first letters of control messages

int tag_of(Channel channel) { return kControl + 1 + static_cast<int>(channel); }

int silent_seconds() {
  const char* text = std::getenv("KILN_MPI_TIMEOUT");
  return text && std::atoi(text) > 0 ? std::atoi(text) : kSilentSeconds;
}

// How many processes mpirun started on this machine; 1 when it does not say.
int processes_here() {
  const char* text = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  return text ? std::max(1, std::atoi(text)) : 1;
}

// All calls of MPI happen under one mutex. A thread of its own tells the others that this process lives, while the one
// that runs the program computes: every process tells process 0, which tells all.
class MpiProcesses final : public Processes {
 public:
  explicit MpiProcesses(const Plugin& plugin)
      : mpi_(plugin), self_(plugin.process()), count_(plugin.count()), heard_(count_, Clock::now()), ended_(count_) {
    beats_ = std::thread([this] { beat(); });
  }
  int self() const override { return self_; }
  int count() const override { return count_; }

  void send(int to, std::span<const std::byte> bytes, Channel channel) override {
    in_chunks(bytes, [&](std::size_t at, int size) {
      add(sends_, mpi_.send(to, tag_of(channel), bytes.data() + at, size), to);
    });
  }
  void receive(int from, std::span<std::byte> bytes, Channel channel) override {
    in_chunks(bytes, [&](std::size_t at, int size) {
      add(receives_, mpi_.receive(from, tag_of(channel), bytes.data() + at, size), from);
    });
  }
  void wait() override {
    wait_until([this] { return are_done(receives_) && are_done(sends_); });
  }
  void wait_for_received() override {
    wait_until([this] { return are_done(receives_); });
  }
  void give_up(const std::string& why) noexcept override {
    try {
      std::lock_guard lock(mutex_);
      if (!trouble_.empty()) return;
      tell_all(kGivesUp + why);
      fail(why);
    } catch (...) {  // the others see that this process is silent
    }
  }
  // The process ends. After trouble MPI is left as it is: mpirun ends the others then.
  void end() {
    {
      std::lock_guard lock(mutex_);
      if (trouble_.empty()) tell_all(std::string(1, kEnded));
      stop_ = true;
    }
    stopped_.notify_all();
    beats_.join();
    if (trouble_.empty()) mpi_.end();
  }

 private:
  struct Request {
    void* handle;
    int with;
  };
  using Requests = std::deque<Request>;

  template <class Work>
  void in_chunks(std::span<const std::byte> bytes, const Work& work) {
    std::lock_guard lock(mutex_);
    for (std::size_t at = 0; at < bytes.size(); at += kChunk)
      work(at, static_cast<int>(std::min(kChunk, bytes.size() - at)));
  }

  template <class Done>
  void wait_until(const Done& done) {
    for (int looks = 0;; ++looks) {
      {
        std::lock_guard lock(mutex_);
        require_all_well();
        if (done()) return require_all_well();
        if (looks % 64 == 63) require_all_there();
      }
      rest(looks);
    }
  }
  // MPI looks at all messages whichever is asked for, so the first one tells enough.
  bool are_done(Requests& requests) {
    while (!requests.empty() && is_done(requests.front())) requests.pop_front();
    return requests.empty();
  }
  void require_all_there() {
    for (Requests* requests : {&receives_, &sends_}) {
      std::erase_if(*requests, [this](const Request& r) { return is_done(r); });
      for (const Request& r : *requests) {  // what it sent before has come by now
        if (ended_[r.with]) fail(fmt::format("process {} has ended, and this process {} waits for it", r.with, self_));
      }
    }
    listen();
  }

  // Between two looks at messages that have not come. Where processes outnumber processors, whoever waits takes time
  // from those who compute: it sleeps at once.
  void rest(int looks) const {
    constexpr int kBusy = 2000, kBusyTogether = 4;  // looks before others get the processor for longer
    constexpr std::chrono::microseconds kSleep{200}, kSleepTogether{50};
    if (looks < (together_ ? kBusyTogether : kBusy)) return std::this_thread::yield();
    std::this_thread::sleep_for(together_ && looks < 10 * kBusyTogether ? kSleepTogether : kSleep);
  }

  void add(Requests& requests, void* handle, int with) {
    if (!handle) fail(fmt::format("MPI refuses a message between this process {} and process {}", self_, with));
    if (handle) requests.push_back({handle, with});
  }
  bool is_done(const Request& r) {
    const int state = mpi_.test(r.handle);
    if (state < 0) fail(fmt::format("a message between this process {} and process {} is lost", self_, r.with));
    return state > 0;
  }
  // From now on nothing is sent or received any more: the memory of open messages is not this class's.
  void fail(std::string why) {
    if (trouble_.empty()) trouble_ = std::move(why);
  }
  void require_all_well() const {
    if (!trouble_.empty()) raise(mpi_rules::kTable, mpi_rules::kProcessesStay, {.found = trouble_});
  }

  // Short messages that nobody waits for.
  void tell(int to, std::string text) {
    std::erase_if(told_, [this](const Told& t) { return mpi_.test(t.handle) != 0; });
    Told& t = told_.emplace_back(Told{nullptr, std::move(text)});
    t.handle = mpi_.send(to, kControl, t.text.data(), static_cast<int>(t.text.size()));
    if (!t.handle) told_.pop_back();
  }
  void tell_all(const std::string& text) {
    for (int p = 0; p < count_; ++p) {
      if (p != self_) tell(p, text);
    }
    for (int i = 0; i < 100 && !told_.empty(); ++i) {  // MPI works only while somebody calls it
      std::erase_if(told_, [this](const Told& t) { return mpi_.test(t.handle) != 0; });
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void listen() {
    int from = 0, bytes = 0;
    while (trouble_.empty() && mpi_.look(kControl, &from, &bytes)) {
      std::string text(bytes, '\0');
      void* handle = mpi_.receive(from, kControl, text.data(), bytes);
      while (handle && mpi_.test(handle) == 0) {
      }
      heard_[from] = Clock::now();
      if (text[0] == kGivesUp) fail(fmt::format("process {} gives up: {}", from, text.substr(1)));
      if (text[0] == kEnded) ended_[from] = true;
    }
  }

  bool watches(int process) const { return process != self_ && (self_ == 0 || process == 0); }

  void beat() {
    const auto allowed = std::chrono::seconds(silent_seconds());
    Clock::time_point last = Clock::now() - kBeat;
    std::unique_lock lock(mutex_);
    while (!stopped_.wait_for(lock, kLook, [this] { return stop_; })) {
      if (!trouble_.empty()) continue;
      listen();
      const Clock::time_point now = Clock::now();
      for (int p = 0; p < count_; ++p) {
        if (!watches(p) || ended_[p]) continue;
        if (now - last >= kBeat && told_.size() < 4 * static_cast<std::size_t>(count_)) tell(p, std::string(1, kAlive));
        if (now - heard_[p] > allowed)
          lose(p, std::chrono::duration_cast<std::chrono::seconds>(now - heard_[p]).count());
      }
      if (now - last >= kBeat) last = now;
    }
  }
  void lose(int process, std::int64_t seconds) {
    const std::string why = fmt::format("process {} is silent for {} s: it or the way to it is lost", process, seconds);
    for (int p = 0; p < count_; ++p) {
      if (p != self_ && p != process) tell(p, kGivesUp + why);
    }
    fail(why);
  }

  struct Told {
    void* handle;
    std::string text;
  };

  const Plugin& mpi_;
  const int self_, count_;
  const bool together_ = processes_here() > thread_count(0);
  std::mutex mutex_;
  Requests sends_, receives_;  // that are not done
  std::list<Told> told_;
  std::vector<Clock::time_point> heard_;  // by process
  std::vector<bool> ended_;
  std::string trouble_;  // why nothing is sent or received any more; empty: it is
  bool stop_ = false;
  std::condition_variable stopped_;
  std::thread beats_;
};

MpiProcesses* start() {
  if (started_processes() == 1) return nullptr;
  const Plugin& plugin = load_plugin();
  if (!plugin.start()) raise(mpi_rules::kTable, mpi_rules::kStarts, {.found = "MPI does not start"});
  auto* all = new MpiProcesses(plugin);  // until the process ends
  static MpiProcesses* ending = nullptr;
  ending = all;
  std::atexit([] { ending->end(); });
  return all;
}

}  // namespace

Processes* mpi_processes() {
  static MpiProcesses* const all = start();
  return all;
}

}  // namespace kiln::sim
