#include "hftrain/arguments/flags/rows.h"

namespace hftrain::arguments {

std::vector<Flag> batch_flags() {
  return {
      {.name = "per_device_train_batch_size",
       .slot = at<&Arguments::batch, &BatchArguments::per_device_train_batch_size>,
       .help = "Micro-batch size for training on one device (one rank).",
       .unit = "samples",
       .range = at_least(1),
       .common = true},
      {.name = "per_device_eval_batch_size",
       .slot = at<&Arguments::batch, &BatchArguments::per_device_eval_batch_size>,
       .help = "Batch size for evaluation and prediction on one device (one rank).",
       .unit = "samples",
       .range = at_least(1),
       .common = true},
      {.name = "per_gpu_train_batch_size",
       .slot = unread_optional(Type::kInt),
       .help = "Old name of per_device_train_batch_size; a non-zero value wins over it.",
       .unit = "samples",
       .replaced_by = {.flag = "per_device_train_batch_size", .wins = true, .zero_is_unset = true}},
      {.name = "per_gpu_eval_batch_size",
       .slot = unread_optional(Type::kInt),
       .help = "Old name of per_device_eval_batch_size; a non-zero value wins over it.",
       .unit = "samples",
       .replaced_by = {.flag = "per_device_eval_batch_size", .wins = true, .zero_is_unset = true}},
      {.name = "gradient_accumulation_steps",
       .slot = at<&Arguments::batch, &BatchArguments::gradient_accumulation_steps>,
       .help = "Micro batches per optimizer update.",
       .unit = "micro batches",
       .range = at_least(1),
       .common = true},
      {.name = "auto_find_batch_size",
       .slot = at<&Arguments::batch, &BatchArguments::auto_find_batch_size>,
       .help = "When memory runs out, train again from the beginning with a smaller micro batch.",
       .note =
           "0.9 of the size, rounded down, until it fits or reaches 0. Any rank's device or host may be what "
           "is full. A run that goes on takes the size of its checkpoint's trainer_state.json."},
      {.name = "average_tokens_across_devices",
       .slot = at<&Arguments::batch, &BatchArguments::average_tokens_across_devices>,
       .help = "Divide summed token losses by the token count of all ranks instead of the own rank.",
       .note = "False: the mean of the means of the ranks.",
       .negatable = true},
      {.name = "dataloader_drop_last",
       .slot = at<&Arguments::batch, &BatchArguments::dataloader_drop_last>,
       .help = "Drop the last incomplete batch of an epoch (training and evaluation loaders)."},
  };
}

}  // namespace hftrain::arguments
