// Flags of example scripts that have no place here.
#include <algorithm>
#include <string>

#include "hftrain/arguments/suggestions.h"

namespace hftrain::arguments {
namespace {

struct Advice {
  std::string_view flag, hint;
};

constexpr Advice kAdvices[] = {
    {"do_lower_case", "leave it out: the tokenizer's files say it"},
    {"do_regression", "leave it out: labels with a point make a regression, others classes"},
    {"labels", "leave it out: labels are those of the data, whose column --label_column_name names"},
    {"metric_name", "leave it out: metrics are those of --task_name, or of the kind of labels"},
    {"mlm", "--task mlm"},
    {"remove_columns", "leave it out: the columns of texts and label alone are read"},
    {"remove_splits", "leave it out: splits that nobody asks for are not read"},
    {"shuffle_seed", "leave it out: every epoch has an order of its own, by --seed or --data_seed"},
    {"shuffle_train_dataset",
     "leave it out: every epoch has an order of its own; --max_train_samples takes the first rows"},
    {"test_split_name", "leave it out: splits are those called train, validation and test"},
    {"text_column_delimiter", "leave it out: two columns of text are a pair, and not joined"},
    {"text_column_names",
     "leave it out: texts are the columns of --task_name, or sentence1 and sentence2, or the first one or "
     "two beside label"},
    {"train_ref_file", "leave it out: --whole_word_mask of --task mlm masks whole words"},
    {"train_split_name", "leave it out: splits are those called train, validation and test"},
    {"validation_ref_file", "leave it out: --whole_word_mask of --task mlm masks whole words"},
    {"validation_split_name", "leave it out: splits are those called train, validation and test"},
};

struct OfScript {
  std::string_view flag, script;
};

constexpr OfScript kScripts[] = {
    {"answer_column", "run_seq2seq_qa"},
    {"context_column", "run_seq2seq_qa"},
    {"fim_middle_token", "run_fim"},
    {"fim_prefix_token", "run_fim"},
    {"fim_rate", "run_fim"},
    {"fim_spm_rate", "run_fim"},
    {"fim_suffix_token", "run_fim"},
    {"language", "run_xnli"},
    {"max_span_length", "run_plm"},
    {"plm_probability", "run_plm"},
    {"question_column", "run_seq2seq_qa"},
    {"train_language", "run_xnli"},
    {"truncate_or_pad", "run_fim"},
};

}  // namespace

std::string hint_for_script_flag(std::string_view written) {
  std::string name(written);
  std::replace(name.begin(), name.end(), '-', '_');
  for (const Advice& advice : kAdvices) {
    if (advice.flag == name) return std::string(advice.hint);
  }
  for (const OfScript& each : kScripts) {
    if (each.flag == name)
      return "leave it out: it belongs to " + std::string(each.script) + ", which has no task here";
  }
  return "";
}

}  // namespace hftrain::arguments
