#include "hftrain/tasks/label_set.h"

#include <algorithm>
#include <set>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::tasks {
namespace {

using data::Value;
using data::ValueKind;

constexpr std::pair<LabelSet::Kind, const char*> kKindWords[] = {{LabelSet::Kind::kClasses, "classes"},
                                                                 {LabelSet::Kind::kMultiLabel, "multi_label"},
                                                                 {LabelSet::Kind::kRegression, "regression"},
                                                                 {LabelSet::Kind::kNumbers, "numbers"}};
constexpr size_t kMostShown = 20;

// The name of a single label in config.json; empty when the value is no such label.
std::string name_of(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kBoolean:
      return value.boolean() ? "True" : "False";
    case ValueKind::kInteger:
      return std::to_string(value.integer());
    case ValueKind::kText:
      return std::string(value.text());
    default:
      return "";
  }
}

Error bad_label(const std::string& where, const std::string& what, const std::string& why) {
  return Error(ExitCode::kData, what)
      .where(where)
      .why(why)
      .hint("labels are whole numbers, strings, lists of them, or for a regression numbers");
}

float number_of_regression(const data::Records& records, size_t row, const Value& label) {
  if (label.kind() != ValueKind::kNumber && label.kind() != ValueKind::kInteger)
    throw bad_label(records.where(row), "a row of a regression has no number as its label",
                    std::string("it is ") + data::kind_name(label.kind()));
  return static_cast<float>(label.number());
}

// What the label column was seen to hold.
class LabelSurvey {
 public:
  void add(const data::Records& records, size_t column) {
    const Value label = records.value(0, column);
    const bool number = label.kind() == ValueKind::kNumber || label.kind() == ValueKind::kInteger;
    if (!number && no_number_.empty()) no_number_ = records.where(0);
    if (label.kind() == ValueKind::kNumber) {
      has_numbers_ = true;
      ++rows_;
      return;
    }
    const bool list = label.kind() == ValueKind::kList;
    if (rows_ > 0 && list != lists_)
      throw bad_label(records.where(0), "labels are of different sorts", "some are lists and some are not");
    lists_ = list;
    ++rows_;
    for (size_t i = 0; i < (list ? label.size() : 1); ++i) add_single(records, list ? label[i] : label);
  }

  bool empty() const { return rows_ == 0; }
  bool lists() const { return lists_; }
  bool has_numbers() const { return has_numbers_; }
  // The first row whose label is none; "": all are numbers.
  const std::string& no_number() const { return no_number_; }

  // Sorted as the example scripts sort them.
  std::vector<std::string> names() const {
    std::vector<std::string> sorted;
    if (names_.empty()) {
      for (const int64_t number : integers_) sorted.push_back(std::to_string(number));
      return sorted;
    }
    std::set<std::string> all = names_;
    for (const int64_t number : integers_) all.insert(std::to_string(number));
    return {all.begin(), all.end()};
  }

 private:
  void add_single(const data::Records& records, const Value& label) {
    if (label.kind() == ValueKind::kInteger) {
      integers_.insert(label.integer());
      return;
    }
    std::string name = name_of(label);
    if (name.empty())
      throw bad_label(records.where(0), "a row has no label that can be used",
                      std::string("it is ") +
                          (label.kind() == ValueKind::kText ? "empty" : data::kind_name(label.kind())));
    names_.insert(std::move(name));
  }

  std::set<int64_t> integers_;
  std::set<std::string> names_;  // strings and booleans
  std::string no_number_;
  bool has_numbers_ = false, lists_ = false;
  int64_t rows_ = 0;
};

// How many labels a config has that gives them no names of their own; 0 where it gives some, which are none that can be used.
int64_t labels_counted(const Json& config) {
  constexpr int64_t kOfTransformers = 2;  // where nothing is said
  const auto named = config.find("label2id");
  if (named == config.end() || !named->is_object() || named->empty()) return kOfTransformers;
  for (const auto& [name, number] : named->items()) {
    if (!number.is_number_integer() || name != "LABEL_" + number.dump()) return 0;
  }
  return static_cast<int64_t>(named->size());
}

