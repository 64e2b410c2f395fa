#include "hftrain/interchange/folder_names.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "hftrain/base/error.h"

namespace hftrain::interchange {

std::vector<std::string> names_in_folder(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error))
    names.push_back(item->path().filename().string());
  if (error) throw system_error(error.value(), "cannot list", folder, ExitCode::kData);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace hftrain::interchange
