#include "launcher/environments/rank_starter.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::launcher {

TEST_CASE("who started a rank is looked for past the scripts that have its rank, too") {
  const testing::TemporaryDirectory root;
  const auto process = [&](int number, int parent, const std::string& variables) {
    const std::string folder = root / "proc" + "/" + std::to_string(number);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/environ") << std::string("A=1") + '\0' + variables + '\0';
    std::ofstream(folder + "/status") << "Name:\tx\nPPid:\t" + std::to_string(parent) + "\n";
  };
  process(10, 1, "HOME=/");
  process(20, 10, "PMIX_RANK=3");
  process(30, 20, "PMIX_RANK=3");
  process(40, 10, "PMIX_RANK=31");
  const std::vector<std::pair<std::string, std::string>> rank = {{"PMIX_RANK", "3"}};
  const std::string place = root.path() + "/";
  CHECK(starter_of_rank(rank, 30, place) == 10);
  CHECK(starter_of_rank(rank, 40, place) == 40);
  CHECK(starter_of_rank(rank, 50, place) == 50);  // nothing is known of it
  CHECK(starter_of_rank({}, 30, place) == 30);
}

}  // namespace hftrain::launcher
