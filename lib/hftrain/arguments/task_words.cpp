#include "hftrain/arguments/task_words.h"

namespace hftrain::arguments {

std::optional<std::pair<std::string, std::string>> languages_of(std::string_view task) {
  constexpr std::string_view kBefore = "translation_", kBetween = "_to_";
  if (!task.starts_with(kBefore)) return std::nullopt;
  task.remove_prefix(kBefore.size());
  const size_t between = task.find(kBetween);
  if (between == std::string_view::npos || between == 0) return std::nullopt;
  const std::string_view target = task.substr(between + kBetween.size());
  if (target.empty()) return std::nullopt;
  return std::pair{std::string(task.substr(0, between)), std::string(target)};
}

}  // namespace hftrain::arguments
