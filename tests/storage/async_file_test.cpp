// Scratch files in the background: both engines, past the page cache and through it, and what goes wrong.
#include "hftrain/storage/async_file.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/storage/async_file_engine.h"
#include "support/catch.h"
#include "support/fork.h"
#include "support/no_threads.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain::storage {
namespace {

using Engine = AsyncFileOptions::Engine;

constexpr size_t kPage = AsyncFile::kAlignment;

bool ring_is_available() {
  const testing::TemporaryDirectory folder;
  try {
    const AsyncFile file({.directory = folder.path(), .bytes = kPage, .engine = Engine::kRing});
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<std::byte> noise(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> data(bytes);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  return data;
}

Error error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  return {ExitCode::kInternal, ""};
}

// Runs `work` in a child process; its answer must be true.
bool holds_in_child(const std::function<bool()>& work) {
  const pid_t child = testing::fork_child();
  if (child == 0) {
    bool holds = false;
    try {
      holds = work();
    } catch (...) {
    }
    ::_exit(holds ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// What container runtimes do.
bool forbid_io_uring() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

void write_and_read_back(AsyncFile& file) {
  const std::vector<std::byte> data = noise(file.bytes(), 1);
  file.wait(file.write(0, data));
  std::vector<std::byte> back(data.size());
  file.wait(file.read(0, back));
  CHECK(back == data);
}

// Every operation of one round is under way at once, in pieces of any size at any place.
void check_random_traffic(const AsyncFileOptions& options) {
  AsyncFile file(options);
  std::mt19937 random(7);
  PageBuffer buffer(options.bytes), back(options.bytes);
  for (uint32_t round = 0; round < 3; ++round) {
    const std::vector<std::byte> data = noise(options.bytes, round);
    std::memcpy(buffer.data(), data.data(), data.size());
    std::memset(back.data(), 0, back.size());
    for (const bool write : {true, false}) {
      for (size_t at = 0; at < options.bytes;) {
        const size_t some = random() % 3 == 0 ? kPage * (1 + random() % 20) : 1 + random() % 30000;
        const size_t count = std::min<size_t>(some, options.bytes - at);
        if (write)
          file.write(at, buffer.span().subspan(at, count));
        else
          file.read(at, back.span().subspan(at, count));
        at += count;
      }
      file.wait_all();
    }
    CHECK(std::memcmp(back.data(), data.data(), data.size()) == 0);
  }
}

}  // namespace

TEST_CASE("a scratch file gives back what was written, at any size and place, by either engine") {
  const testing::TemporaryDirectory folder;
  const bool direct = GENERATE(true, false);
  const Engine engine = GENERATE(Engine::kRing, Engine::kThreads);
  if (engine == Engine::kRing && !ring_is_available()) HFTRAIN_SKIP("io_uring is forbidden here");
  check_random_traffic({.directory = folder.path(),
                        .bytes = 3'000'001,
                        .block_bytes = 16384,
                        .queue_depth = 4,
                        .engine = engine,
                        .direct = direct});
}

TEST_CASE("a scratch file has no name and what was never written reads as zeros") {
  const testing::TemporaryDirectory folder;
  AsyncFile file({.directory = folder / "made/on/demand", .bytes = 100'000});
  CHECK(std::filesystem::is_empty(folder / "made/on/demand"));
  file.wait(file.write(50'000, noise(10, 3)));
  std::vector<std::byte> back(50'000, std::byte{1});
  file.wait(file.read(0, back));
  CHECK(std::all_of(back.begin(), back.end(), [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_CASE("a scratch file says how it is read and written") {
  const testing::TemporaryDirectory folder;
  const AsyncFileOptions options{.directory = folder.path(), .bytes = kPage};
  AsyncFileOptions threads = options, cached = options;
  threads.engine = Engine::kThreads;
  cached.direct = false;
  CHECK(std::string(AsyncFile(threads).engine()) == "threads");
  CHECK(std::string(AsyncFile(options).engine()) == (ring_is_available() ? "io_uring" : "threads"));
  CHECK_FALSE(AsyncFile(cached).direct());
}

TEST_CASE("where io_uring is forbidden threads take over, unless it was asked for", "[process]") {
  const testing::TemporaryDirectory folder;
  CHECK(holds_in_child([&] {
    if (!forbid_io_uring()) return false;
    AsyncFile file({.directory = folder.path(), .bytes = 1 << 20});
    const std::vector<std::byte> data = noise(file.bytes(), 1);
    std::vector<std::byte> back(data.size());
    file.wait(file.write(0, data));
    file.wait(file.read(0, back));
    return std::string(file.engine()) == "threads" && back == data;
  }));
  CHECK(holds_in_child([&] {
    if (!forbid_io_uring()) return false;
    try {
      const AsyncFile file({.directory = folder.path(), .bytes = kPage, .engine = Engine::kRing});
    } catch (const Error& error) {
      return error.code() == ExitCode::kEnvironment &&
             error.render().find("io_uring is not available") != std::string::npos;
    }
    return false;
  }));
}

TEST_CASE("a scratch file larger than its file system is refused before anything is written") {
  struct statvfs status {};
  if (::statvfs("/dev/shm", &status) != 0) HFTRAIN_SKIP("no /dev/shm");
  const uint64_t too_much = (status.f_blocks + 1) * status.f_frsize;
  const Error error = error_of([&] { AsyncFile({.directory = "/dev/shm", .bytes = too_much}); });
  CHECK(error.code() == ExitCode::kDisk);
  CHECK_THAT(error.render(), Catch::Contains("there is no room") && Catch::Contains("/dev/shm") &&
                                 Catch::Contains("nvme_path"));
}

TEST_CASE("a memory file system serves as well as a disk") {
  if (::access("/dev/shm", W_OK) != 0) HFTRAIN_SKIP("no /dev/shm");
  AsyncFile file({.directory = "/dev/shm", .bytes = 300'000});
  write_and_read_back(file);
}

TEST_CASE("a folder that is none is an error that names it") {
  const testing::TemporaryDirectory folder;
  write_file_atomically(folder / "file", "text");
  const Error error = error_of([&] { AsyncFile({.directory = folder / "file", .bytes = kPage}); });
  CHECK_THAT(error.render(), Catch::Contains(folder / "file"));
}

TEST_CASE("places outside a scratch file are a mistake of the caller") {
  const testing::TemporaryDirectory folder;
  AsyncFile file({.directory = folder.path(), .bytes = 1000});
  std::vector<std::byte> data(10);
  CHECK(error_of([&] { file.write(991, data); }).code() == ExitCode::kInternal);
  CHECK(error_of([&] { file.read(~uint64_t{0}, data); }).code() == ExitCode::kInternal);
  file.wait(file.write(990, data));
}

TEST_CASE("a scratch file may go while operations are under way") {
  const testing::TemporaryDirectory folder;
  PageBuffer buffer(32 << 20);
  for (const Engine engine : {Engine::kAutomatic, Engine::kThreads}) {
    AsyncFile file({.directory = folder.path(), .bytes = buffer.size(), .queue_depth = 2, .engine = engine});
    file.write(0, buffer.span());
  }
  CHECK(buffer.size() == 32 << 20);
}

namespace {

// An engine over a file of our own, to meet what a scratch file hides: its end, and refusals.
Error failure_of(Engine engine, int flags, bool write, uint64_t offset, size_t bytes) {
  const testing::TemporaryDirectory folder;
  write_file_atomically(folder / "file", std::string(10'000, 'x'));
  ScratchFile file{FileDescriptor(::open((folder / "file").c_str(), flags)), {}};
  BlockQueue queue(folder.path(), kPage, kPage);
  const auto running =
      engine == Engine::kRing ? make_ring_engine(queue, file, 4) : make_thread_engine(queue, file, 4);
  std::vector<std::byte> data(bytes);
  const uint64_t token = queue.add(write, offset, data.data(), data.size());
  const Error error = error_of([&] { queue.wait(token); });
  CHECK_THAT(error.render(), Catch::Contains(folder.path()));
  queue.stop();
  return error;
}

}  // namespace

TEST_CASE("the end of a file and a refused write are errors that name operation, place and folder") {
  const Engine engine = GENERATE(Engine::kRing, Engine::kThreads);
  if (engine == Engine::kRing && !ring_is_available()) HFTRAIN_SKIP("io_uring is forbidden here");
  const Error past_the_end = failure_of(engine, O_RDONLY, /*write=*/false, 8192, 4096);
  CHECK(past_the_end.code() == ExitCode::kDisk);
  CHECK_THAT(past_the_end.what(), Catch::Contains("cannot read") && Catch::Contains("at 10000"));
  const Error refused = failure_of(engine, O_RDONLY, /*write=*/true, 100, 5000);
  CHECK(refused.code() == ExitCode::kDisk);
  CHECK_THAT(refused.what(), Catch::Contains("cannot write"));
}

TEST_CASE("a scratch file for which no thread can be started is refused, whatever moves its blocks") {
  const testing::TemporaryDirectory folder;
  for (const Engine engine : {Engine::kAutomatic, Engine::kRing, Engine::kThreads}) {
    const testing::NoThreads none;
    const Error error = error_of(
        [&] { const AsyncFile file({.directory = folder.path(), .bytes = kPage, .engine = engine}); });
    CHECK(error.code() == ExitCode::kEnvironment);
  }
}

TEST_CASE("operations are cut at multiples of the alignment, and unaligned ends are blocks of their own") {
  BlockQueue queue("here", 10'000, kPage);  // blocks of three pages
  std::byte byte{};
  queue.add(/*write=*/true, 4000, &byte, 20'000);
  std::vector<size_t> sizes;
  while (const auto block = queue.take(/*wait=*/false)) sizes.push_back(block->bytes);
  CHECK(sizes == std::vector<size_t>{96, 3 * kPage, kPage, 20'000 - 96 - 4 * kPage});
}

TEST_CASE("what a short operation left over is asked for again") {
  BlockQueue queue("here", kPage, kPage);
  std::byte bytes[1000];
  const uint64_t token = queue.add(/*write=*/false, 0, bytes, sizeof bytes);
  queue.finish(*queue.take(false), -EINTR);
  const auto again = queue.take(false);
  REQUIRE(again);
  CHECK(again->bytes == 1000);
  queue.finish(*again, 300);
  const auto rest = queue.take(false);
  REQUIRE(rest);
  CHECK(rest->offset == 300);
  CHECK(rest->data == bytes + 300);
  CHECK(rest->bytes == 700);
  queue.finish(*rest, 700);
  CHECK_NOTHROW(queue.wait(token));
}

TEST_CASE("the first failure of an operation is reported and the rest of it is not begun") {
  BlockQueue queue("here", kPage, kPage);
  std::byte byte{};
  const uint64_t token = queue.add(/*write=*/true, 0, &byte, 10 * kPage);
  const uint64_t other = queue.add(/*write=*/true, 20 * kPage, &byte, kPage);
  const auto first = queue.take(false), second = queue.take(false);
  queue.finish(*second, -ENOSPC);
  const auto next = queue.take(false);
  REQUIRE(next);
  CHECK(next->token == other);
  queue.finish(*first, -EIO);
  queue.finish(*next, static_cast<int64_t>(kPage));
  const Error error = error_of([&] { queue.wait(token); });
  CHECK(error.code() == ExitCode::kDisk);
  CHECK_THAT(error.render(), Catch::Contains("cannot write 4096 bytes at 4096") && Catch::Contains("here") &&
                                 Catch::Contains(std::strerror(ENOSPC)));
  CHECK_NOTHROW(queue.wait(token));
  CHECK_NOTHROW(queue.wait_all());
}

}  // namespace hftrain::storage
