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

// A possible answer: its characters and the logits of its first and of its last token.
struct AnswerSpan {
  ContextSpan span;
  float start_logit = 0;
  float end_logit = 0;
  float score() const { return start_logit + end_logit; }
};

// What one piece has to say: all that has to be kept of its logits.
struct FeatureAnswers {
  std::optional<AnswerSpan> none;  // "no answer"; not set: the piece had no logits
  std::vector<AnswerSpan> best;    // by falling score, n_best_size at most
};

// Time and memory: n_best_size squared; what is returned takes n_best_size.
FeatureAnswers feature_answers(const AnswerFeature& feature, const AnswerRules& rules = {});

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
// pair looked at first. When no span is left the answer is the word "empty", as there.
AnswerPrediction predict_answer(std::string_view context, std::span<const AnswerFeature> features,
                                const AnswerRules& rules = {});
// The same, of what feature_answers() kept under the same rules.
AnswerPrediction answer_of_pieces(std::string_view context, std::span<const FeatureAnswers> pieces,
                                  const AnswerRules& rules = {});

}  // namespace hftrain::metrics
