#include "hftrain/hub/replaced_files.h"

#include <algorithm>
#include <array>

#include "hftrain/base/path_pattern.h"

namespace hftrain::hub {
namespace {

// Of a model in the repository's own folder, in one file or in parts.
const std::vector<std::string>& weights_of_model() {
  static const std::string kNumber = "[0-9][0-9][0-9][0-9][0-9]";
  static const std::vector<std::string> kWeights = {"model.safetensors", "model.safetensors.index.json",
                                                    "model-" + kNumber + "-of-" + kNumber + ".safetensors"};
  return kWeights;
}

// peft's, by which from_pretrained puts an adapter on whatever model stands beside it.
constexpr std::array<const char*, 3> kOfAdapter = {"adapter_config.json", "adapter_model.safetensors",
                                                   "adapter_model.bin"};

}  // namespace

bool brings_model(const std::vector<std::string>& pushed) {
  return std::any_of(pushed.begin(), pushed.end(),
                     [](const std::string& path) { return fits_a_pattern(path, weights_of_model()); });
}

const std::vector<std::string>& replaced_by_model() {
  static const std::vector<std::string> kReplaced = [] {
    std::vector<std::string> patterns = weights_of_model();
    patterns.insert(patterns.end(), std::begin(kOfAdapter), std::end(kOfAdapter));
    return patterns;
  }();
  return kReplaced;
}

std::vector<std::string> replaced_files(const std::set<std::string>& there,
                                        const std::set<std::string>& pushed, const std::string& folder) {
  const bool model = brings_model({pushed.begin(), pushed.end()});
  std::vector<std::string> replaced;
  for (const std::string& path : there) {
    const bool below = !folder.empty() && path.starts_with(folder + '/');
    const bool older = below || (model && fits_a_pattern(path, replaced_by_model()));
    if (older && pushed.count(path) == 0) replaced.push_back(path);
  }
  return replaced;
}

}  // namespace hftrain::hub
