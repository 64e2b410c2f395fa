#include "hftrain/base/disk_space.h"

#include <filesystem>

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

}  // namespace hftrain
