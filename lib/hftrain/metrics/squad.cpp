#include "hftrain/metrics/squad.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/metrics/python_text.h"

namespace hftrain::metrics {
namespace {

bool is_article(std::u32string_view word) {
  return word == U"a" || word == U"an" || word == U"the";
}

// Runs of word characters that are an article become a space. Words are cut at every other character, as \b
// does, so that the "a" of "a-b" is one if the dash is not ASCII.
std::u32string without_articles(std::u32string_view text) {
  std::u32string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_python_word(text[end])) ++end;
    const std::u32string_view word = text.substr(at, end - at);
    result += is_article(word) ? std::u32string_view(U" ") : word;
    if (end < text.size()) result += text[end++];
    at = end;
  }
  return result;
}

std::vector<std::string> answer_words(std::string_view text) {
  return python_split(utf8(without_articles(characters(without_punctuation(python_lower(text))))));
}

double shared_words(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::map<std::string_view, int> left;
  for (const std::string& word : a) ++left[word];
  int shared = 0;
  for (const std::string& word : b) {
    const auto found = left.find(word);
    if (found != left.end() && found->second-- > 0) ++shared;
  }
  return shared;
}

double answer_f1(const std::vector<std::string>& predicted, const std::vector<std::string>& actual) {
  const double shared = shared_words(predicted, actual);
  if (shared == 0) return 0;
  const double precision = shared / static_cast<double>(predicted.size());
  const double recall = shared / static_cast<double>(actual.size());
  return 2 * precision * recall / (precision + recall);
}

// Two empty answers agree in version 2.0 and do not in F1 of version 1.1.
AnswerScore best_score(std::string_view prediction, std::span<const std::string> answers, bool empty_agrees) {
  const std::vector<std::string> predicted = answer_words(prediction);
  AnswerScore best;
  for (const std::string& answer : answers) {
    const std::vector<std::string> actual = answer_words(answer);
    const double exact = predicted == actual ? 1 : 0;
    const bool is_empty = predicted.empty() || actual.empty();
    best.exact = std::max(best.exact, exact);
    best.f1 = std::max(best.f1, empty_agrees && is_empty ? exact : answer_f1(predicted, actual));
  }
  return best;
}

SquadV2Summary::Part part_of(std::span<const SquadV2Score> questions, double threshold,
                             std::optional<bool> has_answer) {
  double exact = 0, f1 = 0;
  int64_t total = 0;
  for (const SquadV2Score& question : questions) {
    if (has_answer && question.has_answer != *has_answer) continue;
    const bool is_silent = question.no_answer_probability > threshold;
    const double silent_score = question.has_answer ? 0 : 1;
    exact += is_silent ? silent_score : question.score.exact;
    f1 += is_silent ? silent_score : question.score.f1;
    ++total;
  }
  const auto all = static_cast<double>(total);
  return {100 * exact / all, 100 * f1 / all, total};
}

struct BestThreshold {
  double score = 0;  // percent
  double threshold = 0;
};

// Starts with silence everywhere and lets answers in, from the surest on.
BestThreshold best_threshold(std::span<const SquadV2Score> questions, std::span<const size_t> order,
                             double AnswerScore::*score) {
  double current = 0;
  for (const SquadV2Score& question : questions) current += question.has_answer ? 0 : 1;
  BestThreshold best{current, 0};
  for (const size_t i : order) {
    const SquadV2Score& question = questions[i];
    current += question.has_answer ? question.score.*score : question.is_answered ? -1 : 0;
    if (current > best.score) best = {current, question.no_answer_probability};
  }
  best.score = 100 * best.score / static_cast<double>(questions.size());
  return best;
}

}  // namespace

std::string normalize_answer(std::string_view text) {
  return join(answer_words(text), " ");
}

AnswerScore squad_score(std::string_view prediction, std::span<const std::string> answers) {
  if (answers.empty()) {
    throw Error(ExitCode::kData, "a question of the evaluation data has no answer")
        .where("metrics")
        .why("SQuAD 1.1 knows only questions with answers")
        .hint("evaluate with --version_2_with_negative, or leave such questions out");
  }
  return best_score(prediction, answers, false);
}

SquadV2Score squad_v2_score(std::string_view prediction, double no_answer_probability,
                            std::span<const std::string> answers) {
  std::vector<std::string> with_words;
  for (const std::string& answer : answers) {
    if (!answer_words(answer).empty()) with_words.push_back(answer);
  }
  if (with_words.empty()) with_words.emplace_back();
  return {best_score(prediction, with_words, true), no_answer_probability, !answers.empty(),
          !prediction.empty()};
}

SquadV2Summary summarize_squad_v2(std::span<const SquadV2Score> questions, double no_answer_threshold) {
  SquadV2Summary summary;
  summary.all = part_of(questions, no_answer_threshold, std::nullopt);
  const auto answered = part_of(questions, no_answer_threshold, true);
  const auto unanswered = part_of(questions, no_answer_threshold, false);
  if (answered.total > 0) summary.has_answer = answered;
  if (unanswered.total > 0) summary.no_answer = unanswered;

  std::vector<size_t> order(questions.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto probability = [&](size_t i) {
    const double value = questions[i].no_answer_probability;
    return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return probability(a) < probability(b); });
  const BestThreshold exact = best_threshold(questions, order, &AnswerScore::exact);
  const BestThreshold f1 = best_threshold(questions, order, &AnswerScore::f1);
  summary.best_exact = exact.score, summary.best_exact_threshold = exact.threshold;
  summary.best_f1 = f1.score, summary.best_f1_threshold = f1.threshold;
  return summary;
}

}  // namespace hftrain::metrics
