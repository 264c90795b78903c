// Files in and out: what is read has an end, what is written is there completely or not at all, and nothing is left
// behind.
#include "kiln/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "kiln/base/staged_file.h"
#include "kiln/base/temporaries.h"
#include "tests/error_of.h"

namespace kiln {
namespace {
namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  Files() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();  // each has a folder of its own
    folder_ = fs::temp_directory_path() / (std::string("kiln_") + test->name() + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  ~Files() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void put(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  // The number of a process that has ended.
  static pid_t dead() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    return child;
  }

  fs::path folder_;
};

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST_F(Files, WhatIsReadHasAnEnd) {
  EXPECT_EQ(error_of([] { read_file("/dev/zero", 1 << 20); }).code, "file.R4");
  put("large", std::string(1000, 'x'));
  EXPECT_EQ(error_of([&] { read_file(path("large"), 999); }).code, "file.R4");
  EXPECT_EQ(read_file(path("large"), 1000).size(), 1000);
  EXPECT_EQ(error_of([&] { read_file(path("missing")); }).code, "file.R1");
}

TEST_F(Files, APipeIsReadToItsEndOrToTheLimit) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::int64_t most : {100'000, 300'000}) {
    std::thread writer([&] {
      const Descriptor file(::open(path("pipe").c_str(), O_WRONLY));
      ::signal(SIGPIPE, SIG_IGN);
      write_all(file.get(), bytes_of(std::string(200'000, 'x')));
    });
    std::string text;
    const Diagnostic d = error_of([&] { text = read_file(path("pipe"), most); });
    writer.join();
    EXPECT_EQ(d.code, most < 200'000 ? "file.R4" : "");
    EXPECT_EQ(text.size(), most < 200'000 ? 0 : 200'000);
  }
}

TEST_F(Files, AllAreWrittenOrNone) {
  put("old", "old");
  const std::vector<FileParts> files{{path("old"), {bytes_of("ne"), bytes_of("w")}},
                                     {path("missing/file"), {bytes_of("x")}}};
  EXPECT_EQ(error_of([&] { write_all_or_none(files); }).code, "file.R2");
  EXPECT_EQ(read_file(path("old")), "old");
  write_all_or_none(std::span(files).first(1));
  EXPECT_EQ(read_file(path("old")), "new");
  EXPECT_EQ(names(), std::vector<std::string>{"old"});
}

TEST_F(Files, AReplacedFileKeepsItsPermissionsAndItsLinks) {
  put("file", "old");
  fs::permissions(folder_ / "file", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("file", folder_ / "link");
  write_atomically(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read_file(path("file")), "new");
  EXPECT_EQ(fs::status(folder_ / "file").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Files, AnOutputIsNoInput) {
  put("a", "a");
  put("b", "b");
  fs::create_symlink("a", folder_ / "link");
  fs::create_hard_link(folder_ / "a", folder_ / "hard");
  const std::vector<std::string> inputs{path("b"), path("a"), path("missing")};
  for (const std::string& output : {path("a"), path("link"), path("hard"), folder_.string() + "/./b"}) {
    const Diagnostic d = error_of([&] { require_apart(inputs, std::span(&output, 1)); });
    EXPECT_EQ(d.code, "file.R3") << output;
    EXPECT_NE(d.found.find(output), std::string::npos);
  }
  const std::string itself = fs::read_symlink("/proc/self/exe");
  EXPECT_EQ(error_of([&] { require_apart({}, std::span(&itself, 1)); }).code, "file.R3");
  const std::vector<std::string> others{path("new"), "/dev/null"};
  EXPECT_EQ(error_of([&] { require_apart(std::vector<std::string>{"/dev/null"}, others); }).code, "");
}

TEST_F(Files, ASignalHandlerCanRemoveWhatIsNotComplete) {
  const auto other = std::make_unique<StagedFile>(path("other"));
  StagedFile file(path("file"));
  file.write(bytes_of("half"));
  EXPECT_EQ(names().size(), 2);
  if (const pid_t child = ::fork(); child == 0) {  // it has the names, but the files are not its own
    unlink_temporaries();
    ::_exit(0);
  } else {
    ::waitpid(child, nullptr, 0);
  }
  EXPECT_EQ(names().size(), 2);
  unlink_temporaries();
  EXPECT_TRUE(names().empty());
}

TEST_F(Files, WhatIsCompleteStays) {
  write_atomically(path("file"), "text");
  unlink_temporaries();
  EXPECT_EQ(read_file(path("file")), "text");
}

TEST_F(Files, FilesOfDeadProcessesAreRemoved) {
  const std::string stale = ".kiln-" + std::to_string(dead()) + "-0.tmp",
                    held = ".kiln-" + std::to_string(dead()) + "-1.tmp";
  const std::vector<std::string> kept{".kiln-" + std::to_string(::getppid()) + "-0.tmp", ".kiln-x.tmp",
                                      ".kiln-1x-0.tmp", ".kiln-.tmp", "a.tmp"};
  put(stale, "half");
  put(held, "of a process that is not seen from here");
  for (const std::string& name : kept) put(name, "mine");
  fs::create_symlink("a.tmp", folder_ / (".kiln-" + std::to_string(dead()) + "-2.tmp"));
  const Descriptor lock(::open(path(held).c_str(), O_RDONLY));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  write_atomically(path("file"), "text");
  EXPECT_FALSE(fs::exists(folder_ / stale));
  EXPECT_TRUE(fs::exists(folder_ / held));
  for (const std::string& name : kept) EXPECT_TRUE(fs::exists(folder_ / name)) << name;
}

TEST_F(Files, AStaleFileOfThisNumberIsNotInTheWay) {
  for (int i = 0; i < 20; ++i) put(".kiln-" + std::to_string(::getpid()) + "-" + std::to_string(i) + ".tmp", "old");
  write_atomically(path("file"), "text");
  EXPECT_EQ(read_file(path("file")), "text");
}

}  // namespace
}  // namespace kiln
