#include "hftrain/arguments/flags/rows.h"

namespace hftrain::arguments {

std::vector<Flag> schedule_flags() {
  return {
      {.name = "lr_scheduler_type",
       .slot = at<&Arguments::schedule, &ScheduleArguments::lr_scheduler_type>,
       .help = "Learning-rate schedule by name.",
       .note = "The last five are DeepSpeed's, under its names.",
       .choices = {{"linear"},
                   {"cosine"},
                   {"cosine_with_restarts"},
                   {"polynomial"},
                   {"constant"},
                   {"constant_with_warmup"},
                   {"inverse_sqrt"},
                   {"reduce_lr_on_plateau"},
                   {"cosine_with_min_lr"},
                   {"cosine_warmup_with_min_lr"},
                   {"warmup_stable_decay"},
                   {"greedy"},
                   {"WarmupLR"},
                   {"WarmupDecayLR"},
                   {"WarmupCosineLR"},
                   {"LRRangeTest"},
                   {"OneCycle"}},
       .aliases = {"lr_scheduler"},
       .common = true},
      {.name = "lr_scheduler_kwargs",
       .slot = at<&Arguments::schedule, &ScheduleArguments::lr_scheduler_kwargs>,
       .help = "Extra options of the schedule.",
       .note = "The keys depend on the schedule; unknown ones are errors."},
      {.name = "warmup_ratio",
       .slot = unread_optional(Type::kFloat),
       .help = "Share of all steps used for warmup.",
       .note = "1 is one update, as of warmup_steps and in transformers 5; with --hf_compat of 4.57 and "
               "before all "
               "of them.",
       .range = between(0, 1),
       .replaced_by = {.flag = "warmup_steps", .kept = true, .zero_is_unset = true}},
      {.name = "warmup_steps",
       .slot = at<&Arguments::schedule, &ScheduleArguments::warmup_steps>,
       .help = "Warmup length: a value of 1 or more counts steps, a value below 1 is a share of all "
               "steps.",
       .note = "A fraction above 1 such as 2.5 is cut to 2.",
       .unit = "updates or share",
       .range = at_least(0),
       .common = true},
      {.name = "poly_power",
       .slot = unread(Type::kFloat, "1.0"),
       .help = "TensorFlow arguments: power of the polynomial schedule.",
       .replaced_by = {.flag = "lr_scheduler_kwargs", .key = "power"}},
  };
}

}  // namespace hftrain::arguments
