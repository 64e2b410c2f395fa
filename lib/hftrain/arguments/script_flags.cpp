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
    {"labels", "leave it out: labels are those of the data, whose column --label_column_name names"},
    {"mlm", "--task mlm"},
    {"train_ref_file", "leave it out: --whole_word_mask of --task mlm masks whole words"},
    {"validation_ref_file", "leave it out: --whole_word_mask of --task mlm masks whole words"},
};

struct OfScript {
  std::string_view flag, script;
};

constexpr OfScript kScripts[] = {
    {"answer_column", "run_seq2seq_qa"},
    {"context_column", "run_seq2seq_qa"},
    {"do_regression", "run_classification"},
    {"fim_middle_token", "run_fim"},
    {"fim_prefix_token", "run_fim"},
    {"fim_rate", "run_fim"},
    {"fim_spm_rate", "run_fim"},
    {"fim_suffix_token", "run_fim"},
    {"language", "run_xnli"},
    {"max_span_length", "run_plm"},
    {"metric_name", "run_classification"},
    {"plm_probability", "run_plm"},
    {"question_column", "run_seq2seq_qa"},
    {"remove_columns", "run_classification"},
    {"remove_splits", "run_classification"},
    {"shuffle_seed", "run_classification"},
    {"shuffle_train_dataset", "run_classification"},
    {"test_split_name", "run_classification"},
    {"text_column_delimiter", "run_classification"},
    {"text_column_names", "run_classification"},
    {"train_language", "run_xnli"},
    {"train_split_name", "run_classification"},
    {"truncate_or_pad", "run_fim"},
    {"validation_split_name", "run_classification"},
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
