// Words of --task that name more than a task.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hftrain::arguments {

// "en" and "ro" of translation_en_to_ro, as finetune_trainer.py and the settings of models name a translation; nothing of
// another word.
std::optional<std::pair<std::string, std::string>> languages_of(std::string_view task);

}  // namespace hftrain::arguments
