#include "launcher/front/moved_inputs.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "hftrain/base/text.h"
#include "hftrain/data/data_files.h"
#include "hftrain/data/image_collator.h"
#include "hftrain/data/prepare.h"

namespace hftrain::front {
namespace {

// Whether `named` leads to something else, or nowhere, once `folder` has moved (where that is a link, what it leads to): it
// ends in it, or follows a link that is in it. As the system goes, name by name.
bool lies_in(const std::string& named, const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;
  std::error_code error;
  fs::path place = fs::weakly_canonical(folder, error);
  if (error) place = folder;
  const auto inside = [&](const fs::path& path) {
    return (path / "").string().starts_with((place / "").string());
  };
  fs::path here = "/";
  std::vector<fs::path> left;  // the next one last
  const auto go = [&](const fs::path& path) {
    const std::vector<fs::path> names(path.begin(), path.end());
    left.insert(left.end(), names.rbegin(), names.rend());
    if (path.is_absolute()) here = "/";
  };
  go(fs::absolute(named, error));
  for (int links = 0; !left.empty();) {
    const fs::path name = left.back();
    left.pop_back();
    if (name.empty() || name == "." || name.is_absolute()) continue;
    const fs::path next = name == ".." ? here.parent_path() : here / name;
    const bool link = fs::is_symlink(next, error) && ++links <= kMostLinks;
    if (link && inside(next)) return true;
    if (link) {
      go(fs::read_symlink(next, error));
    } else {
      here = next;
    }
  }
  return inside(here);
}

void refuse_moved_checkpoint(const Inputs& inputs) {
  const auto& named = inputs.parsed.arguments.saving.resume_from_checkpoint;
  if (!named || *named == "true" || *named == "auto" || !lies_in(*named, inputs.output_dir)) return;
  throw Error(ExitCode::kUsage, "the checkpoint to go on from lies in the folder that is moved aside")
      .where(*named + " (--resume_from_checkpoint)")
      .why("--overwrite_output_dir renames " + inputs.output_dir + " before the run begins")
      .hint("another --output_dir, or leave --overwrite_output_dir out");
}

constexpr const char* kTokenCache = "the token cache";
constexpr const char* kOfRows = "an image of the data";

std::string token_cache(const Inputs& inputs) {
  try {
    return data::cache_folder(inputs.environment);
  } catch (const Error&) {  // there is none; who prepares says so
    return "";
  }
}

// What ranks and later runs read by the names that were given, or by those in rows that are `prepared`: path and flag. An image
// stands for its folder, since to look at each would take as long as the preparation.
std::vector<std::pair<std::string, std::string>> paths_that_are_read(
    const Inputs& inputs, const std::map<std::string, std::string>& prepared) {
  const arguments::Arguments& asked = inputs.parsed.arguments;
  const plan::ModelFacts& model = inputs.model;
  std::vector<std::pair<std::string, std::string>> paths = {{model.source_folder, "model_name_or_path"},
                                                            {model.adapter_folder, "model_name_or_path"}};
  if (model.tokenizer_folder != model.source_folder && model.tokenizer_folder != model.adapter_folder)
    paths.emplace_back(model.tokenizer_folder, "tokenizer_name");
  if (inputs.plugin) paths.emplace_back(inputs.plugin->path, "plugin");
  if (asked.launch.worker_program) paths.emplace_back(*asked.launch.worker_program, "worker_program");
  const auto add = [&](const std::vector<std::string>& patterns, const char* flag) {
    for (const std::string& pattern : patterns) {
      for (std::string& path : data::paths_of_pattern(pattern)) paths.emplace_back(std::move(path), flag);
    }
  };
  add(inputs.files.train, "train_file");
  add(inputs.files.validation, "validation_file");
  add(inputs.files.test, "test_file");
  add(inputs.files.validation_mismatched, "validation_mismatched_file");
  add(inputs.files.test_mismatched, "test_mismatched_file");
  paths.emplace_back(token_cache(inputs), kTokenCache);
  for (const auto& [split, samples] : prepared) {
    for (std::string& image : data::images_by_folder(samples)) paths.emplace_back(std::move(image), kOfRows);
  }
  return paths;
}

// The flag that was given in the place of `flag`, which it has filled in: a folder of images, or a data set with its files.
std::string given_instead(const std::string& flag, const arguments::ParseOutcome& parsed) {
  const std::string filled_in_by = parsed.origins.filled_in_by(flag);
  if (!filled_in_by.empty()) return filled_in_by;
  return flag.ends_with("_file") && parsed.arguments.data.dataset_name ? "dataset_name" : flag;
}

// With where it was said: "(--train_file)", or "(train_file of run.yaml:3:7)".
std::string named_by(const std::string& path, const std::string& flag, const Inputs& inputs) {
  if (flag == kTokenCache || flag == kOfRows) return path + " (" + flag + ')';
  const std::string given = given_instead(flag, inputs.parsed);
  if (!inputs.parsed.origins.is_given(given)) return path;
  const std::string& origin = inputs.parsed.origins.of(given);
  return path + " (" + (origin.starts_with('-') ? "--" + given : given + " of " + origin) + ')';
}

}  // namespace

void refuse_what_moves_aside(const Inputs& inputs, const std::map<std::string, std::string>& prepared) {
  refuse_moved_checkpoint(inputs);
  constexpr size_t kNamed = 3;
  std::vector<std::string> moved;
  for (const auto& [path, flag] : paths_that_are_read(inputs, prepared)) {
    if (!path.empty() && lies_in(path, inputs.output_dir)) moved.push_back(named_by(path, flag, inputs));
  }
  if (moved.empty()) return;
  const std::string more =
      moved.size() > kNamed ? " and " + std::to_string(moved.size() - kNamed) + " more" : "";
  moved.resize(std::min(moved.size(), kNamed));
  throw Error(ExitCode::kUsage, "what the run reads lies in the folder that is moved aside")
      .where(join(moved, ", ") + more)
      .why("--overwrite_output_dir renames " + inputs.output_dir + " before the run begins")
      .hint("another --output_dir, or move what the run reads to another folder");
}

}  // namespace hftrain::front
