// The columns that every task of token sequences pads alike.
#pragma once

#include "hftrain/data/collator.h"
#include "hftrain/tasks/task_table.h"

namespace hftrain::tasks {

// Whether batches have token_type_ids: where the model tells two types apart (one of one row embeds no types, or all the same),
// unless model_input_names of the tokenizer's config leaves them out.
bool gives_types(const TaskInput& input);

// input_ids, attention_mask, and token_type_ids where gives_types(). On the tokenizer's side; to the longest of a batch, with --fp16 to a
// multiple of 8, which the scripts ask of their collators for the GPU's sake. The task adds its labels, and a
// fixed length where one is asked for.
data::PaddingOptions padded_sequences(const TaskInput& input);

// To `length` tokens instead of to the longest.
void fix_length(data::PaddingOptions& options, int64_t length);

}  // namespace hftrain::tasks
