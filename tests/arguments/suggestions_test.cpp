#include "hftrain/arguments/suggestions.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/base/text.h"
#include "support.h"
#include "support/catch.h"

namespace hftrain::arguments {
namespace {

bool does_what_it_says(std::string_view name) {
  const Flag& flag = flag_table().named(name);
  const bool is_old = !flag.replaced_by.flag.empty() && !flag.replaced_by.silent;
  return flag.support.status == Support::kImplemented && !is_old;
}

}  // namespace

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
    if (!flag_table().named(flag).command_line_only)
      CHECK(contains(file.mistakes(), "try: did you mean " + flag));
  }
}

TEST_CASE("the words of other programs lead to what is meant by them, and to nothing else") {
  // Lightning, accelerate's scripts, nanoGPT, Megatron, DeepSpeed, Axolotl, LLaMA-Factory, fairseq, people
  const std::vector<std::pair<const char*, const char*>> meant = {
      {"beta1", "adam_beta1"},
      {"beta2", "adam_beta2"},
      {"per_gpu_batch_size", "per_device_train_batch_size"},
      {"half_precision", "fp16 bf16"},
      {"polynomial", "lr_scheduler_type"},
      {"num_warmup_steps", "warmup_steps"},
      {"lr_warmup_steps", "warmup_steps"},
      {"use_fp16", "fp16"},
      {"use_bf16", "bf16"},
      {"gradient_clip_val", "max_grad_norm"},
      {"hidden_size", "config_overrides"},
      {"min_lr", "lr_scheduler_kwargs"},
      {"lr_warmup", "warmup_steps"},
      {"checkpointing_steps", "save_steps"},
      {"with_tracking", "report_to"},
      {"cpu_offload", "offload_optimizer_device fsdp_offload_params"},
      {"n_workers", "dataloader_num_workers"},
      {"dataset_path", "dataset_name train_file"},
      {"ckpt_dir", "output_dir resume_from_checkpoint"},
      {"print_every", "logging_steps"},
      {"exp_name", "run_name"},
      {"limit_train_batches", "max_train_samples"},
      {"limit_val_batches", "max_eval_samples"},
      {"val_check_interval", "eval_steps"},
      {"check_val_every_n_epoch", "eval_strategy"},
      {"fast_dev_run", "smoke"},
      {"accelerator", "use_cpu gpu_ids"},
      {"strategy", "fsdp zero_stage"},
      {"trainer.max_epochs", "num_train_epochs"},
      {"log_every_n_steps", "logging_steps"},
      {"enable_progress_bar", "progress"},
      {"default_root_dir", "output_dir"},
      {"ckpt_path", "resume_from_checkpoint model_name_or_path"},
      {"detect_anomaly", "debug"},
      {"every_n_train_steps", "save_steps"},
      {"save_top_k", "save_total_limit"},
      {"monitor", "metric_for_best_model"},
      {"mode", "greater_is_better"},
      {"n_layer", "config_overrides"},
      {"wandb_log", "report_to"},
      {"wandb_run_name", "run_name"},
      {"eval_iters", "max_eval_samples"},
      {"warmup_iters", "warmup_steps"},
      {"decay_lr", "lr_scheduler_type"},
      {"init_from", "model_name_or_path"},
      {"min-lr", "lr_scheduler_kwargs"},
      {"lr-warmup-fraction", "warmup_steps"},
      {"lr-decay-style", "lr_scheduler_type"},
      {"recompute-activations", "gradient_checkpointing"},
      {"use-distributed-optimizer", "zero_stage"},
      {"tensorboard-dir", "logging_dir"},
      {"exit-duration-in-mins", "max_time"},
      {"clip-grad", "max_grad_norm"},
      {"train_micro_batch_size_per_gpu", "per_device_train_batch_size"},
      {"zero_optimization", "zero_stage"},
      {"steps_per_print", "logging_steps"},
      {"offload_param", "fsdp_offload_params offload_param_device"},
      {"bf16.enabled", "bf16"},
      {"zero3", "zero_stage"},
      {"sequence_len", "block_size"},
      {"val_set_size", "validation_split_percentage"},
      {"sample_packing", "packing"},
      {"eval_sample_packing", "eval_packing"},
      {"evals_per_epoch", "eval_steps"},
      {"adapter", "use_peft"},
      {"lora_target_linear", "lora_target_modules"},
      {"finetuning_type", "use_peft"},
      {"lora_target", "lora_target_modules"},
      {"template", "chat_template_path"},
      {"val_size", "validation_split_percentage"},
      {"stage", "zero_stage task"},
      {"update_freq", "gradient_accumulation_steps"},
      {"max_update", "max_steps"},
      {"save_interval_updates", "save_steps"},
      {"restore_file", "resume_from_checkpoint"},
      {"arch", "model_type"},
      {"warmup_updates", "warmup_steps"},
      {"keep_last_epochs", "save_total_limit"},
      {"max_sentences", "per_device_train_batch_size"},
      {"stop_time_hours", "max_time"},
      {"use_gpu", "gpu_ids"},
      {"use_amp", "bf16 fp16"},
      {"use_lora", "use_peft lora_r"},
      {"use_wandb", "report_to"},
      {"use_gradient_checkpointing", "gradient_checkpointing"},
      {"hf_token", "token hub_token"},
      {"random_seed", "seed"},
      {"manual_seed", "seed"},
      {"adamw", "optim"},
      {"activation_checkpointing", "gradient_checkpointing fsdp_activation_checkpointing"},
      {"do_test", "do_predict"},
      {"do_val", "do_eval"},
      {"grad_accumulation_steps", "gradient_accumulation_steps"},
      {"rank", "lora_r node_rank"},
      {"gradient_clip", "max_grad_norm"},
      {"num_gpu", "num_gpus"},
      {"adam_betas", "adam_beta1 adam_beta2"},
      {"mx_steps", "max_steps"},
      {"evaluation_stratgy", "evaluation_strategy"},
      {"freeze", "freeze_embeds freeze_encoder"},
  };
  for (const auto& [written, flags] : meant) {
    INFO(written);
    CHECK(join(suggest_flags(written), " ") == flags);
  }
}

