#include "launcher/front/search_folder.h"

#include <filesystem>
#include <optional>
#include <string>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/plan/resolve.h"
#include "hftrain/report/run.h"
#include "hftrain/storage/checkpoint_folder.h"

namespace hftrain::front {
namespace {

// Not any file of that name.
bool holds_search(const std::string& folder) {
  const std::string path = folder + "/search.json";
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return false;
  const std::optional<Json> written = try_parse_json(read_file(path));
  return written && written->is_object() && written->contains("trials") && written->contains("search");
}

bool holds_run(const std::string& folder) {
  return report::holds_run(folder) || !storage::list_checkpoints(folder).empty();
}

}  // namespace

void refuse_folder_of_search(const Inputs& inputs) {
  if (!holds_search(inputs.output_dir) || holds_run(inputs.output_dir)) return;
  const std::string aside = ", or --overwrite_output_dir, which moves the search aside";
  throw Error(ExitCode::kUsage, inputs.output_dir + " holds a search")
      .where(inputs.parsed.origins.describe("output_dir"))
      .why("search.json and the trials there are those of `hftrain search`, which goes on in this folder")
      .hint("another --output_dir" + (plan::wants_training(inputs.parsed) ? aside : ""));
}

void refuse_folder_of_run(const Inputs& inputs) {
  if (!holds_run(inputs.output_dir) || path_exists(inputs.output_dir + "/search.json")) return;
  throw Error(ExitCode::kUsage, inputs.output_dir + " holds a run")
      .where(inputs.parsed.origins.describe("output_dir"))
      .why("a search would put its trials beside the files of that run, which goes on in this folder")
      .hint("another --output_dir, or move the run away");
}

}  // namespace hftrain::front
