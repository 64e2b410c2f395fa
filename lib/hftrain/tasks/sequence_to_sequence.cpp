// Sequence to sequence, as run_summarization and run_translation have it: the model reads one text and learns to
// write another.
//
//   columns   --text_column and --summary_column, else the first two; with --source_lang and --target_lang the
//             object `translation`; or lines of the
//             .source and .target files, of --data_dir or by name
//   length    --max_source_length tokens (1024) behind --source_prefix; --max_target_length (128), in evaluation
//             --val_max_target_length
//   padding   to the longest of the batch, or with --pad_to_max_length to those lengths; labels with -100, or
//             with --no_ignore_pad_token_for_loss with the padding token
//   scores    with --predict_with_generate texts are written and judged: ROUGE, of translations BLEU
#include <algorithm>
#include <utility>

#include "hftrain/arguments/task_words.h"
#include "hftrain/base/error.h"
#include "hftrain/data/row_format.h"
#include "hftrain/tasks/sequence_pairs.h"
#include "hftrain/tasks/task_table.h"
#include "hftrain/tasks/text_scorer.h"

namespace hftrain::tasks {
namespace {

constexpr const char* kLabels = "labels";
constexpr int64_t kIgnoredLabel = -100;
constexpr int64_t kNoLimit = int64_t{1} << 20;  // tokens

struct SequenceLimits {
  int64_t source = 0, target = 0, evaluated_target = 0;  // tokens
};

SequenceLimits limits_of(const TaskInput& input) {
  const arguments::DataArguments& asked = input.arguments.data;
  const int64_t otherwise = input.tokenizer_max_length.value_or(kNoLimit);
  SequenceLimits limits;
  limits.source = asked.max_source_length.value_or(otherwise);
  limits.target = asked.max_target_length.value_or(otherwise);
  limits.evaluated_target = asked.val_max_target_length.value_or(limits.target);
  return limits;
}

Error missing_language(const char* flag, const std::string& why) {
  return Error(ExitCode::kUsage, std::string("translation needs --") + flag)
      .where("--task")
      .why(why)
      .hint(std::string("--") + flag + " CODE, the name of the language in the rows");
}

// Files whose names end so are read as lines beside lines.
bool names_line_pairs(const arguments::DataArguments& asked) {
  bool any = false;
  for (const auto* files : {&asked.train_file, &asked.validation_file, &asked.test_file}) {
    for (const std::string& file : *files) {
      if (data::row_format(file) != data::RowFormat::kLinePairs) return false;
      any = true;
    }
  }
  return any;
}

PairColumns pair_columns_of(const TaskInput& input) {
  const arguments::DataArguments& asked = input.arguments.data;
  const std::string word = input.arguments.run.task.value_or("");
  const std::string_view within = arguments::task_in(word);  // of summarization_xsum beside a plug-in
  const std::string_view task = within.empty() ? word : within;
  if (asked.data_dir && (asked.text_column || asked.summary_column))
    throw Error(ExitCode::kUsage, "pairs of .source and .target files have no columns to choose from")
        .where(asked.text_column ? "--text_column" : "--summary_column")
        .why("--data_dir names files whose lines are the texts")
        .hint("leave it out, or name files of rows with --train_file");
  const bool languages = asked.source_lang || asked.target_lang,
             columns = asked.text_column || asked.summary_column;
  if (languages && (columns || task == "summarization"))
    throw Error(ExitCode::kUsage, "a run summarises or translates, not both")
        .where(asked.source_lang ? "--source_lang" : "--target_lang")
        .why(columns ? "--text_column and --summary_column are of summaries, languages of translations"
                     : "--task summarization knows no languages")
        .hint("--task translation with two languages, or none");
  // Which file a text stands in says what languages would name.
  if (asked.data_dir || (!columns && names_line_pairs(asked))) return {std::nullopt, std::nullopt, "", ""};
  if (!languages && task != "translation") return {asked.text_column, asked.summary_column, "", ""};
  if (!asked.source_lang) throw missing_language("source_lang", "it reads the rows' text in one language");
  if (!asked.target_lang)
    throw missing_language("target_lang", "it learns to write the rows' text in another");
  if (columns)
    throw Error(ExitCode::kUsage, "--task translation reads no columns of summaries")
        .where(asked.text_column ? "--text_column" : "--summary_column")
        .why("its texts stand in the column 'translation', by language")
        .hint("leave it out, or --task summarization");
  return {std::nullopt, std::nullopt, language_key(*asked.source_lang), language_key(*asked.target_lang)};
}

struct PairEncoding {
  PairColumns columns;
  std::string prefix;  // of sources
  int64_t source_length = 0, target_length = 0;
  // Targets are filled up to their length: with this label, which padding inside of them gets too where it is
  // -100.
  std::optional<int64_t> target_filler = std::nullopt;
  int64_t pad_id = 0;
};

class SequencePairEncoder final : public data::Encoder {
 public:
  SequencePairEncoder(std::shared_ptr<const tokenizer::Tokenizer> tokenizer, PairEncoding options)
      : tokenizer_(std::move(tokenizer)), options_(std::move(options)) {
    source_.truncation = truncation(options_.source_length);
    target_.truncation = truncation(options_.target_length);
  }

