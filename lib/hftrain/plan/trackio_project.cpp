#include "hftrain/plan/trackio_project.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "hftrain/base/text.h"

namespace hftrain::plan {
namespace {

constexpr std::string_view kReservedPrefix = "registry-";
constexpr std::array<std::string_view, 8> kReservedSuffixes = {"_system",
                                                               "_configs",
                                                               "_traces",
                                                               "_artifacts",
                                                               "_artifact_aliases",
                                                               "_artifact_versions",
                                                               "_run_artifact_links",
                                                               "_external_run_artifact_links"};

// What of a name is part of the names of its files.
std::string of_files(std::string name) {
  std::erase_if(name, [](unsigned char c) { return c < 0x80 && !std::isalnum(c) && c != '-' && c != '_'; });
  return name;
}

}  // namespace

void check_trackio_project(const std::string& project, const std::string& origin, Problems& problems) {
  if (trim(project).empty()) {
    return problems.usage("a project without a name", origin, "Trackio keeps runs by the names of projects",
                          "--project NAME");
  }
  const std::string name = of_files(project);
  const bool reserved = name.starts_with(kReservedPrefix) ||
                        std::ranges::any_of(kReservedSuffixes, [&](std::string_view suffix) {
                          return name.size() > suffix.size() && name.ends_with(suffix);
                        });
  if (reserved) {
    problems.usage(
        "Trackio takes no project '" + project + "'", origin,
        "names that begin with registry- or end as its own files do (_system, _configs, _artifacts, "
        "…) are kept for them",
        "another name");
  }
}

}  // namespace hftrain::plan
