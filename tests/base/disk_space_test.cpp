#include "hftrain/base/disk_space.h"

#include <cerrno>
#include <filesystem>

#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain {

TEST_CASE("places on one file system are known as such, before they are made too") {
  const testing::TemporaryDirectory folder;
  const DiskSpace here = disk_space(folder.path()), there = disk_space(folder / "not/there/yet");
  CHECK(here.file_system == there.file_system);
  CHECK(there.free_bytes > 0);
  if (std::filesystem::exists("/proc/self")) CHECK(disk_space("/proc").file_system != here.file_system);
}

TEST_CASE("where no folder can be made is known before one is tried") {
  const testing::TemporaryDirectory folder;
  write_file_atomically(folder / "file", "");
  CHECK(folder_error(folder.path()) == 0);
  CHECK(folder_error(folder / "not/there/yet") == 0);
  for (const char* name : {"file", "file/below"}) {
    CHECK(folder_error(folder / name) == ENOTDIR);
    CHECK(disk_space(folder / name).folder_error == ENOTDIR);
  }
}

}  // namespace hftrain
