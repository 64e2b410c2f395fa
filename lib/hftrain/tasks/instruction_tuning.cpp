// Supervised fine-tuning on instructions, as TRL's SFTTrainer has it: a language model learns conversations, completions
// of prompts, or texts.
//
//   columns   instruction_rows.h; --dataset_text_field names that of texts
//   tokens    instruction_encoder.h; the chat template of the tokenizer, or of --chat_template_path
//   length    --max_length tokens (1024, or as many positions as the model has); null: as long as they are
//   padding   behind the samples, to the longest of the batch; --pad_to_multiple_of
#include <algorithm>
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

// Of a sample; unset: none.
std::optional<int64_t> limit_of(const TaskInput& input) {
  const std::optional<int64_t>& asked = asked_of(input).max_length;
  return asked && input.length_room ? std::min(*asked, *input.length_room) : asked;
}

int64_t longest_instruction(const TaskInput& input) {
  if (const auto limit = limit_of(input)) return *limit;
  return input.model_positions > 0 ? input.model_positions : kUnlimitedSample;
}

// What strftime_now() tells is of the moment at which the data are prepared, or the run was planned: prepared data stay as
// they are.
std::tm local_time(std::time_t now) {
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

// `options` are those of the recipe.
InstructionEncoding encoding_of(const chat::TemplateFolder& folder, std::time_t now, const Json& options) {
  InstructionEncoding encoding;
  encoding.templates = std::make_shared<ConversationTemplates>(folder, local_time(now));
  encoding.end_of_text = special_token(folder, "eos_token");
  encoding.completion_only = options.at("completion_only").get<bool>();
  encoding.asked_for_completions = options.at("completions_asked").get<bool>();
  encoding.assistant_only = options.at("assistant_only").get<bool>();
  if (!options.at("max_length").is_null()) encoding.max_length = options["max_length"].get<int64_t>();
  encoding.keeps_end = options.at("truncation") == "keep_end";
  return encoding;
}

// Wrapped rows are plain ones: they stand below one another, padded.
bool joins_instructions(const TaskInput& input) {
  const arguments::InstructionArguments& asked = asked_of(input);
  return asked.padding_free || (asked.packing && asked.packing_strategy != "wrapped");
}

// As prepared data call it. Rows that were made under the flag's own word have marks where samples begin.
constexpr const char* kOneStream = "wrapped, one stream";

std::string packing_word(const std::string& strategy) {
  return strategy == "wrapped" ? kOneStream : strategy;
}

data::PackingStrategy packing_strategy(const std::string& name) {
  if (name == kOneStream) return data::PackingStrategy::kWrapped;
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
Json text_of_chat(const chat::TemplateFolder& folder) {
  Json made = Json::object();
  for (const auto& [name, source] : folder.templates) made["templates"][name] = hash_bytes(source.text);
  for (const auto& [name, value] : folder.special_tokens) {
    if (value.as_text() != nullptr) made["tokens"][name] = value.as_text()->bytes;
  }
  return made;
}

// The folder itself, as values.
Json json_of_chat(const chat::TemplateFolder& folder) {
  Json made = {{"templates", Json::object()}, {"tokens", Json::array()}};
  for (const auto& [name, source] : folder.templates) made["templates"][name] = {source.text, source.origin};
  for (const auto& [name, value] : folder.special_tokens) {
    if (value.as_text() != nullptr) made["tokens"].push_back({name, value.as_text()->bytes});
  }
  return made;
}

chat::TemplateFolder chat_from_json(const Json& made) {
  chat::TemplateFolder folder;
  for (const auto& [name, source] : made.at("templates").items())
    folder.templates[name] = {source.at(0).get<std::string>(), source.at(1).get<std::string>()};
  for (const Json& token : made.at("tokens"))
    folder.special_tokens.emplace_back(token.at(0).get<std::string>(),
                                       chat::Value::text(token.at(1).get<std::string>()));
  return folder;
}

// Of what decides the samples.
// Raised when rows are read otherwise: what was prepared before is prepared anew.
constexpr int kRowsRead = 2;

Json instruction_options(const TaskInput& input) {
  const arguments::InstructionArguments& asked = asked_of(input);
  const std::optional<int64_t> limit = limit_of(input);
  Json options = {{"rows", kRowsRead},
                  {"text_field", asked.dataset_text_field},
                  {"max_length", limit ? Json(*limit) : Json()},
                  {"truncation", asked.truncation_mode},
                  {"completion_only", asked.completion_only_loss.value_or(true)},
                  {"completions_asked", asked.completion_only_loss.value_or(false)},
                  {"assistant_only", asked.assistant_only_loss},
                  {"chat", text_of_chat(input.chat.value_or(chat::TemplateFolder()))}};
  const bool packs_training = packs_split(input, data::Split::kTrain),
             packs_others = packs_split(input, data::Split::kValidation);
  if (packs_training || packs_others)
    options["packing"] = {packing_word(asked.packing_strategy), packs_training, packs_others};
  if (asked.shuffle_dataset) options["shuffle"] = static_cast<uint64_t>(input.arguments.run.seed);
  return options;
}

data::Recipe instructions_again(const Json& settings) {
  const Json& options = settings.at("options");
  const InstructionEncoding encoding =
      encoding_of(chat_from_json(settings.at("chat")), settings.at("time").get<std::time_t>(), options);
  data::Recipe recipe;
  recipe.task = "sft";
  recipe.length_flag = "--max_length";
  recipe.options = options;
  recipe.settings = settings;
  recipe.arrangement = data::Arrangement::kKeepRows;
  recipe.columns = [field = options.at("text_field").get<std::string>()](data::Split) {
    return instruction_columns(field);
  };
  const Json packing = options.value("packing", Json({"", false, false}));
  const auto packs = [training = packing.at(1).get<bool>(), others = packing.at(2).get<bool>()](
                         data::Split split) { return split == data::Split::kTrain ? training : others; };
  if (options.contains("packing")) {
    recipe.training_options = options;
    if (packs(data::Split::kTrain))
      recipe.training_options["packing"] = packing.at(0);
    else
      recipe.training_options.erase("packing");
    const data::PackingOptions length{packing_strategy(packing.at(0).get<std::string>()),
                                      *encoding.max_length};
    recipe.packing = [=](data::Split split) { return packs(split) ? std::optional(length) : std::nullopt; };
  }
  if (options.contains("shuffle")) recipe.shuffle_seed = options["shuffle"].get<uint64_t>();
  recipe.encoder = [=](std::shared_ptr<const tokenizer::Tokenizer> tokenizer, data::Split split,
                       const Json&) {
    InstructionEncoding of_split = encoding;
    if (packs(split)) of_split.max_length.reset();
    of_split.joins_rows = packs(split) && packing.at(0) == kOneStream;
    return instruction_encoder(std::move(tokenizer), std::move(of_split));
  };
  return recipe;
}

data::Recipe instruction_recipe(const TaskInput& input) {
  check_packing(input);
  const chat::TemplateFolder folder = input.chat.value_or(chat::TemplateFolder());
  return instructions_again({{"options", instruction_options(input)},
                             {"chat", json_of_chat(folder)},
                             {"time", std::time(nullptr)}});
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
          .recipe_again = instructions_again,
          .padding = instruction_padding,
          .joins_samples = joins_instructions,
          .judges_batches_alone = true,
          .longest = longest_instruction,
          .length_flag = "max_length",
          .peers_learning_rate = 2e-5,
          .scoring = [](const TaskInput&, const Json&) { return token_scoring(); },
          .scorer = [](const ScorerInput&) { return make_token_scorer(Predicts::kNextToken); }};
}

}  // namespace hftrain::tasks
