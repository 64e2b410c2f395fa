// Supervised fine-tuning on instructions, as TRL's SFTTrainer has it: a language model learns conversations, completions
// of prompts, or texts.
//
//   columns   instruction_rows.h; --dataset_text_field names that of texts
//   tokens    instruction_encoder.h; the chat template of the tokenizer, or of --chat_template_path
//   length    --max_length tokens (1024); null: as long as they are
//   padding   behind the samples, to the longest of the batch; --pad_to_multiple_of
#include <ctime>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/hash.h"
#include "hftrain/tasks/instruction_encoder.h"
#include "hftrain/tasks/instruction_rows.h"
#include "hftrain/tasks/task_table.h"
#include "hftrain/tasks/token_scorer.h"

namespace hftrain::tasks {
namespace {

constexpr int64_t kUnlimitedSample = 1024;  // tokens that a plan expects of samples without a limit

const arguments::InstructionArguments& asked_of(const TaskInput& input) {
  return input.arguments.instructions;
}

int64_t longest_instruction(const TaskInput& input) {
  if (const auto& limit = asked_of(input).max_length) return *limit;
  return input.model_positions > 0 ? input.model_positions : kUnlimitedSample;
}

// What strftime_now() tells is of the day on which the data are prepared: prepared data stay as they are.
std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return local;
}

std::optional<std::string> special_token(const chat::TemplateFolder& folder, std::string_view name) {
  for (const auto& [key, value] : folder.special_tokens) {
    if (key == name && value.as_text() != nullptr) return value.as_text()->bytes;
  }
  return std::nullopt;
}

InstructionEncoding encoding_of(const TaskInput& input) {
  const arguments::InstructionArguments& asked = asked_of(input);
  const chat::TemplateFolder folder = input.chat.value_or(chat::TemplateFolder());
  InstructionEncoding encoding;
  encoding.templates = std::make_shared<ConversationTemplates>(folder, local_time());
  encoding.end_of_text = special_token(folder, "eos_token");
  encoding.completion_only = asked.completion_only_loss.value_or(true);
  encoding.asked_for_completions = asked.completion_only_loss.value_or(false);
  encoding.assistant_only = asked.assistant_only_loss;
  encoding.max_length = asked.max_length;
  encoding.keeps_end = asked.truncation_mode == "keep_end";
  if (input.chat && encoding.assistant_only) encoding.templates->require_marks();
  return encoding;
}

// Of TRL's packing alone, wrapped keeps the rows of a batch apart.
bool joins_instructions(const TaskInput& input) {
  const arguments::InstructionArguments& asked = asked_of(input);
  return asked.padding_free || (asked.packing && asked.packing_strategy != "wrapped");
}

data::PackingStrategy packing_strategy(const TaskInput& input) {
  const std::string& name = asked_of(input).packing_strategy;
  if (name == "wrapped") return data::PackingStrategy::kWrapped;
  return name == "bfd_split" ? data::PackingStrategy::kBestFitSplit : data::PackingStrategy::kBestFit;
}

// Of a split that is packed the length is that of its sequences, and whatever is longer is the packing's concern.
bool packs_split(const TaskInput& input, data::Split split) {
  const arguments::InstructionArguments& asked = asked_of(input);
  return split == data::Split::kTrain ? asked.packing : asked.eval_packing.value_or(asked.packing);
}

Error no_length(const char* flag, const std::string& why, const std::string& hint) {
  return Error(ExitCode::kUsage, std::string("--") + flag + " and --max_length do not go together")
      .where(std::string("--") + flag)
      .why(why)
      .hint(hint);
}

void check_packing(const TaskInput& input) {
  const arguments::InstructionArguments& asked = asked_of(input);
  const bool packs = packs_split(input, data::Split::kTrain) || packs_split(input, data::Split::kValidation);
  if (packs && !asked.max_length)
    throw no_length("packing", "max_length is null, and packed sequences have that length",
                    "--max_length TOKENS");
  if (asked.padding_free && !asked.packing && asked.max_length)
    throw no_length("padding_free", "TRL's trainer cuts nothing in batches without padding",
                    "--max_length null, or --packing");
}

// All that the templates and special tokens are, for the cache's key.
Json text_of_chat(const TaskInput& input) {
  Json made = Json::object();
  if (!input.chat) return made;
  for (const auto& [name, source] : input.chat->templates) made["templates"][name] = hash_bytes(source.text);
  for (const auto& [name, value] : input.chat->special_tokens) {
    if (value.as_text() != nullptr) made["tokens"][name] = value.as_text()->bytes;
  }
  return made;
}

data::Recipe instruction_recipe(const TaskInput& input) {
  const arguments::InstructionArguments& asked = asked_of(input);
  check_packing(input);
  const InstructionEncoding encoding = encoding_of(input);
  data::Recipe recipe;
  recipe.task = "sft";
  recipe.length_flag = "--max_length";
  recipe.options = {{"text_field", asked.dataset_text_field},
                    {"max_length", asked.max_length ? Json(*asked.max_length) : Json()},
                    {"truncation", asked.truncation_mode},
                    {"completion_only", encoding.completion_only},
                    {"completions_asked", encoding.asked_for_completions},
                    {"assistant_only", encoding.assistant_only},
                    {"chat", text_of_chat(input)}};
  recipe.arrangement = data::Arrangement::kKeepRows;
  recipe.columns = [field = asked.dataset_text_field](data::Split) { return instruction_columns(field); };
  const bool packs_training = packs_split(input, data::Split::kTrain),
             packs_others = packs_split(input, data::Split::kValidation);
  const auto packs = [=](data::Split split) {
    return split == data::Split::kTrain ? packs_training : packs_others;
  };
  if (packs_training || packs_others) {
    const data::PackingOptions packing{packing_strategy(input), *asked.max_length};
    recipe.packing = [=](data::Split split) { return packs(split) ? std::optional(packing) : std::nullopt; };
    recipe.options["packing"] = {asked.packing_strategy, packs_training, packs_others};
  }
  if (asked.shuffle_dataset) {
    recipe.shuffle_seed = static_cast<uint64_t>(input.arguments.run.seed);
    recipe.options["shuffle"] = *recipe.shuffle_seed;
  }
  recipe.encoder = [=](std::shared_ptr<const tokenizer::Tokenizer> tokenizer, data::Split split,
                       const Json&) {
    InstructionEncoding of_split = encoding;
    if (packs(split)) of_split.max_length.reset();
    return instruction_encoder(std::move(tokenizer), std::move(of_split));
  };
  return recipe;
}

Error no_multiple(const std::string& text) {
  return Error(ExitCode::kUsage, "'" + text + "' is no number of tokens")
      .where("--pad_to_multiple_of")
      .why("padded batches are as long as a multiple of it")
      .hint("a whole number from 1 on, or auto");
}

int64_t multiple_of(const TaskInput& input) {
  const std::string text = asked_of(input).pad_to_multiple_of.value_or("auto");
  if (text == "auto") return 1;
  const bool digits = !text.empty() && text.size() < 7 && text.find_first_not_of("0123456789") == text.npos;
  const int64_t multiple = digits ? std::stoll(text) : 0;
  if (multiple < 1) throw no_multiple(text);
  return multiple;
}

// Behind the samples, whatever the tokenizer says: what comes before it then does not see padding.
data::PaddingOptions instruction_padding(const TaskInput& input, const Json&) {
  using Form = data::PaddedColumn::Form;
  data::PaddingOptions options;
  options.columns = {{"input_ids", data::kInputIds, Form::kSequence, input.pad_id.value_or(0)},
                     {"attention_mask", data::kInputIds, Form::kMask},
                     {kLabelColumn, kLabelColumn, Form::kSequence, kNoLabel}};
  options.multiple = multiple_of(input);
  return options;
}

}  // namespace

TaskRow instruction_tuning() {
  return {.task = Task::kInstructionTuning,
          .name = "sft",
          .head = architectures::Head::kCausalLm,
          .pipeline = "text-generation",
          .flags = {"dataset_text_field", "chat_template_path", "max_length", "truncation_mode",
                    "completion_only_loss", "assistant_only_loss", "eos_token", "pad_token",
                    "pad_to_multiple_of", "dataset_num_proc", "packing", "packing_strategy", "padding_free",
                    "eval_packing", "shuffle_dataset", "loss_type", "activation_offloading",
                    "dataset_train_split", "dataset_test_split"},
          .recipe = instruction_recipe,
          .padding = instruction_padding,
          .joins_samples = joins_instructions,
          .longest = longest_instruction,
          .length_flag = "max_length",
          .peers_learning_rate = 2e-5,
          .scoring = [](const TaskInput&, const Json&) { return token_scoring(); },
          .scorer = [](const ScorerInput&) { return make_token_scorer(Predicts::kNextToken); }};
}

}  // namespace hftrain::tasks