TEST_CASE("flags of example scripts lead to what stands for them here, or to none") {
  const std::map<std::string, std::string> meant = {
      {"train_data_file", "train_file"},
      {"eval_data_file", "validation_file"},
      {"test_data_file", "test_file"},
      {"dev_file", "validation_file"},
      {"predict_file", "validation_file test_file"},
      {"task_type", "task_name"},
      {"test_max_target_length", "val_max_target_length"},
      {"tokenizer_name_or_path", "tokenizer_name"},
  };
  for (const auto& [written, flags] : meant) {
    INFO(written);
    CHECK(join(suggest_flags(written), " ") == flags);
  }
  CHECK(contains(mistakes({"--mlm"}), "try: --task mlm"));
  CHECK(contains(mistakes({"--labels", "labels.txt"}), "labels are those of the data"));
  CHECK(contains(mistakes({"--do_lower_case"}), "the tokenizer's files say it"));
  CHECK(contains(mistakes({"--train-ref-file", "a.json"}), "--whole_word_mask of --task mlm"));
  CHECK(contains(mistakes({"--plm_probability", "0.1"}), "it belongs to run_plm, which has no task here"));
  // Those of run_classification.
  CHECK(contains(mistakes({"--do_regression"}), "labels with a point make a regression"));
  CHECK(contains(mistakes({"--text_column_names", "sentence"}), "sentence1 and sentence2"));
  CHECK(contains(mistakes({"--shuffle_seed", "3"}), "by --seed or --data_seed"));
  CHECK(contains(mistakes({"--metric_name", "f1"}), "metrics are those of --task_name"));
  const NamedFile file("--config", "run.yaml", "context_column: x\n");
  CHECK(contains(file.mistakes(), "it belongs to run_seq2seq_qa"));
}

TEST_CASE("what is said of flags of scripts is said of none that is there") {
  for (const char* written :
       {"mlm_probability", "task_name", "label_column_name", "learning_rate", "lr", "zzz"}) {
    INFO(written);
    CHECK(hint_for_script_flag(written).empty());
  }
}

TEST_CASE("a word that is near to a flag by its letters alone leads nowhere") {
  for (const char* word : {"compile", "qlora", "min_steps", "min_epochs", "callbacks", "wandb_project",
                           "use_slow_tokenizer", "flash_attn", "tensor_parallel_size", "num_labels",
                           "test_size", "lr_decay_iters", "encoder_lr", "momentum", "dp", "top_k"}) {
    INFO(word);
    CHECK(join(suggest_flags(word), " ").empty());
  }
}

TEST_CASE("nobody is led to a flag that is refused, whatever was written of its name") {
  for (const Flag* flag : flag_table().flags()) {
    if (flag->pattern || flag->support.status != Support::kRefused) continue;
    const std::string name(flag->name);
    for (const std::string& written : {name.substr(1), name.substr(0, name.size() - 1), name + "_x"}) {
      for (const std::string& suggested : suggest_flags(written)) {
        INFO(written << " " << suggested);
        CHECK(flag_table().find(suggested).flag->support.status != Support::kRefused);
      }
    }
  }
}

TEST_CASE("a key of a file leads to keys of files") {
  CHECK(hint_for_unknown("accelerate_config", "--") == "did you mean --config or --zero_stage?");
  CHECK(hint_for_unknown("accelerate_config", "") == "did you mean zero_stage?");
  CHECK(hint_for_unknown("no_keep_linebreak", "--") == "did you mean --no_keep_linebreaks?");
  CHECK_FALSE(contains(hint_for_unknown("no_keep_linebreak", ""), "no_keep_linebreaks"));
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
    CHECK(does_what_it_says(synonym.name));
    if (!synonym.other.empty()) CHECK(does_what_it_says(synonym.other));
  }
}

}  // namespace hftrain::arguments
