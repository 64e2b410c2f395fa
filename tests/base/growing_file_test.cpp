#include "hftrain/base/growing_file.h"

#include <filesystem>

#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain {
namespace {

using testing::TemporaryDirectory;

int64_t files_in(const std::string& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

TEST_CASE("a growing file appears whole when it is kept, and nothing else is left") {
  const TemporaryDirectory folder;
  const std::string path = folder / "new/file", large(100'000, 'x');
  GrowingFile file(path);
  file.append("a");
  file.append(large);  // more than is collected
  file.append(std::string(60'000, 'y'));
  file.append(std::string(60'000, 'z'));
  CHECK_FALSE(path_exists(path));
  file.keep();
  CHECK(read_file(path) == "a" + large + std::string(60'000, 'y') + std::string(60'000, 'z'));
  CHECK(files_in(folder / "new") == 1);
}

TEST_CASE("a growing file that is not kept leaves what was there, and itself nowhere") {
  const TemporaryDirectory folder;
  write_file_atomically(folder / "file", "old");
  {
    GrowingFile file(folder / "file");
    file.append(std::string(100'000, 'x'));
    CHECK(files_in(folder.path()) == 2);
  }
  CHECK(read_file(folder / "file") == "old");
  CHECK(files_in(folder.path()) == 1);
}

}  // namespace
}  // namespace hftrain
