#include "hftrain/storage/output_place.h"

#include <filesystem>
#include <fstream>

#include "hftrain/base/file.h"
#include "hftrain/storage/run_directory.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::storage {
namespace {

using testing::TemporaryDirectory;

constexpr const char* kWhat = "the output folder is not the one that this run began in";

// Another process's, as it stands in the file.
void write_lock_of_another(const std::string& output_dir) {
  write_file_atomically(lock_path(output_dir), "process 7 on elsewhere\n");
}

}  // namespace

TEST_CASE("a folder is in place while nobody touches it, and one without a lock always is", "[storage]") {
  const TemporaryDirectory folder;
  const OutputPlace unlocked(folder / "none");
  const RunLock lock(folder / "out");
  const OutputPlace place(folder / "out");
  CHECK(place.in_place());
  CHECK(place.now() == folder / "out");
  CHECK_NOTHROW(place.check());
  CHECK(unlocked.in_place());
  std::filesystem::create_directories(folder / "none");
  CHECK(unlocked.in_place());
}

TEST_CASE("a folder that was moved away is found where it is, and who has its name is told", "[storage]") {
  const TemporaryDirectory folder;
  const RunLock lock(folder / "out");
  const OutputPlace place(folder / "out");
  std::filesystem::rename(folder / "out", folder / "moved");
  CHECK_FALSE(place.in_place());
  CHECK(place.now() == folder / "moved");
  CHECK_REFUSED(place.check(), kWhat);
  CHECK_REFUSED(place.check(), "it was moved to " + folder / "moved" + " while the run was going on\n");
  CHECK_REFUSED(place.check(), "the same command with --output_dir " + folder / "moved" + " goes on");
  write_lock_of_another(folder / "out");
  CHECK_REFUSED(place.check(), "the folder of another run, of process 7 on elsewhere");
  std::filesystem::remove_all(folder / "out");
  std::filesystem::rename(folder / "moved", folder / "out");
  CHECK(place.in_place());
}

TEST_CASE("a folder that was removed is not in place, made anew or not", "[storage]") {
  const TemporaryDirectory folder;
  const RunLock lock(folder / "out");
  const OutputPlace place(folder / "out");
  std::filesystem::remove_all(folder / "out");
  CHECK_REFUSED(place.check(), "it was removed while the run was going on");
  CHECK_REFUSED(place.check(), "leave its folder where it is until it has ended");
  CHECK_FALSE(place.now());
  std::filesystem::create_directories(folder / "out/hftrain");
  CHECK_FALSE(place.in_place());
  const RunLock second(folder / "out");  // of the same process on the same machine, and another run
  CHECK_FALSE(place.in_place());
}

TEST_CASE("neither a lock that was removed nor one with another number is an alarm", "[storage]") {
  const TemporaryDirectory folder;
  const RunLock lock(folder / "out");
  const OutputPlace place(folder / "out");
  const std::string path = lock_path(folder / "out"), text = read_file(path);
  std::filesystem::rename(path, folder / "kept");  // so that its number is not given again
  CHECK(place.in_place());
  write_file_atomically(path, text);
  CHECK(place.in_place());
  write_lock_of_another(folder / "out");
  CHECK_FALSE(place.in_place());
  CHECK(place.now() == folder / "out");
}

}  // namespace hftrain::storage
