#include "fuzz.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace hftrain::fuzz {
namespace {

// Removed when the process ends in an orderly way; what a finding leaves is a few kilobytes.
struct OwnFolder {
  std::string path =
      ::access("/dev/shm", W_OK) == 0 ? "/dev/shm/hftrain-fuzz-XXXXXX" : "/tmp/hftrain-fuzz-XXXXXX";
  OwnFolder() {
    if (::mkdtemp(path.data()) == nullptr) std::abort();
  }
  ~OwnFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
};

}  // namespace

std::vector<std::string_view> parts_of(const uint8_t* data, size_t size, size_t count) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> parts(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t end = i + 1 < count ? rest.find('\0') : std::string_view::npos;
    parts[i] = rest.substr(0, end);
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return parts;
}

const std::string& folder() {
  static const OwnFolder kFolder;
  return kFolder.path;
}

std::string file_with(const std::string& name, std::string_view content) {
  std::string path = folder() + '/' + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

}  // namespace hftrain::fuzz
