#include "launcher/front/pushed_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/path_pattern.h"
#include "hftrain/hub/replaced_files.h"

namespace hftrain::front {
namespace {

namespace fs = std::filesystem;

bool is_weights(const std::string& path) {
  return path.find('/') == std::string::npos &&
         (path.ends_with(".safetensors") || path.ends_with(".safetensors.index.json"));
}

// As huggingface_hub leaves them out (DEFAULT_IGNORE_PATTERNS): a repository's configuration may hold credentials.
bool is_never_pushed(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == ".git" || (name == "huggingface" && path.parent_path().filename() == ".cache");
}

// What stays here is not looked into: a checkpoint may go meanwhile. A link that leads nowhere, or round in a circle, is no file, as
// for the Hub's own package.
std::vector<std::string> files_below(const std::string& folder, const std::vector<std::string>& staying) {
  std::vector<std::string> paths;
  std::error_code failed;
  fs::recursive_directory_iterator entry(folder, failed);
  for (const fs::recursive_directory_iterator end; !failed && entry != end; entry.increment(failed)) {
    std::error_code unreadable;
    const bool left = entry.depth() == 0 && fits_a_pattern(entry->path().filename().string() + '/', staying);
    if (left || is_never_pushed(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(unreadable)) {
      paths.push_back(entry->path().lexically_relative(folder).string());
    }
  }
  if (failed) throw system_error(failed.value(), "cannot list", folder, ExitCode::kDisk);
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

const std::vector<std::string>& patterns_that_stay() {
  static const std::vector<std::string> kPatterns = {"checkpoint-*", "hftrain/*", "_*", ".*"};
  return kPatterns;
}

const std::vector<std::string>& patterns_of_state() {
  static const std::vector<std::string> kPatterns = {
      "trainer_state.json", "hftrain_state.json", "manifest.json", "optimizer.pt",
      "scheduler.pt",       "scaler.pt",          "rng_state*",    "*/*"};
  return kPatterns;
}

std::vector<std::string> files_of_output(const std::string& output_dir) {
  return files_below(output_dir, patterns_that_stay());
}

std::vector<std::string> files_of_checkpoint(const std::string& checkpoint) {
  return files_below(checkpoint, {});
}

std::optional<ModelFiles> files_of_model(const std::string& output_dir, const std::string& checkpoint) {
  ModelFiles files;
  for (const std::string& path : files_of_checkpoint(checkpoint))
    if (!fits_a_pattern(path, patterns_of_state())) files.of_checkpoint.push_back(path);
  if (std::none_of(files.of_checkpoint.begin(), files.of_checkpoint.end(), is_weights)) return std::nullopt;
  const std::set<std::string> newer(files.of_checkpoint.begin(), files.of_checkpoint.end());
  const bool whole = hub::brings_model(files.of_checkpoint);
  for (const std::string& path : files_of_output(output_dir)) {
    const bool replaced = whole && fits_a_pattern(path, hub::replaced_by_model());
    const bool older = newer.count(path) > 0 || is_weights(path) || replaced;
    (older ? files.older : files.of_output).push_back(path);
  }
  return files;
}

}  // namespace hftrain::front
