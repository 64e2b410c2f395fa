#include "hftrain/arguments/flags/rows.h"

namespace hftrain::arguments {

std::vector<Flag> run_flags() {
  return {
      {.name = "do_train",
       .slot = at<&Arguments::run, &RunArguments::do_train>,
       .help = "Run training.",
       .note = "Without do_train, do_eval and do_predict the run trains, and evaluates when eval_strategy is "
               "not no, alone beside `--do_train false`.",
       .common = true},
      {.name = "do_eval",
       .slot = at<&Arguments::run, &RunArguments::do_eval>,
       .help = "Run a final evaluation on the validation data.",
       .note = "On by itself when eval_strategy is not no.",
       .common = true},
      {.name = "do_predict",
       .slot = at<&Arguments::run, &RunArguments::do_predict>,
       .help = "Run prediction on the test data."},
      {.name = "seed",
       .slot = at<&Arguments::run, &RunArguments::seed>,
       .help = "Random seed for initialisation, dropout and (without data_seed) data order.",
       .range = between(0, 4294967295),
       .common = true},
      {.name = "full_determinism",
       .slot = at<&Arguments::run, &RunArguments::full_determinism>,
       .help = "Use only deterministic kernels."},
      {.name = "ray_scope",
       .slot = unread_optional(Type::kText, "last"),
       .help = "Which Ray trial scope counts as best in a search.",
       .choices = {{"last"}, {"last-5-avg"}, {"last-10-avg"}, {"all"}, {"avg"}},
       .support = accepted("Ray is not used")},
      {.name = "num_train_epochs",
       .slot = at<&Arguments::run, &RunArguments::num_train_epochs>,
       .help = "Passes over the training data; fractions allowed.",
       .note = "max_steps above 0 wins.",
       .range = at_least(0),
       .common = true},
      {.name = "max_steps",
       .slot = at<&Arguments::run, &RunArguments::max_steps>,
       .help = "Number of updates; above 0 it wins over num_train_epochs.",
       .note = "-1: num_train_epochs decides.",
       .unit = "updates",
       .common = true},
      {.name = "task",
       .slot = at<&Arguments::run, &RunArguments::task>,
       .help = "Kind of training.",
       .note = "Unset: clm. translation_xx_to_yy is translation with these languages, summarization_xsum is "
               "summarization. With "
               "plugin also the "
               "name of a task that it describes.",
       .choices = {{"clm"},
                   {"sft"},
                   {"mlm"},
                   {"seq2seq"},
                   {"text-classification"},
                   {"token-classification"},
                   {"question-answering"},
                   {"image-classification"},
                   {"summarization"},
                   {"translation"}},
       .common = true,
       .words_of_file = "plugin"},
  };
}

}  // namespace hftrain::arguments
