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
       .slot = at<&Arguments::evaluation, &EvaluationArguments::predict_with_generate>,
       .help = "Generate text in evaluation and prediction (ROUGE, BLEU).",
       .note = "Summaries are judged by rouge1, rouge2, rougeL and rougeLsum, translations by bleu; gen_len "
               "is the mean "
               "length. --do_predict writes generated_predictions.txt. On several ranks all of them take the "
               "same number "
               "of steps where parameters are sharded."},
      {.name = "generation_max_length",
       .slot = at<&Arguments::evaluation, &EvaluationArguments::generation_max_length>,
       .help = "Total length limit of generated sequences in evaluation.",
       .note = "Counts the token that the decoder begins with. Unset: --val_max_target_length or "
               "--max_target_length "
               "where one is given, else the generation config's length, else max_target_length.",
       .unit = "tokens",
       .range = at_least(1)},
      {.name = "generation_num_beams",
       .slot = at<&Arguments::evaluation, &EvaluationArguments::generation_num_beams>,
       .help = "Beams in evaluation.",
       .note = "Unset: --num_beams, else the generation config's, else 1, which is greedy.",
       .range = at_least(1)},
      {.name = "generation_config",
       .slot = at<&Arguments::evaluation, &EvaluationArguments::generation_config>,
       .help = "Folder or JSON file with a generation config (upstream also a model id or URL).",
       .note = "Takes the place of the model's own, also in what is saved. The name of a model is looked up "
               "in the local "
               "hub cache.",
       .path = true},
      {.name = "num_beams",
       .slot = at<&Arguments::evaluation, &EvaluationArguments::num_beams>,
       .help = "Beams in evaluate and predict of the scripts.",
       .note = "--generation_num_beams wins.",
       .range = at_least(1),
       .aliases = {"eval_beams"}},
      {.name = "forced_bos_token",
       .slot = at<&Arguments::data, &DataArguments::forced_bos_token>,
       .help = "First token that generation must produce.",
       .note = "Its id stands as forced_bos_token_id in the saved generation_config.json."},
  };
}

}  // namespace hftrain::arguments
