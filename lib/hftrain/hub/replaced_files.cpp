#include "hftrain/hub/replaced_files.h"

#include <algorithm>
#include <regex>

namespace hftrain::hub {
namespace {

// Of a model in the repository's own folder, in one file or in parts.
bool holds_weights(const std::string& path) {
  static const std::regex kWeights(
      R"(model(-\d{5,6}-of-\d{5,6})?\.safetensors|model\.safetensors\.index\.json)");
  return std::regex_match(path, kWeights);
}

// peft's, by which from_pretrained puts an adapter on whatever model stands beside it.
bool is_of_adapter(const std::string& path) {
  return path == "adapter_config.json" || path == "adapter_model.safetensors" || path == "adapter_model.bin";
}

}  // namespace

std::vector<std::string> replaced_files(const std::set<std::string>& there,
                                        const std::set<std::string>& pushed, const std::string& folder) {
  const bool model = std::any_of(pushed.begin(), pushed.end(), holds_weights);
  std::vector<std::string> replaced;
  for (const std::string& path : there) {
    const bool of_model = holds_weights(path) || is_of_adapter(path);
    const bool older = (model && of_model) || (!folder.empty() && path.starts_with(folder + '/'));
    if (older && pushed.count(path) == 0) replaced.push_back(path);
  }
  return replaced;
}

}  // namespace hftrain::hub
