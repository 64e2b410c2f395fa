#include "hftrain/arguments/suggestions.h"

#include <map>
#include <set>

#include "hftrain/arguments/flag_table.h"
#include "support.h"
#include "support/catch.h"

namespace hftrain::arguments {

TEST_CASE("the words that people use lead to the flag") {
  const std::map<std::string, std::string> meant = {
      {"lr", "learning_rate"},
      {"epochs", "num_train_epochs"},
      {"num_epochs", "num_train_epochs"},
      {"num-epochs", "num_train_epochs"},
      {"numEpochs", "num_train_epochs"},
      {"epoch", "num_train_epochs"},
      {"batch_size", "per_device_train_batch_size"},
      {"batchSize", "per_device_train_batch_size"},
      {"batchsize", "per_device_train_batch_size"},
      {"warmup", "warmup_steps"},
      {"model", "model_name_or_path"},
      {"dataset", "train_file"},
      {"gpus", "nproc_per_node"},
      {"nproc", "nproc_per_node"},
      {"output", "output_dir"},
      {"out", "output_dir"},
      {"outputdir", "output_dir"},
      {"steps", "max_steps"},
      {"resume", "resume_from_checkpoint"},
      {"grad_accum", "gradient_accumulation_steps"},
      {"seq_len", "block_size"},
      {"wd", "weight_decay"},
      {"tokenizer", "tokenizer_name"},
      {"optimizer", "optim"},
      {"scheduler", "lr_scheduler_type"},
      {"wandb", "report_to"},
      {"lora_rank", "lora_r"},
      {"cpu_only", "use_cpu"},
      {"gradient_ckpt", "gradient_checkpointing"},
      {"betas", "adam_beta1"},
      {"learnin_rate", "learning_rate"},
      {"learningrate", "learning_rate"},
      {"accelerate_config", "config"},
      {"dataset_mixture", "train_file"},
      {"lora", "use_peft"},
      {"save", "save_steps"},
      {"log", "logging_steps"},
      {"cuda", "gpu_ids"},
      {"dropout", "config_overrides"},
      {"deterministic", "full_determinism"},
      // parts of names
      {"grad_norm", "max_grad_norm"},
      {"eval_batch_size", "per_device_eval_batch_size"},
      {"train_batch_size", "per_device_train_batch_size"},
      {"grad_checkpointing", "gradient_checkpointing"},
      {"adam_eps", "adam_epsilon"},
      {"save_limit", "save_total_limit"},
      {"best_model", "metric_for_best_model"},
      {"evaluation_steps", "eval_steps"},
      {"bucket_cap", "ddp_bucket_cap_mb"},
      // nobody is led to an old name by a part of it, but by a slip
      {"evaluation_stratgy", "evaluation_strategy"},
  };
  for (const auto& [written, flag] : meant) {
    INFO(written);
    const Words names = suggest_flags(written);
    REQUIRE_FALSE(names.empty());
    CHECK(names.front() == flag);
    CHECK(contains(mistakes({"--" + written, "1"}), "try: did you mean --" + flag));
    const NamedFile file("--config", "run.yaml", written + ": 1\n");
    CHECK(contains(file.mistakes(), "try: did you mean " + flag));
  }
}

TEST_CASE("what comes close to no flag gets no suggestion") {
  for (const char* word : {"completely_unrelated", "zzz", "x", "frobnicate", ""}) {
    INFO(word);
    CHECK(suggest_flags(word).empty());
    CHECK(hint_for_unknown(word, "--") == "`hftrain --help-all` lists every flag");
  }
}

TEST_CASE("every synonym stands for flags that are there and work, and for none by that name already") {
  std::set<std::string_view> seen;
  for (const Synonym& synonym : flag_synonyms()) {
    INFO(std::string(synonym.word));
    CHECK(seen.insert(synonym.word).second);
    CHECK_FALSE(flag_table().find(synonym.word));
    CHECK(flag_table().named(synonym.name).support.status == Support::kImplemented);
    if (!synonym.other.empty()) CHECK(flag_table().find(synonym.other));
  }
}

}  // namespace hftrain::arguments
