// Scores of answers to questions: SQuAD's versions 1.1 and 2.0, as `evaluate` computes them ("squad" and
// "squad_v2").
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hftrain::metrics {

// Lower case, without ASCII punctuation and the words a, an and the; one space between words.
std::string normalize_answer(std::string_view text);

// Of one question, each in [0, 1]: the best over its answers.
struct AnswerScore {
  double exact = 0;
  double f1 = 0;  // of the words that prediction and answer share, counted
};

// Version 1.1. `answers` must not be empty (kData): that version has no question without an answer.
AnswerScore squad_score(std::string_view prediction, std::span<const std::string> answers);

// One question of version 2.0, kept for every question until the thresholds are looked for.
struct SquadV2Score {
  AnswerScore score;
  double no_answer_probability = 0;
  bool has_answer = false;
  bool is_answered = false;  // the prediction is not empty
};

// No answers, or none with a word in it: only an empty prediction is right.
SquadV2Score squad_v2_score(std::string_view prediction, double no_answer_probability,
                            std::span<const std::string> answers);

// In percent, but for totals and thresholds.
struct SquadV2Summary {
  struct Part {
    double exact = 0;
    double f1 = 0;
    int64_t total = 0;
  };
  Part all;
  std::optional<Part> has_answer, no_answer;  // of questions with and without an answer, where there are any
  double best_exact = 0, best_exact_threshold = 0;
  double best_f1 = 0, best_f1_threshold = 0;
};

// A question whose no-answer probability is above `no_answer_threshold` counts as answered by nothing. The
// best thresholds go through the questions by rising probability, equal ones in the order given. Percentages
// of no questions are NaN.
SquadV2Summary summarize_squad_v2(std::span<const SquadV2Score> questions, double no_answer_threshold = 1.0);

}  // namespace hftrain::metrics
