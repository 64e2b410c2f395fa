#include "launcher/front/smoke_rows.h"

#include <filesystem>
#include <map>
#include <string_view>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/text.h"
#include "hftrain/chat/template_folder.h"
#include "hftrain/data/sample_classes.h"
#include "hftrain/data/sample_instructions.h"
#include "hftrain/data/sample_questions.h"
#include "hftrain/data/sample_sequences.h"
#include "hftrain/data/sample_tags.h"
#include "hftrain/tasks/glue_task.h"
#include "hftrain/tasks/sequence_pairs.h"

namespace hftrain::front {
namespace {

using tasks::Task;
using Names = std::map<std::string, std::string>;

constexpr double kAlike = 4.5, kUnlike = 0.5;  // of stsb's marks from 0 to 5

// Columns, and what stands in objects, under other names and in their order. No text in sample rows has what ends a name.
std::string renamed(const std::string& rows, const Names& names) {
  constexpr std::string_view kEnd = "\": ";
  std::string result;
  size_t at = 0;
  for (size_t end = rows.find(kEnd); end != std::string::npos; end = rows.find(kEnd, at)) {
    const size_t begin = rows.rfind('"', end - 1);
    const auto name = names.find(rows.substr(begin + 1, end - begin - 1));
    result += rows.substr(at, begin - at);
    result += name == names.end() ? rows.substr(begin, end + 1 - begin) : Json(name->second).dump();
    result += ": ";
    at = end + kEnd.size();
  }
  return result + rows.substr(at);
}

std::string marked(const std::string& pairs) {
  std::string result;
  for (const std::string& line : split(pairs, '\n')) {
    if (line.empty()) continue;
    Json row = parse_json(line, "a sample row");
    row["label"] = row["label"] == "same" ? kAlike : kUnlike;
    result += dump_json(row, -1) + '\n';
  }
  return result;
}

// As rows of a model that was never taught to chat: {"prompt", "completion"}.
std::string without_roles(const std::string& conversations) {
  std::string result;
  for (const std::string& line : split(conversations, '\n')) {
    if (line.empty()) continue;
    const Json said = parse_json(line, "a sample row").at("messages");
    const auto question = said[0]["content"].get<std::string>(),
               answer = said[1]["content"].get<std::string>();
    result += dump_json({{"prompt", question + ' '}, {"completion", answer}}, -1) + '\n';
  }
  return result;
}

// Whether the run is known to have a chat template: of a name on the Hub it is not. The tokenizer that is made for a run without has one.
bool can_chat(const arguments::Arguments& asked) {
  if (asked.instructions.chat_template_path || asked.instructions.assistant_only_loss) return true;
  const std::string folder = asked.model.tokenizer_name.value_or(asked.model.model_name_or_path.value_or(""));
  return folder.empty() || (path_exists(folder) && !chat::read_template_folder(folder).templates.empty());
}

std::string rows_of_instructions(const arguments::Arguments& asked, uint64_t seed, int64_t bytes) {
  const std::string conversations = data::sample_instructions(seed, bytes);
  return can_chat(asked) ? conversations : without_roles(conversations);
}

std::string rows_of_glue(const std::string& name, uint64_t seed, int64_t bytes) {
  const tasks::GlueTask glue = tasks::glue_task_named(name);
  if (glue.second == nullptr) return data::sample_classes(seed, bytes);
  const std::string pairs = data::sample_pairs(seed, bytes);
  return glue.regression ? marked(pairs)
                         : renamed(pairs, {{"sentence1", glue.first}, {"sentence2", glue.second}});
}

std::string rows_of_tags(const arguments::DataArguments& asked, uint64_t seed, int64_t bytes) {
  const std::string tags =
      asked.label_column_name.value_or(to_lower(asked.task_name.value_or("ner")) + "_tags");
  return renamed(data::sample_tags(seed, bytes),
                 {{"tokens", asked.text_column_name.value_or("tokens")}, {"ner_tags", tags}});
}

std::string rows_of_sequences(const arguments::DataArguments& asked, uint64_t seed, int64_t bytes) {
  return renamed(data::sample_sequences(seed, bytes),
                 {{"text", asked.text_column.value_or("text")},
                  {"summary", asked.summary_column.value_or("summary")},
                  {"plain", tasks::language_key(asked.source_lang.value_or("plain"))},
                  {"cipher", tasks::language_key(asked.target_lang.value_or("cipher"))}});
}

}  // namespace

std::string sample_rows(Task task, const arguments::Arguments& asked, uint64_t seed, int64_t bytes) {
  switch (task) {
    case Task::kInstructionTuning:
      return rows_of_instructions(asked, seed, bytes);
    case Task::kTextClassification:
      return asked.data.task_name ? rows_of_glue(*asked.data.task_name, seed, bytes)
                                  : data::sample_classes(seed, bytes);
    case Task::kTokenClassification:
      return rows_of_tags(asked.data, seed, bytes);
    case Task::kQuestionAnswering:
      return data::sample_questions(seed, bytes);
    case Task::kSeq2Seq:
      return rows_of_sequences(asked.data, seed, bytes);
    default:
      throw Error(ExitCode::kInternal, "there are no sample rows of this task");
  }
}

bool names_image_columns(const arguments::Arguments& asked) {
  return asked.data.label_column_name ||
         asked.data.image_column_name != arguments::DataArguments().image_column_name;
}

std::string sample_image_row(const arguments::Arguments& asked, const std::string& path) {
  const std::string name = std::filesystem::path(path).parent_path().filename().string();
  Json row = {{asked.data.image_column_name, path}};
  row[asked.data.label_column_name.value_or("label")] = name;
  return dump_json(row, -1) + '\n';
}

}  // namespace hftrain::front
