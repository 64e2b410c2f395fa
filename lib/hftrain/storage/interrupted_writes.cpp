#include "hftrain/storage/interrupted_writes.h"

#include <algorithm>
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/storage/checkpoint_folder.h"

namespace hftrain::storage {
namespace {

constexpr std::string_view kMark = ".tmp-";
constexpr size_t kDigits = 16;  // of random_name()

std::vector<std::string> found_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    std::error_code ignored;
    const std::string name = item->path().filename().string();
    const bool kind = name == kModelStaging ? item->is_directory(ignored) : item->is_regular_file(ignored);
    if (is_interrupted_write(name) && kind && !item->is_symlink(ignored))
      paths.push_back(item->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

bool is_interrupted_write(std::string_view name) {
  if (name == kModelStaging) return true;
  const size_t mark = name.rfind(kMark);
  if (mark == std::string_view::npos || mark == 0) return false;
  const std::string_view digits = name.substr(mark + kMark.size());
  return digits.size() == kDigits && digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::vector<std::string> remove_interrupted_writes(FileSystem& files, const std::string& folder) {
  std::vector<std::string> notes;
  for (const std::string& path : found_in(folder)) {
    const std::string why = try_to_remove(files, path);
    notes.push_back(why.empty() ? "removed " + path + ", left behind by a write that was interrupted"
                                : "could not remove " + path + " (" + why +
                                      "): it takes up room, and is tried again at the next start");
  }
  return notes;
}

}  // namespace hftrain::storage
