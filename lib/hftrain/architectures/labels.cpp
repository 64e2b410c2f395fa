#include "hftrain/architectures/labels.h"

#include <charconv>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::architectures {
namespace {

constexpr int64_t kMostLabels = 1'000'000;
constexpr double kDefaultDropout = 0.1;

bool is_set(const Json& config, const char* key) {
  return config.contains(key) && !config[key].is_null();
}

Error bad_labels(const std::string& what, const Json& value, const std::string& origin) {
  return Error(ExitCode::kData, what)
      .where(origin)
      .why("it is " + value.dump(-1, ' ', false, Json::error_handler_t::replace))
      .hint("correct it, or leave the key out");
}

Json unnamed_labels(int64_t count) {
  Json labels = Json::object();
  for (int64_t i = 0; i < count; ++i) labels[std::to_string(i)] = "LABEL_" + std::to_string(i);
  return labels;
}

std::optional<int64_t> read_count(const Json& config, const std::string& origin) {
  const Json count = config.value("num_labels", Json());
  if (count.is_null()) return std::nullopt;
  if (!count.is_number_integer() || count < 1 || count > kMostLabels)
    throw bad_labels("num_labels must be a whole number above 0", count, origin);
  return count.get<int64_t>();
}

// Of a label, as Python reads it: "01" and " 1" are 1. Nothing where it is none.
std::optional<int64_t> number_of(const std::string& key) {
  std::string digits = trim(key);
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.erase(0, 1);
  int64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

// The names by number, each of which counts one label, whatever the numbers are. Where num_labels is not their count they are left over, and it wins, as in transformers.
Json read_names(const Json& config, int64_t default_labels, const std::string& origin) {
  const std::optional<int64_t> count = read_count(config, origin);
  if (!is_set(config, "id2label")) return unnamed_labels(count.value_or(default_labels));
  const Json& names = config["id2label"];
  if (!names.is_object() || names.empty()) throw bad_labels("id2label must name the labels", names, origin);
  Json by_number = Json::object();
  for (const auto& [key, name] : names.items()) {
    const std::optional<int64_t> number = number_of(key);
    if (!number || !name.is_string())
      throw bad_labels("id2label must name labels by whole numbers; it does not for \"" + key + '"', names,
                       origin);
    by_number[std::to_string(*number)] = name;
  }
  if (count && *count != static_cast<int64_t>(by_number.size())) return unnamed_labels(*count);
  return by_number;
}

std::optional<ProblemType> read_problem(const Json& config, const std::string& origin) {
  if (!is_set(config, "problem_type")) return std::nullopt;
  const Json& type = config["problem_type"];
  if (type == "regression") return ProblemType::kRegression;
  if (type == "single_label_classification") return ProblemType::kSingleLabel;
  if (type == "multi_label_classification") return ProblemType::kMultiLabel;
  throw bad_labels(
      "problem_type must be regression, single_label_classification or multi_label_classification", type,
      origin);
}

double read_dropout(const Json& config, const std::string& origin) {
  for (const char* key : {"classifier_dropout", "hidden_dropout"}) {
    if (!is_set(config, key)) continue;
    const Json& value = config[key];
    if (value.is_number() && value >= 0 && value < 1) return value.get<double>();
    throw bad_labels(std::string(key) + " must be a share, 0 or more and below 1", value, origin);
  }
  return kDefaultDropout;
}

void erase_names(Json& config) {
  for (const char* key : {"num_labels", "id2label", "label2id"}) config.erase(key);
}

}  // namespace

Labels normalise_labels(Head head, int64_t default_labels, Json& config, const std::string& origin) {
  Labels labels;
  const bool always_named = default_labels != kUnnamedLabels, answers = head == Head::kQuestionAnswering;
  if (!has_labels(head) && !answers && !always_named) return labels;
  Json names = read_names(config, default_labels, origin);
  if (answers && !always_named) {
    if (names.size() != kUnnamedLabels) erase_names(config);
    return labels;
  }
  if (answers && names.size() != kUnnamedLabels) names = unnamed_labels(kUnnamedLabels);
  if (has_labels(head)) labels.count = static_cast<int64_t>(names.size());
  if (head == Head::kSequenceClassification || head == Head::kImageClassification)
    labels.problem = read_problem(config, origin);
  if (head == Head::kTokenClassification) labels.dropout = read_dropout(config, origin);
  erase_names(config);
  if (!always_named && names == unnamed_labels(kUnnamedLabels)) return labels;
  config["id2label"] = names;
  config["label2id"] = Json::object();
  for (const auto& [number, name] : names.items())
    config["label2id"][name.get<std::string>()] = std::stoll(number);
  return labels;
}

}  // namespace hftrain::architectures