  data::FeatureSchema schema() const override {
    return {{data::kInputIds, data::FeatureType::kTokenIds}, {kLabels, data::FeatureType::kInteger}};
  }

  void encode(const data::Records& records, data::Features& features) const override {
    tokenizer::TokenRow tokens;
    std::string source;
    for (size_t row = 0; row < records.rows(); ++row) {
      const auto pair = sequence_pair(records, row, options_.columns);
      if (!pair) continue;
      source = options_.prefix;
      source += pair->source;
      tokenizer_->encode_row({std::string_view(source)}, source_, tokens);
      append(tokens.ids, features.columns[0]);
      tokenizer_->encode_row({pair->target}, target_, tokens);
      if (options_.target_filler) fill(tokens.ids);
      append(tokens.ids, features.columns[1]);
    }
  }

 private:
  tokenizer::Truncation truncation(int64_t length) const {
    return {.max_length = length, .from_left = tokenizer_->truncates_from_left()};
  }

  void fill(std::vector<tokenizer::TokenId>& ids) const {
    const auto filler = static_cast<tokenizer::TokenId>(*options_.target_filler);
    if (filler == kIgnoredLabel)
      std::replace(ids.begin(), ids.end(), static_cast<tokenizer::TokenId>(options_.pad_id), filler);
    const size_t missing = static_cast<size_t>(options_.target_length) - ids.size();
    ids.insert(tokenizer_->pads_on_left() ? ids.begin() : ids.end(), missing, filler);
  }

