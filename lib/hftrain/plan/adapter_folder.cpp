#include "hftrain/plan/adapter_folder.h"

#include <utility>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/plan/hub_cache.h"
#include "hftrain/storage/model_folder.h"

namespace hftrain::plan {
namespace {

// What is trained beside another revision than the adapter names is written with that one; else it stays as it is.
std::string with_revision(std::string text, const Json& config, const std::string& used) {
  const Json own = config.value("revision", Json());
  if (own == used || (used == kMainRevision && !own.is_string())) return text;
  if (own == "" && used == kMainRevision) return text;
  Json changed = config;
  changed["revision"] = used;
  return dump_json(changed) + '\n';
}

}  // namespace

std::string base_model_of(const Json& config, const std::string& origin) {
  const Json base = config.value("base_model_name_or_path", Json());
  if (base.is_string() && !base.get<std::string>().empty()) return base.get<std::string>();
  throw Error(ExitCode::kData, "the adapter does not say which model it stands beside")
      .where(origin)
      .why("base_model_name_or_path is " + base.dump())
      .hint("write the folder or the name of the base model there");
}

std::string base_revision_of(const Json& config, const std::string& asked, const std::string& origin) {
  const Json own = config.value("revision", Json());
  if (asked != kMainRevision || own.is_null() || own == "") return asked;
  if (own.is_string()) return own.get<std::string>();
  throw Error(ExitCode::kData, "the adapter does not say which revision of its model it stands beside")
      .where(origin)
      .why("revision is " + own.dump())
      .hint("write a branch, a tag or a commit there, or null for the main one");
}

OpenedFolder open_folder(const std::string& folder, const std::string& revision, const HubCache& cache) {
  const std::string path = folder + '/' + architectures::kAdapterConfigName;
  if (storage::has_model_weights(folder) || !path_exists(path)) return {.weights = folder};
  std::string text = read_file(path);
  const Json config = parse_json(text, path);
  // A snapshot of an adapter was chosen by the revision already: its base has one of its own.
  const std::string of_base = base_revision_of(config, is_snapshot(folder) ? kMainRevision : revision, path);
  OpenedFolder opened{.adapter = folder,
                      .spec = architectures::adapter_from_json(config, path),
                      .config = with_revision(std::move(text), config, of_base)};
  const std::string base = base_model_of(config, path);
  opened.weights = resolve_model_folder(base, "base_model_name_or_path of " + path, of_base, cache);
  opened.base_name = name_on_hub(base);
  opened.base_revision = of_base;
  return opened;
}

}  // namespace hftrain::plan
