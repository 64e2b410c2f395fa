#include "hftrain/arguments/task_words.h"

#include <algorithm>
#include <vector>

#include "hftrain/arguments/glue_names.h"
#include "hftrain/base/error.h"
#include "hftrain/base/suggest.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

constexpr Synonym kTasksOfScripts[] = {
    {"run_clm", "clm"},
    {"run_glue", "text-classification"},
    {"run_image_classification", "image-classification"},
    {"run_mlm", "mlm"},
    {"run_ner", "token-classification"},
    {"run_qa", "question-answering"},
    {"run_summarization", "summarization"},
    {"run_translation", "translation"},
    {"sft", "sft"},
};

// Pipelines, heads and data of the Hub, peft's words, and people's.
constexpr Synonym kTaskWords[] = {
    {"causal_lm", "clm"},
    {"chat", "sft"},
    {"chunk", "token-classification"},
    {"classification", "text-classification", "token-classification"},
    {"conditional_generation", "seq2seq"},
    {"fill_mask", "mlm"},
    {"glue", "text-classification"},
    {"instruction_tuning", "sft"},
    {"language_modeling", "clm", "mlm"},
    {"lm", "clm", "mlm"},
    {"masked_lm", "mlm"},
    {"ner", "token-classification"},
    {"pos", "token-classification"},
    {"qa", "question-answering"},
    {"question_ans", "question-answering"},
    {"sentiment_analysis", "text-classification"},
    {"seq_2_seq_lm", "seq2seq"},
    {"seq_cls", "text-classification"},
    {"sequence_classification", "text-classification"},
    {"squad", "question-answering"},
    {"supervised_fine_tuning", "sft"},
    {"tagging", "token-classification"},
    {"text2text_generation", "seq2seq"},
    {"text_generation", "clm"},
    {"token_cls", "token-classification"},
};

}  // namespace

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

std::string_view task_in(std::string_view word) {
  constexpr std::string_view kSummarization = "summarization_";
  if (languages_of(word)) return "translation";
  const bool names_data = word.starts_with(kSummarization) && word.size() > kSummarization.size();
  return names_data ? kSummarization.substr(0, kSummarization.size() - 1) : std::string_view();
}

std::string_view task_of_script(std::string_view name) {
  const auto* found = std::ranges::find(kTasksOfScripts, name, &Synonym::word);
  return found == std::end(kTasksOfScripts) ? std::string_view() : found->name;
}

std::string hint_for_task(std::string_view word, std::span<const std::string> tasks) {
  const std::string lower = to_lower(word);
  if (std::ranges::find(kGlueNames, lower) != kGlueNames.end())
    return "--task text-classification --task_name " + lower;
  std::vector<Synonym> synonyms(std::begin(kTasksOfScripts), std::end(kTasksOfScripts));
  synonyms.insert(synonyms.end(), std::begin(kTaskWords), std::end(kTaskWords));
  return did_you_mean(suggest_names(word, tasks, synonyms), "");
}

}  // namespace hftrain::arguments
