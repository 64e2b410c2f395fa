#include "hftrain/tasks/padded_sequences.h"

namespace hftrain::tasks {

bool gives_types(const TaskInput& input) {
  const auto types = input.model_config.find("type_vocab_size");
  return input.names_types && types != input.model_config.end() && types->is_number() &&
         types->get<int64_t>() > 1;
}

data::PaddingOptions padded_sequences(const TaskInput& input) {
  using Form = data::PaddedColumn::Form;
  data::PaddingOptions options;
  options.columns = {{"input_ids", data::kInputIds, Form::kSequence, input.pad_id.value_or(0)},
                     {"attention_mask", data::kInputIds, Form::kMask}};
  if (gives_types(input)) options.columns.push_back({"token_type_ids", "token_type_ids", Form::kSequence});
  options.on_left = input.pads_on_left;
  if (input.arguments.precision.fp16) options.multiple = 8;
  return options;
}

void fix_length(data::PaddingOptions& options, int64_t length) {
  options.length = length;
  options.multiple = 1;
}

}  // namespace hftrain::tasks
