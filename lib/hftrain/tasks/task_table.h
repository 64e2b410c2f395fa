// One row for each task: its names, what it reads, how rows become batches, what the model ends in. The file
// of a task (<task>.cpp) holds all of that; nothing outside this module asks which task a run has where a row
// can say it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/architectures/architecture.h"
#include "hftrain/architectures/head.h"
#include "hftrain/arguments/arguments.h"
#include "hftrain/base/json.h"
#include "hftrain/chat/template_folder.h"
#include "hftrain/data/collator.h"
#include "hftrain/data/encoder.h"
#include "hftrain/images/preprocessor.h"
#include "hftrain/tasks/scorer.h"
#include "hftrain/tasks/task.h"

namespace hftrain::tasks {

// What a task decides from, before any data are read.
struct TaskInput {
  const arguments::Arguments& arguments;
  Json model_config;  // config.json of the model that the run starts from
  std::optional<int64_t> tokenizer_max_length = std::nullopt;  // unset: no limit
  std::string tokenizer_class = {};                            // of transformers; empty: it is not named
  bool names_types = true;                       // the tokenizer's config does not leave token_type_ids out
  std::optional<int64_t> pad_id = std::nullopt;  // of the tokenizer
  bool pads_on_left = false;                     // the tokenizer does
  std::optional<bool> pad_to_max_length = std::nullopt;  // as asked for; unset: the task decides
  std::optional<int64_t> mask_id = std::nullopt;         // of the tokenizer
  int64_t tokenizer_size = 0;                            // its ids; 0: it is not known
  int64_t model_positions = 0;                           // of the model; 0: no limit
  // Positions that have an embedding each, where nobody asked for a length and they do not grow with it: no sample may be longer.
  std::optional<int64_t> length_room = std::nullopt;
  bool spaces_words = false;  // the model's tokenizers put a space before each word (Architecture)
  bool trains = true;
  bool has_head = true;  // the model's folder was saved with the head of this task
  std::optional<architectures::ImageShape> image = std::nullopt;  // that the model looks at
  Json preprocessor = nullptr;  // preprocessor_config.json of its image processor; null: none is named
  std::string preprocessor_origin = {};
  // Of the tokenizer, or as the flags have them; unset: they were not read.
  std::optional<chat::TemplateFolder> chat = std::nullopt;
};

struct TaskRow {
  Task task = Task::kCausalLm;
  std::string_view name;                      // of --task, and in plans
  std::vector<std::string_view> other_names;  // of --task too: what older scripts call it
  architectures::Head head = architectures::Head::kCausalLm;
  std::string_view pipeline;            // what the card of its models calls it (pipeline_tag of the hub)
  std::vector<std::string_view> flags;  // that this task reads and not every one

  // The functions are pure. Bad values of flags are Errors (exit code 2).
  std::function<data::Recipe(const TaskInput& input)> recipe = nullptr;  // every row has one
  // The same recipe, of its settings alone. Not set: the task has none (Recipe::settings).
  std::function<data::Recipe(const Json& settings)> recipe_again = nullptr;
  // How a batch is padded; `facts`: what the recipe's survey found. Not set: samples are blocks of one length.
  std::function<data::PaddingOptions(const TaskInput& input, const Json& facts)> padding = nullptr;
  // Whether the samples of a training batch stand in one row, without padding. Not set: they do not.
  std::function<bool(const TaskInput& input)> joins_samples = nullptr;
  // Whether an evaluation divides the loss of a rank's batch by the labels that it predicts, whatever other ranks and the
  // family count (SFTTrainer.prediction_step of TRL). Else as the Trainer divides it.
  bool judges_batches_alone = false;
  // Which tokens of a sample are hidden. Not set: none.
  std::function<data::MaskingOptions(const TaskInput& input)> masking = nullptr;
  // How images become a batch, where samples are such. Not set: they are not.
  std::function<images::Preprocessor(const TaskInput& input)> preprocessor = nullptr;
  // Tokens of the longest sample, where batches are padded.
  std::function<int64_t(const TaskInput& input)> longest = nullptr;
  std::string_view length_flag = "max_seq_length";  // limits `longest`
  double peers_learning_rate =
      0;  // default of the script that the flags come from, where it is not the Trainer's
  // Of the longest target that a decoder reads. Not set: what it reads is as long as the sample.
  std::function<int64_t(const TaskInput& input)> longest_target = nullptr;
  // Keys of config.json that follow from the data (labels). Not set: none do.
  std::function<Json(const Json& facts)> config_changes = nullptr;
  // What evaluation keeps and reports; `facts` are null before the data are prepared (a dry run). Not set: the
  // loss alone.
  std::function<Scoring(const TaskInput& input, const Json& facts)> scoring = nullptr;
  std::function<std::unique_ptr<Scorer>(const ScorerInput& input)> scorer =
      nullptr;  // there is one where `scoring` is

  bool built() const { return recipe != nullptr; }
};

// In the order of Task: hftrain's own, then those that plug-ins describe.
const std::deque<TaskRow>& task_table();
const TaskRow& row_of(Task task);
// Behind the others; before the first thread. Gives it its number.
void add_row(TaskRow row);
// By any of its names; nothing when there is no such task.
std::optional<Task> task_named(std::string_view name);

// Their rows.
TaskRow causal_lm();
TaskRow image_classification();
TaskRow instruction_tuning();
TaskRow masked_lm();
TaskRow question_answering();
TaskRow sequence_to_sequence();
TaskRow text_classification();
TaskRow token_classification();

}  // namespace hftrain::tasks