// The files are named by who reads them.
Error unusable(const std::string& why) {
  return Error(ExitCode::kData, "the training data have no labels to learn")
      .why(why)
      .hint("rows of two classes at least; of a regression a number in every row");
}

}  // namespace

LabelSet::LabelSet(Kind kind, std::vector<std::string> names) : kind_(kind), names_(std::move(names)) {
  for (size_t i = 0; i < names_.size(); ++i) numbers_[names_[i]] = static_cast<int32_t>(i);
}

std::optional<LabelSet> LabelSet::of_rows(data::RowSource& rows, size_t columns, size_t label_column,
                                          bool always_regression, const std::function<bool()>& stopped) {
  constexpr int64_t kRowsBetweenChecks = 1024;
  LabelSurvey survey;
  data::Records row(columns);
  for (int64_t count = 1; rows.next(row); ++count, row.clear()) {
    survey.add(row, label_column);
    if (count % kRowsBetweenChecks == 0 && stopped()) return std::nullopt;
  }
  if (survey.empty()) throw unusable("there are no rows");
  if (always_regression || survey.has_numbers()) {
    if (!survey.no_number().empty()) throw unusable("some labels are no numbers").where(survey.no_number());
    return LabelSet(Kind::kRegression, {});
  }
  const Kind kind = survey.lists() ? Kind::kMultiLabel : Kind::kClasses;
  std::vector<std::string> names = rows.class_names(label_column);
  if (names.empty()) names = survey.names();
  if (names.size() < (kind == Kind::kClasses ? 2u : 1u))
    throw unusable(names.empty() ? "every row has an empty list"
                                 : "all rows have the label " + names.front());
  return LabelSet(kind, std::move(names));
}

std::optional<LabelSet> LabelSet::of_config(const Json& config) {
  if (config.value("problem_type", Json()) == "regression") return LabelSet(Kind::kRegression, {});
  const auto found = config.find("label2id");
  if (found == config.end() || !found->is_object() || found->empty()) return std::nullopt;
  std::vector<std::string> names(found->size());
  bool made_up = true;
  for (const auto& [name, number] : found->items()) {
    if (!number.is_number_integer()) return std::nullopt;
    const auto place = number.get<int64_t>();
    if (place < 0 || place >= static_cast<int64_t>(names.size())) return std::nullopt;
    names[static_cast<size_t>(place)] = name;
    made_up = made_up && name == "LABEL_" + std::to_string(place);
  }
  const bool whole = std::none_of(names.begin(), names.end(), [](const auto& name) { return name.empty(); });
  if (made_up || !whole) return std::nullopt;
  const bool several = config.value("problem_type", Json()) == "multi_label_classification";
  return LabelSet(several ? Kind::kMultiLabel : Kind::kClasses, std::move(names));
}

std::optional<LabelSet> LabelSet::counted_in(const Json& config) {
  const int64_t count = labels_counted(config);
  if (count < 1) return std::nullopt;
  const Json problem = config.value("problem_type", Json());
  const bool several = problem == "multi_label_classification";
  if (count == 1 && !several) return LabelSet(Kind::kRegression, {});
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return LabelSet(several ? Kind::kMultiLabel : Kind::kClasses, std::move(names));
}

LabelSet LabelSet::named(Kind kind, std::vector<std::string> names) {
  return LabelSet(kind, std::move(names));
}

LabelSet LabelSet::from_json(const Json& value) {
  const auto word = value.at("kind").get<std::string>();
  for (const auto& [kind, name] : kKindWords) {
    if (word == name) return LabelSet(kind, value.at("names").get<std::vector<std::string>>());
  }
  throw Error(ExitCode::kInternal, "labels of the unknown kind '" + word + "'");
}

Json LabelSet::to_json_value() const {
  for (const auto& [kind, name] : kKindWords) {
    if (kind == kind_) return {{"kind", name}, {"names", names_}};
  }
  throw Error(ExitCode::kInternal, "labels of no kind");
}

