#include "metrics/metric_cases.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "hftrain/metrics/metric_table.h"
#include "hftrain/metrics/python_text.h"
#include "metrics/case_answers.h"

namespace hftrain::metrics {
namespace {

bool equal_numbers(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= 1e-6 * std::max(1.0, std::abs(b));
}

// Where the two differ, as a path of keys; empty where they do not.
std::string where_different(const Json& ours, const Json& theirs) {
  const bool are_numbers = ours.is_number() && theirs.is_number();
  const bool have_same_shape = ours.type() == theirs.type() && ours.size() == theirs.size();
  if (are_numbers ? equal_numbers(ours.get<double>(), theirs.get<double>()) : ours == theirs) return "";
  if (are_numbers || !have_same_shape || !theirs.is_structured()) {
    return ": package " + dump_json(theirs, -1) + ", ours " + dump_json(ours, -1);
  }
  for (const auto& [key, value] : theirs.items()) {
    if (theirs.is_object() && !ours.contains(key)) return "/" + key + ": missing";
    const Json& mine = theirs.is_object() ? ours.at(key) : ours.at(std::stoul(key));
    const std::string where = where_different(mine, value);
    if (!where.empty()) return "/" + key + where;
  }
  return "";
}

}  // namespace

Json our_answer(const std::string& kind, const Json& in) {
  static const std::map<std::string, Json (*)(const Json&)> kAnswers{{"classes", answer_classes},
                                                                     {"numbers", answer_numbers},
                                                                     {"tags", answer_tags},
                                                                     {"scheme", answer_scheme},
                                                                     {"stems", answer_stems},
                                                                     {"rouge", answer_rouge},
                                                                     {"rouge_set", answer_rouge_set},
                                                                     {"bleu", answer_bleu},
                                                                     {"bleu_words", answer_bleu_words},
                                                                     {"python", answer_python},
                                                                     {"rounded", answer_rounded},
                                                                     {"metric", answer_metric},
                                                                     {"exact_match", answer_exact_match},
                                                                     {"perplexity", answer_perplexity},
                                                                     {"questions", answer_questions},
                                                                     {"answer", answer_answer}};
  return kAnswers.at(kind)(in);
}

CaseCounts compare_with_cases(const std::string& path) {
  CaseCounts counts;
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    const Json made = parse_json(line, path);
    const auto kind = made.at("kind").get<std::string>();
    ++counts.cases[kind];
    const Json ours = our_answer(kind, made.at("in"));
    const std::string where = where_different(ours, made.at("out"));
    if (where.empty()) continue;
    if (counts.differences++ == 0) {
      counts.first_difference = kind + where + "\n  of " + dump_json(made.at("in"), -1);
    }
  }
  return counts;
}

}  // namespace hftrain::metrics
