// Masked language modelling, as run_mlm has it: one column of text (`text`, else the first); some tokens of a
// sample are hidden, others in every epoch, and are to be said from those around them.
//
//   samples   rows joined and cut into blocks of --max_seq_length tokens, with the special tokens of each row;
//             or with --line_by_line each row that is not blank, cut to that length
//   length    --max_seq_length; else the tokenizer's limit, or 1024 where it has none or a larger one, and no
//             more than the model's positions
//   padding   rows to the longest of the batch, or with --pad_to_max_length to that length
//   masking   data/masking.h, with --mlm_probability and --whole_word_mask
#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/data/masking.h"
#include "hftrain/tasks/mask_encoder.h"
#include "hftrain/tasks/padded_sequences.h"
#include "hftrain/tasks/task_table.h"
#include "hftrain/tasks/token_scorer.h"

namespace hftrain::tasks {
namespace {

constexpr int64_t kLongestDefaultBlock = 1024;  // tokens

int64_t longest_masked(const TaskInput& input) {
  const int64_t limit = input.tokenizer_max_length.value_or(kLongestDefaultBlock);
  if (const auto& asked = input.arguments.data.max_seq_length)
    return std::min(*asked, input.tokenizer_max_length.value_or(*asked));
  const int64_t longest = std::min(limit, kLongestDefaultBlock);
  return input.model_positions > 0 ? std::min(longest, input.model_positions) : longest;
}

void require_mask_token(const TaskInput& input) {
  if (input.mask_id || input.tokenizer_size == 0) return;  // 0: a plan without the tokenizer
  throw Error(ExitCode::kData, "the tokenizer has no mask token")
      .where("--tokenizer_name")
      .why("--task mlm hides tokens behind it")
      .hint("name one as mask_token in its tokenizer_config.json, or take the tokenizer of a masked model");
}

// Of what stands in the cache's key, too.
data::Recipe masked_again(const Json& settings) {
  const bool by_line = settings.at("line_by_line").get<bool>();
  MaskEncoding encoding{.skips_blank_rows = by_line, .whole_words = settings.at("whole_words").get<bool>()};
  if (by_line) encoding.max_length = settings.at("max_length").get<int64_t>();
  data::Recipe recipe;
  recipe.task = "mlm";
  recipe.length_flag = "--max_seq_length";
  recipe.options = recipe.settings = settings;
  recipe.arrangement = by_line ? data::Arrangement::kKeepRows : data::Arrangement::kPack;
  recipe.columns = [](data::Split) { return data::text_column(); };
  recipe.encoder = [=](std::shared_ptr<const tokenizer::Tokenizer> tokenizer, data::Split, const Json&) {
    return mask_encoder(std::move(tokenizer), encoding);
  };
  return recipe;
}

data::Recipe masked_recipe(const TaskInput& input) {
  require_mask_token(input);
  const arguments::DataArguments& asked = input.arguments.data;
  return masked_again({{"line_by_line", asked.line_by_line},
                       {"max_length", asked.line_by_line ? Json(longest_masked(input)) : Json()},
                       {"whole_words", asked.whole_word_mask}});
}

// Blocks are full: nothing pads them, and nothing has to be said of padding.
data::PaddingOptions masked_padding(const TaskInput& input, const Json&) {
  data::PaddingOptions options = padded_sequences(input);
  auto& columns = options.columns;
  columns.erase(std::remove_if(columns.begin(), columns.end(),
                               [&](const data::PaddedColumn& column) {
                                 const bool blocks = !input.arguments.data.line_by_line;
                                 return column.tensor == "token_type_ids" ||
                                        (blocks && column.tensor == "attention_mask");
                               }),
                columns.end());
  if (input.pad_to_max_length.value_or(false)) fix_length(options, longest_masked(input));
  if (!input.arguments.data.line_by_line) options.multiple = 1;
  return options;
}

data::MaskingOptions masking_of(const TaskInput& input) {
  return {.probability = input.arguments.data.mlm_probability,
          .mask_id = input.mask_id.value_or(0),
          .vocabulary = std::max<int64_t>(1, input.tokenizer_size),
          .whole_words = input.arguments.data.whole_word_mask};
}

}  // namespace

TaskRow masked_lm() {
  return {
      .task = Task::kMaskedLm,
      .name = "mlm",
      .head = architectures::Head::kMaskedLm,
      .pipeline = "fill-mask",
      .flags = {"max_seq_length", "line_by_line", "pad_to_max_length", "mlm_probability", "whole_word_mask"},
      .recipe = masked_recipe,
      .recipe_again = masked_again,
      .padding = masked_padding,
      .masking = masking_of,
      .longest = longest_masked,
      .scoring = [](const TaskInput&, const Json&) { return token_scoring(); },
      .scorer = [](const ScorerInput&) { return make_token_scorer(Predicts::kSameToken); }};
}

}  // namespace hftrain::tasks
