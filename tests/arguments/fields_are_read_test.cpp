// An option that is accepted and ignored is worse than one that is refused: every member of Arguments must be
// named somewhere outside arguments/.
#include <filesystem>
#include <regex>
#include <set>

#include "hftrain/base/file.h"
#include "support/paths.h"
#include "support/catch.h"

namespace hftrain::arguments {
namespace {

namespace fs = std::filesystem;

std::string source_dir(const std::string& folder) {
  return testing::source_dir() + '/' + folder;
}

// Every `.name` and `->name` of the sources under `folder`, arguments/ left out.
void collect_members(const std::string& folder, std::set<std::string>& names) {
  static const std::regex kMember(R"((?:\.|->)([a-z_0-9]+))");
  for (const fs::directory_entry& file : fs::recursive_directory_iterator(folder)) {
    const std::string extension = file.path().extension().string();
    if (extension != ".cpp" && extension != ".h") continue;
    if (file.path().string().find("/hftrain/arguments/") != std::string::npos) continue;
    const std::string text = read_file(file.path().string());
    for (std::sregex_iterator match(text.begin(), text.end(), kMember), end; match != end; ++match) {
      names.insert((*match)[1]);
    }
  }
}

// The members that the rows of the flag table name.
std::set<std::string> members() {
  static const std::regex kSlot(R"(&\w+Arguments::(\w+)>)");
  std::set<std::string> names;
  for (const fs::directory_entry& file : fs::directory_iterator(source_dir("lib/hftrain/arguments/flags"))) {
    const std::string text = read_file(file.path().string());
    for (std::sregex_iterator match(text.begin(), text.end(), kSlot), end; match != end; ++match) {
      names.insert((*match)[1]);
    }
  }
  return names;
}

}  // namespace

TEST_CASE("every flag that is implemented is read by something") {
  std::set<std::string> read;
  for (const char* folder : {"lib", "apps", "launcher"}) collect_members(source_dir(folder), read);
  const std::set<std::string> all = members();
  CHECK(all.size() > 90);
  for (const std::string& member : all) {
    INFO(member);
    CHECK(read.count(member) == 1);
  }
}

}  // namespace hftrain::arguments
