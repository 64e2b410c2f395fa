// Memory that lies in a file.
#include "hftrain/storage/scratch_map.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain::storage {
namespace {

// Pages of files that this process has in memory.
int64_t resident_file_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:")) return 1024 * std::stoll(line.substr(8));
  }
  return -1;
}

}  // namespace

TEST_CASE("a scratch map keeps what was written after its pages are gone from memory") {
  const testing::TemporaryDirectory folder;
  constexpr size_t kBytes = size_t{32} << 20;
  const ScratchMap map(folder / "made", kBytes);
  CHECK(std::filesystem::is_empty(folder / "made"));
  const std::span<std::byte> all(map.data(), map.size());
  CHECK(std::all_of(all.begin(), all.end(), [](std::byte byte) { return byte == std::byte{0}; }));
  for (size_t i = 0; i < kBytes; ++i) all[i] = static_cast<std::byte>(i * 7 + i / 4096);
  const int64_t full = resident_file_bytes();
  map.let_go(all);
  CHECK(full - resident_file_bytes() > static_cast<int64_t>(kBytes) * 9 / 10);
  map.ask_for(all.subspan(5000, 100'000));
  size_t wrong = 0;
  for (size_t i = 0; i < kBytes; ++i) wrong += all[i] != static_cast<std::byte>(i * 7 + i / 4096) ? 1 : 0;
  CHECK(wrong == 0);
}

TEST_CASE("letting go of a part leaves the pages that it shares with its neighbours") {
  const testing::TemporaryDirectory folder;
  const ScratchMap map(folder.path(), 10'000);
  const std::span<std::byte> all(map.data(), map.size());
  std::fill(all.begin(), all.end(), std::byte{9});
  map.let_go(all.subspan(100, 50));
  map.let_go(all.subspan(4000, 6000));
  map.let_go(all.first(0));
  CHECK(std::all_of(all.begin(), all.end(), [](std::byte byte) { return byte == std::byte{9}; }));
  CHECK(ScratchMap(folder.path(), 0).size() == 0);
}

TEST_CASE("a scratch map larger than its file system is refused") {
  struct statvfs status {};
  if (::statvfs("/dev/shm", &status) != 0) HFTRAIN_SKIP("no /dev/shm");
  try {
    const ScratchMap map("/dev/shm", (status.f_blocks + 1) * status.f_frsize);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kDisk);
    CHECK_THAT(error.render(), Catch::Contains("/dev/shm"));
  }
}

}  // namespace hftrain::storage
