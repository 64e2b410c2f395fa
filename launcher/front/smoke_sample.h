// What a smoke run trains with where the configuration names no data, no tokenizer or no model of its task.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/arguments/arguments.h"
#include "hftrain/tasks/task.h"

namespace hftrain::front {

inline constexpr int64_t kUsualLength = 64;  // tokens of a row where nothing else is asked for

// Writes sample data of the task below `folder`; the flags that name them, as test data too where the run predicts
// and names none.
std::vector<std::string> write_sample_data(tasks::Task task, const arguments::Arguments& asked,
                                           const std::string& folder);

// Trains a tokenizer of the kind that the task's models have on sample text, into `folder`/tokenizer, which is
// returned.
std::string write_sample_tokenizer(tasks::Task task, const std::string& folder);

// --model_type and --config_overrides of a model that is trained in milliseconds and has positions for the rows asked for.
std::vector<std::string> sample_model_flags(tasks::Task task, const arguments::Arguments& asked);
// Tokens of the longest rows that are asked for by a flag; 0 where none is.
int64_t asked_length(const arguments::Arguments& asked);
// The lengths that suit it, where none are asked for.
std::vector<std::string> sample_length_flags(tasks::Task task, const arguments::Arguments& asked);

// Writes that model with weights of no use into `folder`/model, which is returned. Its head is left out, so that it
// gets the labels of the data.
std::string write_sample_model(tasks::Task task, const arguments::Arguments& asked,
                               const std::string& folder);

}  // namespace hftrain::front
