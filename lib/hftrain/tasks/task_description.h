// A task that a plug-in describes in an inert text (plugin/task.h): the columns of its rows, the model's head and what is measured,
// as a JSON object, so that the front program prepares its data without loading anything.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/architectures/head.h"
#include "hftrain/tokenizer/encoding.h"

namespace hftrain::tasks {

// What evaluation says of itself, behind its prefix.
inline constexpr std::array<std::string_view, 6> kEvaluationRecords = {
    "loss", "runtime", "samples", "samples_per_second", "steps_per_second", "model_preparation_time"};
// One of them, or of the memory that --skip_memory_metrics false counts.
inline bool is_evaluation_record(std::string_view name) {
  return name.starts_with("mem_") || std::ranges::count(kEvaluationRecords, name) > 0;
}

struct TaskDescription {
  enum class Labels {
    kName,       // of a row: a class
    kNames,      // of a row: several classes at once
    kNumber,     // of a row: a regression
    kNumbers,    // of a row: a regression of several
    kWordNames,  // one for each word of a row
    kText,       // that is to follow the text of a row
  };

  std::string name;
  architectures::Head head = architectures::Head::kSequenceClassification;
  std::vector<std::string> texts;  // one column or two; of kWordNames it holds lists of words
  Labels labels = Labels::kName;
  std::vector<std::string> label_columns;  // one; of kNumbers perhaps one for each
  std::vector<std::string> names;  // of labels, by number; empty: training rows say them, or there are none
  int64_t max_length = 0;          // tokens of a sample, where --max_seq_length does not say it
  tokenizer::TruncationStrategy truncation = tokenizer::TruncationStrategy::kLongestFirst;
  bool pads_to_length = false;       // where --pad_to_max_length does not say it
  std::string metric;                // of hftrain's table; empty: that of the head is the only one
  std::vector<std::string> metrics;  // that the plug-in computes
  bool keeps_scores = false;         // of kName: what is judged are all scores, not the best label
  std::string pipeline;              // what the card of its models calls it
};

// `origin` names the file. Error (kUsage) where the text is no description, one for each key.
TaskDescription read_task_description(const std::string& text, const std::string& origin);

}  // namespace hftrain::tasks
