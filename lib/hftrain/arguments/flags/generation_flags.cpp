#include "hftrain/arguments/flags/rows.h"

namespace hftrain::arguments {

std::vector<Flag> generation_flags() {
  return {
      {.name = "sortish_sampler",
       .slot = at<&Arguments::data, &DataArguments::sortish_sampler>,
       .help = "Roughly sorted batches for sequence-to-sequence data.",
       .note =
           "Pieces of 50 batches sorted by length, the batches then shuffled; with train_sampling_strategy "
           "sequential all data from long to short. By the source's tokens, or length_column_name."},
      {.name = "predict_with_generate",
       .slot = unread(Type::kBool, "false"),
       .help = "Generate text in evaluation and prediction (ROUGE, BLEU).",
       .support = kGeneration},
      {.name = "generation_max_length",
       .slot = unread_optional(Type::kInt),
       .help = "Total length limit of generated sequences in evaluation.",
       .unit = "tokens",
       .range = at_least(1),
       .support = kGeneration},
      {.name = "generation_num_beams",
       .slot = unread_optional(Type::kInt),
       .help = "Beams in evaluation.",
       .range = at_least(1),
       .support = kGeneration},
      {.name = "generation_config",
       .slot = unread_optional(Type::kText),
       .help = "Folder or JSON file with a generation config (upstream also a model id or URL).",
       .path = true,
       .support = kGeneration},
      {.name = "num_beams",
       .slot = unread_optional(Type::kInt),
       .help = "Beams in evaluate and predict of the scripts.",
       .aliases = {"eval_beams"},
       .support = kGeneration},
      {.name = "forced_bos_token",
       .slot = at<&Arguments::data, &DataArguments::forced_bos_token>,
       .help = "First token that generation must produce.",
       .note = "Its id stands as forced_bos_token_id in the saved generation_config.json."},
  };
}

}  // namespace hftrain::arguments