Json LabelSet::config_changes() const {
  const char* problem = kind_ == Kind::kClasses      ? "single_label_classification"
                        : kind_ == Kind::kMultiLabel ? "multi_label_classification"
                                                     : "regression";
  const std::vector<std::string> names =
      kind_ == Kind::kRegression ? std::vector<std::string>{"LABEL_0"} : names_;
  Json changes = {{"problem_type", problem}, {"id2label", Json::object()}, {"label2id", Json::object()}};
  for (size_t i = 0; i < names.size(); ++i) {
    changes["id2label"][std::to_string(i)] = names[i];
    changes["label2id"][names[i]] = i;
  }
  return changes;
}

LabelSet LabelSet::in_order_of(std::vector<std::string> of_model) const {
  if (kind_ != Kind::kClasses) return *this;
  if (std::ranges::is_permutation(of_model, names_)) return LabelSet(kind_, std::move(of_model));
  for (std::string& name : of_model) name = to_lower(name);
  return std::ranges::is_permutation(of_model, names_) ? LabelSet(kind_, std::move(of_model)) : *this;
}

LabelSet LabelSet::with_small_letters() const {
  LabelSet wider = *this;
  for (const auto& [name, number] : numbers_) wider.numbers_.emplace(to_lower(name), number);
  return wider;
}

int32_t LabelSet::number_of(const data::Records& records, size_t row, const Value& label) const {
  const std::string name = name_of(label);
  auto found = numbers_.find(name);
  // transformers writes truths into a config.json as JSON has them.
  if (found == numbers_.end() && label.kind() == ValueKind::kBoolean) found = numbers_.find(to_lower(name));
  if (found != numbers_.end()) return found->second;
  const std::vector<std::string> shown(
      names_.begin(), names_.begin() + static_cast<std::ptrdiff_t>(std::min(names_.size(), kMostShown)));
  throw Error(ExitCode::kData, "a row has an unknown label")
      .where(records.where(row))
      .why((name.empty() ? std::string("it is ") + data::kind_name(label.kind()) : "it is '" + name + "'") +
           "; the labels are " + join(shown, ", ") + (names_.size() > kMostShown ? ", …" : ""))
      .hint("correct the row, or have the training data, or the description of a plug-in, hold this label");
}

void LabelSet::add(const data::Records& records, size_t row, size_t column,
                   data::FeatureValues& values) const {
  const Value label = records.value(row, column);
  values.lengths.push_back(static_cast<int32_t>(kind_ == Kind::kClasses ? 1 : size()));
  if (kind_ == Kind::kClasses) {
    values.integers.push_back(number_of(records, row, label));
    return;
  }
  if (kind_ == Kind::kRegression) {
    values.floats.push_back(number_of_regression(records, row, label));
    return;
  }
  if (label.kind() != ValueKind::kList)
    throw bad_label(records.where(row), "a row has no list of labels",
                    std::string("it is ") + data::kind_name(label.kind()));
  if (kind_ == Kind::kNumbers) {
    if (label.size() != names_.size())
      throw bad_label(
          records.where(row), "a row has another number of numbers than the others",
          "it has " + std::to_string(label.size()) + ", and there are " + std::to_string(names_.size()));
    for (size_t i = 0; i < label.size(); ++i)
      values.floats.push_back(number_of_regression(records, row, label[i]));
    return;
  }
  const size_t begin = values.floats.size();
  values.floats.resize(begin + names_.size());
  for (size_t i = 0; i < label.size(); ++i)
    values.floats[begin + static_cast<size_t>(number_of(records, row, label[i]))] = 1;
}

void LabelSet::add_columns(const data::Records& records, size_t row, size_t first,
                           data::FeatureValues& values) const {
  for (size_t i = 0; i < names_.size(); ++i)
    values.floats.push_back(number_of_regression(records, row, records.value(row, first + i)));
  values.lengths.push_back(static_cast<int32_t>(names_.size()));
}

}  // namespace hftrain::tasks
