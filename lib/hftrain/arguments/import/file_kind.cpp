#include "hftrain/arguments/import/file_kind.h"

#include <algorithm>

#include "hftrain/base/file.h"

namespace hftrain::arguments {
namespace {

// The surest first.
constexpr FileKind kKindsOfFiles[] = {{"distributed_type", kFileOfAccelerate, "config"},
                                      {"compute_environment", kFileOfAccelerate, "config"},
                                      {"zero_optimization", kFileOfDeepSpeed, "deepspeed"},
                                      {"train_micro_batch_size_per_gpu", kFileOfDeepSpeed, "deepspeed"},
                                      {"fsdp_config", "a whole run", "config"}};

}  // namespace

const FileKind* kind_by_key(std::string_view key) {
  const auto* found = std::ranges::find(kKindsOfFiles, key, &FileKind::key);
  return found == std::end(kKindsOfFiles) ? nullptr : found;
}

bool refuse_other_kind(const Section& section, const std::string& flag, Diagnostics& problems) {
  const auto* found = std::ranges::find_if(
      kKindsOfFiles, [&](const FileKind& kind) { return section.values.contains(kind.key); });
  if (found == std::end(kKindsOfFiles) || found->flag == flag) return false;
  const std::string key(found->key);
  problems.push_back({.what = flag + ": this is a configuration of " + std::string(found->of),
                      .where = place(section.place('/' + key)),
                      .why = "it has " + key + ", which " + flag + " does not take",
                      .hint = "--" + std::string(found->flag) + ' ' +
                              (path_exists(section.origin) ? section.origin : "FILE")});
  return true;
}

}  // namespace hftrain::arguments
