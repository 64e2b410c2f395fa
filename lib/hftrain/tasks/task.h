// What a run trains for, as plans carry it.
#pragma once

namespace hftrain::tasks {

enum class Task {
  kCausalLm,
  kInstructionTuning,
  kMaskedLm,
  kSeq2Seq,
  kTextClassification,
  kTokenClassification,
  kQuestionAnswering,
  kImageClassification,
  kDescribed,  // the first of those that plug-ins describe, which follow it
};

}  // namespace hftrain::tasks
