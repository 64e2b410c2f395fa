// Words of --task that name more than a task, and those that people bring along for one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace hftrain::arguments {

// "en" and "ro" of translation_en_to_ro, as finetune_trainer.py and the settings of models name a translation; nothing of
// another word.
std::optional<std::pair<std::string, std::string>> languages_of(std::string_view task);

// The task of such a word, and of summarization_xsum, which names data there; empty of another word.
std::string_view task_in(std::string_view word);

// The task of an example script, named without its .py; empty of another.
std::string_view task_of_script(std::string_view name);

// What to do about a word that is no task: "did you mean token-classification?"; empty where nothing comes close.
std::string hint_for_task(std::string_view word, std::span<const std::string> tasks);

}  // namespace hftrain::arguments
