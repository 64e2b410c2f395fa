// From a question's start and end logits to its answers: what run_qa calls post-processing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hftrain::metrics {

// The characters of the context (code points, not bytes) that a token stands for; begin -1 for one that is
// not of the context (question, special tokens, padding).
struct ContextSpan {
  int64_t begin = -1;
  int64_t end = -1;
};

// One piece of a question with its context, as the model saw it. Position 0 is the token that stands for "no
// answer". Positions without a span are not of the context.
struct AnswerFeature {
  std::span<const float> start_logits;
  std::span<const float> end_logits;  // as many
  std::span<const ContextSpan> spans;
};

struct AnswerRules {
  int n_best_size = 20;                  // answers kept, and starts and ends of a piece looked at
  int max_answer_length = 30;            // tokens
  bool version_2_with_negative = false;  // there may be no answer
  double null_score_diff_threshold = 0;
};

struct AnswerCandidate {
  std::string text;
  double start_logit = 0;
  double end_logit = 0;
  double probability = 0;  // softmax of the scores of the candidates
};

struct AnswerPrediction {
  std::string text;                     // the answer; empty for none
  std::vector<AnswerCandidate> n_best;  // by falling score; at least one
  std::optional<double> null_odds;  // with version_2_with_negative: score of no answer less that of the best
};

// The answer of one question from all its pieces (postprocess_qa_predictions of transformers' examples).
// Scores are sums of logits in float32. Of equal logits the later position comes first, of equal scores the
// pair looked at first. When no span is left the answer is the word "empty", as there. Time and memory of
// one piece: n_best_size squared.
AnswerPrediction predict_answer(std::string_view context, std::span<const AnswerFeature> features,
                                const AnswerRules& rules = {});

}  // namespace hftrain::metrics
