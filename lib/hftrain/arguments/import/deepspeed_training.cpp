#include <algorithm>

#include "hftrain/arguments/import/deepspeed_parts.h"

namespace hftrain::arguments {
namespace {

constexpr int64_t kTensorCoreRows = 8;
constexpr const char* kWithoutFp16 = "the run is not in fp16";

// A number that a flag also sets; `pointer` is its key.
void number_of_flag(const DeepSpeedFile& file, const std::string& pointer, const char* flag) {
  if (!file.keys.has(pointer) || file.keys.is_auto(pointer)) return;
  file.flags.set(flag, *file.keys.find(pointer), pointer.substr(1), file.keys.place(pointer));
}

// A search begins at the flag, whatever the file says.
void import_micro_batch(const DeepSpeedFile& file, const std::string& pointer) {
  constexpr const char* kFlag = "per_device_train_batch_size";
  const bool differs = file.keys.has(pointer) && !file.keys.is_auto(pointer) && file.flags.given(kFlag) &&
                       *file.keys.find(pointer) != file.flags.value(kFlag);
  if (!differs || file.flags.value("auto_find_batch_size") != true)
    return number_of_flag(file, pointer, kFlag);
  file.outcome.notes.push_back(
      {.severity = Diagnostic::Severity::kNote,
       .what = "auto_find_batch_size begins at --per_device_train_batch_size " +
               file.flags.value(kFlag).dump() + ", not at train_micro_batch_size_per_gpu " +
               file.keys.find(pointer)->dump(),
       .where = file.outcome.origins.describe(kFlag) + ", " + file.keys.place(pointer),
       .why = "",
       .hint = ""});
}

// fp16.enabled stands for fp16 and fp16_full_eval, bf16.enabled likewise: a run under DeepSpeed has one type,
// so that of the evaluation is that of training, and "auto" is on when either flag is.
void switch_of_flag(const DeepSpeedFile& file, const std::string& name) {
  const std::string pointer = '/' + name + "/enabled", evaluation = name + "_full_eval";
  if (!file.keys.has(pointer)) return;
  const bool evaluates = file.flags.value(evaluation) == true;
  const bool is_auto = file.keys.is_auto(pointer);
  const bool enabled = is_auto ? evaluates : file.keys.find(pointer)->get<bool>();
  if (enabled && evaluates) return file.flags.replace(name, true, file.keys.place(pointer));
  if (is_auto) return;
  if (!enabled && evaluates) {
    file.flags.conflict(evaluation, name + ".enabled", enabled, file.keys.place(pointer));
  }
  file.flags.set(name, enabled, name + ".enabled", file.keys.place(pointer));
}

LossScaleOptions loss_scale(const CheckedSection& keys) {
  LossScaleOptions scale;
  scale.fixed = keys.value_or("/fp16/loss_scale", scale.fixed);
  scale.initial_power = keys.value_or("/fp16/initial_scale_power", scale.initial_power);
  scale.window = keys.value_or("/fp16/loss_scale_window", scale.window);
  scale.hysteresis = keys.value_or("/fp16/hysteresis", scale.hysteresis);
  scale.consecutive_hysteresis = keys.value_or("/fp16/consecutive_hysteresis", scale.consecutive_hysteresis);
  scale.minimum = keys.value_or("/fp16/min_loss_scale", scale.minimum);
  return scale;
}

// What moves the loss scale, where it is fixed or there is none.
void tell_idle_scale(const DeepSpeedFile& file) {
  const LossScaleOptions usual;
  const bool scales = file.outcome.arguments.precision.fp16;
  if (!scales) file.keys.tell_idle("/fp16/loss_scale", usual.fixed, kWithoutFp16);
  if (scales && file.keys.value_or("/fp16/loss_scale", usual.fixed) == 0) return;
  const std::string why = scales ? "loss_scale is fixed" : kWithoutFp16;
  file.keys.tell_idle("/fp16/initial_scale_power", usual.initial_power, why);
  file.keys.tell_idle("/fp16/loss_scale_window", usual.window, why);
  file.keys.tell_idle("/fp16/hysteresis", usual.hysteresis, why);
  file.keys.tell_idle("/fp16/consecutive_hysteresis", usual.consecutive_hysteresis, why);
  file.keys.tell_idle("/fp16/min_loss_scale", usual.minimum, why);
}

// `given`: by somebody else than this file.
void add_tracker(const DeepSpeedFile& file, const char* tracker, const std::string& pointer, bool given) {
  std::vector<std::string>& trackers = file.outcome.arguments.logging.report_to;
  for (const std::string& each : trackers) {
    if (each == tracker || each == "all") return;
  }
  trackers.emplace_back(tracker);
  if (!given) return file.outcome.origins.set("report_to", file.keys.place(pointer));
  // DeepSpeed's monitors write whatever the Trainer reports to.
  file.outcome.notes.push_back(
      {.severity = Diagnostic::Severity::kNote,
       .what = std::string(tracker) + " is added to report_to",
       .where = file.keys.place(pointer) + ", " + file.outcome.origins.describe("report_to"),
       .why = "a monitor of the file writes whatever report_to says",
       .hint = "\"enabled\": false in the file where it is not to"});
}

void import_tensorboard(const DeepSpeedFile& file, bool given) {
  if (!file.keys.value_or("/tensorboard/enabled", false)) return;
  add_tracker(file, "tensorboard", "/tensorboard/enabled", given);
  const std::string folder = file.keys.value_or<std::string>("/tensorboard/output_path", "");
  if (folder.empty()) {
    file.keys.tell_idle("/tensorboard/job_name", "DeepSpeedJobName", "it names a folder of output_path");
    return;
  }
  const std::string job = file.keys.value_or<std::string>("/tensorboard/job_name", "DeepSpeedJobName");
  file.flags.set("logging_dir", folder + (folder.ends_with('/') ? "" : "/") + job, "tensorboard.output_path",
                 file.keys.place("/tensorboard/output_path"));
}

}  // namespace

void DeepSpeedFile::refuse(const std::string& pointer, std::string what, std::string why,
                           std::string hint) const {
  problems.push_back({.what = "deepspeed: " + std::move(what),
                      .where = keys.place(pointer),
                      .why = std::move(why),
                      .hint = std::move(hint)});
}

void import_batch(const DeepSpeedFile& file) {
  constexpr const char *kMicro = "/train_micro_batch_size_per_gpu", *kSteps = "/gradient_accumulation_steps",
                       *kAll = "/train_batch_size";
  import_micro_batch(file, kMicro);
  number_of_flag(file, kSteps, "gradient_accumulation_steps");
  // Of DeepSpeed's own loader, which the Trainer leaves alone.
  if (file.flags.value("dataloader_drop_last") == false)
    file.keys.tell_idle("/dataloader_drop_last", false, "--dataloader_drop_last does it", /*warns=*/true);
  if (!file.keys.has(kAll) || file.keys.is_auto(kAll)) return;
  file.options.train_batch_size = {file.keys.find(kAll)->get<int64_t>(), file.keys.place(kAll)};
  file.options.micro_batch_follows =
      !file.keys.has(kMicro) && !file.outcome.origins.is_chosen("per_device_train_batch_size");
  file.options.accumulation_follows =
      !file.keys.has(kSteps) && !file.outcome.origins.is_chosen("gradient_accumulation_steps");
}

void import_precision(const DeepSpeedFile& file) {
  if (file.keys.value_or("/fp16/enabled", false) && file.keys.value_or("/bf16/enabled", false)) {
    file.refuse("/fp16/enabled", "fp16.enabled and bf16.enabled exclude each other",
                "bf16.enabled is true at " + file.keys.place("/bf16/enabled"), "keep one of them");
    return;
  }
  switch_of_flag(file, "bf16");
  switch_of_flag(file, "fp16");
  if (file.keys.has("/fp16")) file.options.loss_scale = loss_scale(file.keys);
  tell_idle_scale(file);
}

void import_clipping(const DeepSpeedFile& file) {
  number_of_flag(file, "/gradient_clipping", "max_grad_norm");
}

// A file that says false is overruled by the flag, as upstream.
void import_checkpoint(const DeepSpeedFile& file) {
  const std::string pointer = "/checkpoint/use_node_local_storage";
  if (file.keys.value_or(pointer, false))
    file.flags.set("save_on_each_node", true, "checkpoint.use_node_local_storage", file.keys.place(pointer));
}

// Nothing but this is made of it, here and upstream.
void import_vocabulary_size(const DeepSpeedFile& file) {
  const char* const pointer = "/vocabulary_size";
  if (file.keys.value_or<int64_t>(pointer, 0) % kTensorCoreRows == 0) return;
  file.outcome.notes.push_back({.severity = Diagnostic::Severity::kWarning,
                                .what = "deepspeed: vocabulary_size is not a multiple of 8",
                                .where = file.keys.place(pointer),
                                .why = "tensor cores work on rows of 8",
                                .hint = "a larger vocab_size in the model's config"});
}

void import_monitors(const DeepSpeedFile& file) {
  const bool given = file.flags.given("report_to");
  import_tensorboard(file, given);
  if (file.keys.value_or("/csv_monitor/enabled", false))
    add_tracker(file, "csv", "/csv_monitor/enabled", given);
  if (file.keys.value_or("/wandb/enabled", false)) add_tracker(file, "wandb", "/wandb/enabled", given);
}

}  // namespace hftrain::arguments