  static void append(const std::vector<tokenizer::TokenId>& ids, data::FeatureValues& column) {
    column.integers.insert(column.integers.end(), ids.begin(), ids.end());
    column.lengths.push_back(static_cast<int32_t>(ids.size()));
  }

  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
  PairEncoding options_;
  tokenizer::EncodeOptions source_, target_;
};

int64_t label_filler(const TaskInput& input) {
  return input.arguments.data.ignore_pad_token_for_loss ? kIgnoredLabel : input.pad_id.value_or(0);
}

bool pads_to_limits(const TaskInput& input) {
  return input.pad_to_max_length.value_or(false);
}

void check_limits(const TaskInput& input, const SequenceLimits& limits) {
  const bool unlimited = std::max({limits.source, limits.target, limits.evaluated_target}) >= kNoLimit;
  if (!unlimited || !pads_to_limits(input)) return;
  throw Error(ExitCode::kUsage, "there is no length to pad texts to")
      .where("--pad_to_max_length")
      .why("a length is null, and the tokenizer has no limit")
      .hint("--max_source_length and --max_target_length");
}

// Such tokenizers put a token of the language beside each text, and the scripts tell them which: one of sources, one of
// targets. tokenizer.json was saved with one for both.
void refuse_tokenizer_of_languages(const TaskInput& input) {
  for (const char* family : {"MBart", "M2M100", "Nllb", "PLBart", "SeamlessM4T"}) {
    if (!input.tokenizer_class.starts_with(family)) continue;
    throw Error(ExitCode::kData, "the tokenizer has tokens of languages, which cannot be chosen here")
        .where("tokenizer_class " + input.tokenizer_class + " in tokenizer_config.json")
        .why("sources and targets would both get the language that tokenizer.json was saved with")
        .hint("a tokenizer without them; some models are told the languages in words, by --source_prefix");
  }
}

data::Recipe pair_recipe(const TaskInput& input) {
  refuse_tokenizer_of_languages(input);
  const SequenceLimits limits = limits_of(input);
  check_limits(input, limits);
  PairEncoding encoding;
  encoding.columns = pair_columns_of(input);
  encoding.prefix = input.arguments.data.source_prefix.value_or("");
  encoding.source_length = limits.source;
  encoding.pad_id = input.pad_id.value_or(0);
  if (pads_to_limits(input)) encoding.target_filler = label_filler(input);
  const PairColumns& columns = encoding.columns;
  data::Recipe recipe;
  recipe.task = "seq2seq";
  recipe.length_flag = "--max_source_length";
  recipe.options = {{"columns", {columns.text.value_or(""), columns.summary.value_or("")}},
                    {"languages", {columns.source_language, columns.target_language}},
                    {"prefix", encoding.prefix},
                    {"lengths", {limits.source, limits.target, limits.evaluated_target}},
                    {"filler", encoding.target_filler ? Json(*encoding.target_filler) : Json()},
                    {"pad_id", encoding.pad_id}};
  recipe.training_options = recipe.options;
  recipe.training_options["lengths"] = {limits.source, limits.target};
  recipe.arrangement = data::Arrangement::kKeepRows;
  recipe.facts = Json::object();
  recipe.columns = [columns](data::Split) { return pair_columns(columns); };
  recipe.encoder = [=](std::shared_ptr<const tokenizer::Tokenizer> tokenizer, data::Split split,
                       const Json&) {
    PairEncoding options = encoding;
    options.target_length = split == data::Split::kTrain ? limits.target : limits.evaluated_target;
    return std::make_unique<SequencePairEncoder>(std::move(tokenizer), std::move(options));
  };
  return recipe;
}

// The decoder reads the labels shifted to the right, which the model does.
data::PaddingOptions pair_padding(const TaskInput& input, const Json&) {
  using Form = data::PaddedColumn::Form;
  data::PaddingOptions options;
  options.columns = {{"input_ids", data::kInputIds, Form::kSequence, input.pad_id.value_or(0)},
                     {"attention_mask", data::kInputIds, Form::kMask},
                     {kLabels, kLabels, Form::kSequence, label_filler(input), /*own_length=*/true}};
  options.on_left = input.pads_on_left;
  if (pads_to_limits(input)) options.length = limits_of(input).source;
  if (input.arguments.precision.fp16) options.multiple = 8;  // as the scripts ask, for the GPU's sake
  return options;
}

Scoring pair_scoring(const TaskInput& input, const Json&) {
  const arguments::Arguments& asked = input.arguments;
  if (!asked.evaluation.predict_with_generate) return {};
  const SequenceLimits limits = limits_of(input);
  return text_scoring({.translates = asked.data.source_lang || asked.run.task == "translation",
                       .pad_id = input.pad_id,
                       .seed = asked.run.seed,
                       .longest = asked.evaluation.generation_max_length.value_or(limits.evaluated_target)});
}

}  // namespace

TaskRow sequence_to_sequence() {
  return {
      .task = Task::kSeq2Seq,
      .name = "seq2seq",
      .other_names = {"summarization", "translation"},
      .head = architectures::Head::kSeq2SeqLm,
      .pipeline = "text2text-generation",
      .flags = {"data_dir", "forced_bos_token", "text_column", "summary_column", "source_lang", "target_lang",
                "source_prefix", "max_source_length", "max_target_length", "val_max_target_length",
                "pad_to_max_length", "ignore_pad_token_for_loss", "sortish_sampler", "predict_with_generate",
                "generation_max_length", "generation_num_beams", "generation_config", "num_beams"},
      .recipe = pair_recipe,
      .padding = pair_padding,
      .longest = [](const TaskInput& input) { return limits_of(input).source; },
      .length_flag = "max_source_length",
      .longest_target =
          [](const TaskInput& input) {
            const SequenceLimits limits = limits_of(input);
            return std::max(limits.target, limits.evaluated_target);
          },
      .scoring = pair_scoring,
      .scorer = text_scorer};
}

}  // namespace hftrain::tasks
