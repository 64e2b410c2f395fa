#include "hftrain/base/file.h"

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/new_file.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain {
namespace {

using testing::TemporaryDirectory;

ExitCode code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::kDone;
}

TEST_CASE("a name that the system does not take is no file and no folder") {
  const TemporaryDirectory folder;
  const std::string too_long = folder / std::string(300, 'x');
  CHECK_FALSE(path_exists(too_long));
  CHECK_FALSE(is_folder(too_long));
  CHECK(is_folder(folder.path()));
  write_file_atomically(folder / "file", "");
  CHECK(path_exists(folder / "file"));
  CHECK_FALSE(is_folder(folder / "file"));
}

TEST_CASE("a folder behind a link that leads nowhere is told as that") {
  const TemporaryDirectory folder;
  std::filesystem::create_symlink(folder / "nowhere", folder / "link");
  CHECK_REFUSED(create_directories(folder / "link/below/it"),
                "link is a link, and what it leads to is not there");
  create_directories(folder / "nowhere");
  create_directories(folder / "link/below/it");
  CHECK(path_exists(folder / "nowhere/below/it"));
}

TEST_CASE("an atomic write makes missing folders, replaces the old file and leaves nothing else") {
  const TemporaryDirectory folder;
  const std::string path = folder / "a/b/file";
  write_file_atomically(path, "old");
  write_file_atomically(path, std::string("new\0bytes", 9));
  CHECK(read_file(path) == std::string("new\0bytes", 9));
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "a/b"), {}) == 1);
}

TEST_CASE("an atomic write that cannot be made leaves no temporary file") {
  const TemporaryDirectory folder;
  std::filesystem::create_directories(folder / "taken/by_a_folder");
  CHECK(code_of([&] { write_file_atomically(folder / "taken", "x"); }) == ExitCode::kDisk);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("an atomic write follows no link that waits for it, and two at once do not meet") {
  const TemporaryDirectory folder;
  const std::string path = folder / "file";
  // The name that it had when it was made of the number of the process.
  const std::string waiting = path + ".tmp-" + std::to_string(::getpid());
  write_file_atomically(folder / "victim", "untouched");
  std::filesystem::create_symlink(folder / "victim", waiting);
  std::vector<std::thread> threads;
  for (const char* text : {"first", "other"}) {
    threads.emplace_back([&, text] {
      for (int i = 0; i < 50; ++i) write_file_atomically(path, text);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK((read_file(path) == "first" || read_file(path) == "other"));
  CHECK(read_file(folder / "victim") == "untouched");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 3);
}

TEST_CASE("a private file is its owner's alone, whatever was there before") {
  const TemporaryDirectory folder;
  write_file_atomically(folder / "f", "shared");
  write_file_atomically(folder / "f", "secret", FileAccess::kPrivate);
  using std::filesystem::perms;
  CHECK(std::filesystem::status(folder / "f").permissions() == (perms::owner_read | perms::owner_write));
}

TEST_CASE("reading what is not there names the caller's kind of failure") {
  const TemporaryDirectory folder;
  CHECK(code_of([&] { read_file(folder / "no"); }) == ExitCode::kData);
  CHECK(code_of([&] { read_file(folder / "no", ExitCode::kUsage); }) == ExitCode::kUsage);
  CHECK(code_of([&] { MappedFile(folder.path()); }) == ExitCode::kData);
}

TEST_CASE("a map shows the file's bytes, also when moved; an empty file is an empty map") {
  const TemporaryDirectory folder;
  write_file_atomically(folder / "f", "content");
  write_file_atomically(folder / "empty", "");
  MappedFile first(folder / "f");
  const MappedFile second(std::move(first));
  CHECK(second.bytes() == "content");
  CHECK(MappedFile(folder / "empty").bytes().empty());
}

TEST_CASE("pages of a map that were let go come back") {
  const TemporaryDirectory folder;
  const std::string content(100'000, 'x');
  write_file_atomically(folder / "f", content);
  const MappedFile file(folder / "f");
  release_mapped(file.bytes());
  release_mapped(file.bytes().substr(5, 10));
  CHECK(file.bytes() == content);
}

TEST_CASE("appending creates and continues a file") {
  const TemporaryDirectory folder;
  append_to_file(folder / "log", "a");
  append_to_file(folder / "log", "b");
  CHECK(read_file(folder / "log") == "ab");
}

TEST_CASE("free space is asked of the nearest folder that exists") {
  const TemporaryDirectory folder;
  CHECK(free_bytes(folder / "not/there/yet") > 0);
}

}  // namespace
}  // namespace hftrain
