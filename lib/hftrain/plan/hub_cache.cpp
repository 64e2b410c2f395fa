#include "hftrain/plan/hub_cache.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/expanded_path.h"
#include "hftrain/base/file.h"
#include "hftrain/base/named_path.h"
#include "hftrain/base/text.h"

namespace hftrain::plan {
namespace {

namespace fs = std::filesystem;

std::string led_there(const HubCache& cache) {
  return cache.named_by.empty() ? "no variable is set; HF_HUB_CACHE or HF_HOME names another one"
                                : "by " + cache.named_by;
}

const char* content_of(const std::string& flag) {
  if (flag == "--tokenizer_name") return "a tokenizer";
  if (flag == "--image_processor_name") return "an image processor";
  return flag == "--generation_config" ? "a generation_config.json" : "a model";
}

}  // namespace

std::string without_slash(const std::string& folder) {
  const fs::path path(folder);
  return path.has_filename() || path == path.root_path() ? folder : path.parent_path().string();
}

std::string repository_folder(const std::string& cache, const std::string& name, HubKind kind) {
  return cache + (kind == HubKind::kDataset ? "/datasets--" : "/models--") + join(split(name, '/'), "--");
}

std::string hub_cache_variable(const Environment& environment) {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"}) {
    if (!environment.get_or(name, "").empty()) return name;
  }
  return "";
}

std::string hub_cache_folder(const std::optional<std::string>& cache_dir, const Environment& environment) {
  if (cache_dir) return *cache_dir;
  const std::string name = hub_cache_variable(environment);
  const std::string value = name.empty() ? "" : expanded_path(environment.get_or(name, ""), environment);
  if (name.empty()) return environment.get_or("HOME", "") + "/.cache/huggingface/hub";
  if (name == "HF_HOME") return value + "/hub";
  return name == "XDG_CACHE_HOME" ? value + "/huggingface/hub" : value;
}

HubCache hub_cache(const std::optional<std::string>& cache_dir, const Environment& environment) {
  return {hub_cache_folder(cache_dir, environment),
          cache_dir ? "--cache_dir" : hub_cache_variable(environment)};
}

bool is_hub_name(const std::string& name) {
  const std::vector<std::string> parts = split(name, '/');
  if (parts.size() > 2) return false;
  return std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
    return !part.empty() && part.find_first_not_of('.') != std::string::npos && part.front() != '~' &&
           std::all_of(part.begin(), part.end(), [](unsigned char c) {
             return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
           });
  });
}

std::string name_on_hub(const std::string& named) {
  return is_folder(named) ? "" : named;
}

bool is_snapshot(const std::string& folder) {
  return folder.find("/models--") != std::string::npos && folder.find("/snapshots/") != std::string::npos;
}

std::optional<std::string> find_snapshot(const std::string& cache, const std::string& name,
                                         const std::string& revision, HubKind kind) {
  const std::string repository = repository_folder(cache, name, kind);
  const std::string reference = repository + "/refs/" + revision;
  std::string commit = revision;
  std::error_code ignored;
  if (fs::is_regular_file(reference, ignored)) commit = trim(read_file(reference));
  const std::string snapshot = repository + "/snapshots/" + commit;
  const bool found = !commit.empty() && is_folder(snapshot);
  return found ? std::optional<std::string>(snapshot) : std::nullopt;
}

std::string resolve_model_folder(const std::string& named, const std::string& flag,
                                 const std::string& revision, const HubCache& cache) {
  if (is_folder(named)) return without_slash(fs::absolute(named).lexically_normal().string());
  const bool of_hub = is_hub_name(named);
  const auto snapshot = of_hub ? find_snapshot(cache.folder, named, revision) : std::nullopt;
  if (snapshot) return fs::absolute(*snapshot).lexically_normal().string();
  const std::string where = flag + " " + named;
  refuse_no_folder(named, where);
  if (!of_hub)
    throw Error(ExitCode::kData, "the folder does not exist")
        .where(where)
        .why("there is nothing of that name, and it is no name of the hub")
        .hint("the path of a folder, or the name of a model in the local hub cache");
  refuse_hidden(repository_folder(cache.folder, named, HubKind::kModel) + "/refs", where);
  std::string options = revision == "main" ? "" : " --revision " + revision;
  if (cache.named_by == "--cache_dir") options += " --cache_dir " + cache.folder;
  throw Error(ExitCode::kData, "'" + named + "' is neither a folder nor in the local hub cache")
      .where(flag)
      .why("the cache is " + cache.folder + " (" + led_there(cache) + "); a run itself fetches nothing")
      .hint("`hftrain fetch " + named + options + "` puts it there" +
            (cache.named_by == "--cache_dir" ? "" : ", --cache_dir names a cache that has it") +
            "; or name a folder that holds " + content_of(flag));
}

}  // namespace hftrain::plan
