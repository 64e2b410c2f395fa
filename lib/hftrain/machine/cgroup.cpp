#include "hftrain/machine/cgroup.h"

#include <fstream>
#include <utility>

#include "hftrain/base/text.h"

namespace hftrain::machine {
namespace {

std::vector<std::string> with_parents(const std::string& mount, std::string path) {
  std::vector<std::string> folders;
  while (!path.empty() && path != "/") {
    folders.push_back(mount + path);
    path.erase(path.rfind('/'));
  }
  folders.push_back(mount);
  return folders;
}

}  // namespace

Cgroup find_cgroup(const std::string& root) {
  Cgroup cgroup;
  const std::string mount = root + "sys/fs/cgroup";
  std::ifstream lines(root + "proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    // hierarchy:controllers:path, and a path may hold colons
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1),
                      path = line.substr(second + 1);
    if (controllers.empty()) {
      for (const char* at : {"", "/unified"}) {
        for (std::string& folder : with_parents(mount + at, path))
          cgroup.unified.push_back(std::move(folder));
      }
    }
    for (const std::string& controller : split(controllers, ',')) {
      if (controller != "cpu" && controller != "memory") continue;
      auto& folders = controller == "cpu" ? cgroup.cpu : cgroup.memory;
      for (const std::string& name : {controllers, controller}) {
        for (std::string& folder : with_parents(mount + '/' + name, path))
          folders.push_back(std::move(folder));
      }
    }
  }
  return cgroup;
}

}  // namespace hftrain::machine
