#include "kiln/base/temporaries.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>

namespace kiln {
namespace {

constexpr std::string_view kPrefix = ".kiln-", kSuffix = ".tmp";

// Names as a signal handler can read them: memory that is always there, and a state that changes at once.
struct Slot {
  enum State : int { unused, changing, named };
  std::atomic<int> state{unused};
  pid_t process = 0;  // a child that was forked has the names, but not the files
  char path[1024];
};
static_assert(std::atomic<int>::is_always_lock_free);
Slot slots[64];

int remember(const std::string& path) {
  if (path.size() >= sizeof(Slot::path)) return -1;
  for (Slot& slot : slots) {
    int expected = Slot::unused;
    if (!slot.state.compare_exchange_strong(expected, Slot::changing)) continue;
    std::memcpy(slot.path, path.c_str(), path.size() + 1);
    slot.process = ::getpid();
    slot.state.store(Slot::named);
    return static_cast<int>(&slot - slots);
  }
  return -1;
}

void forget(int slot) {
  if (slot >= 0) slots[slot].state.store(Slot::unused);
}

// The process that a name belongs to; 0 when it is not the name of a temporary file.
pid_t process_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return 0;
  name.remove_prefix(kPrefix.size());
  pid_t process = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), process);
  const bool whole = failure == std::errc{} && end != name.data() + name.size() && *end == '-';
  return whole && process > 0 ? process : 0;
}

// A process of another machine or container may have the number of a dead one here, but then it holds the lock.
void remove_if_stale(const std::filesystem::path& path) {
  const pid_t process = process_of(path.filename().native());
  if (process == 0 || ::kill(process, 0) == 0 || errno != ESRCH) return;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
}

}  // namespace

Temporary::Temporary(const std::filesystem::path& folder) {
  static std::atomic<unsigned> counter{0};
  constexpr int kTries = 100;  // names that a dead process of the same number left, or that others take for stale
  for (int i = 0; i < kTries && !is_open(); ++i) {
    path_ = (folder / fmt::format("{}{}-{}{}", kPrefix, ::getpid(), counter++, kSuffix)).string();
    slot_ = remember(path_);
    if (open()) return;
    forget(slot_);
    if (errno != EEXIST) break;
  }
  path_.clear();
}

// The lock is how others see that the file is in use. Whoever had it before took the file for stale and removed it.
bool Temporary::open() {
  file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file_.is_open()) return false;
  struct stat status;
  if (::flock(file_.get(), LOCK_EX) == 0 && ::fstat(file_.get(), &status) == 0 && status.st_nlink == 0) {
    file_.close();
    errno = EEXIST;
    return false;
  }
  lock_ = Descriptor(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
  return true;
}

Temporary::~Temporary() {
  if (path_.empty()) return;
  ::unlink(path_.c_str());
  forget(slot_);
}

bool Temporary::rename_to(const std::string& target) {
  if (::rename(path_.c_str(), target.c_str()) != 0) return false;
  forget(slot_);
  path_.clear();
  return true;
}

void unlink_temporaries() noexcept {
  const int before = errno;
  for (const Slot& slot : slots) {
    if (slot.state.load() == Slot::named && slot.process == ::getpid()) ::unlink(slot.path);
  }
  errno = before;
}

void remove_stale_temporaries(const std::filesystem::path& folder) {
  static std::mutex mutex;
  static std::set<std::filesystem::path> seen;
  {
    const std::lock_guard lock(mutex);
    if (!seen.insert(folder).second) return;
  }
  std::error_code failure;
  for (std::filesystem::directory_iterator file(folder, failure), end; !failure && file != end; file.increment(failure))
    remove_if_stale(file->path());
}

}  // namespace kiln
