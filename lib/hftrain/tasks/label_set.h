// The labels of a classification: which there are, what number each has, and the keys of config.json that say
// so.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/data/features.h"
#include "hftrain/data/records.h"
#include "hftrain/data/row_source.h"

namespace hftrain::tasks {

// Immutable; thread-safe. Labels are numbered in sorted order, whole numbers by value, strings by code point,
// as run_glue and run_classification number them.
class LabelSet {
 public:
  enum class Kind {
    kClasses,     // one label a row: an int32
    kMultiLabel,  // a list of labels a row: as many float32 as there are labels, 1 for those of the row
    kRegression,  // a number a row: a float32
    kNumbers,     // several a row: as many float32 as there are names
  };

  // What the label column of all rows holds. Numbers of which one has a fraction part are a regression, or all
  // numbers when `always_regression`. A row without a label, labels of different sorts, or a single one are
  // an Error (exit code 4). Nothing when `stopped` said so.
  static std::optional<LabelSet> of_rows(data::RowSource& rows, size_t columns, size_t label_column,
                                         bool always_regression, const std::function<bool()>& stopped);
  // Those of a model that was trained for a classification (label2id, problem_type); nothing where the config
  // has only the names that transformers makes up (LABEL_0, …).
  static std::optional<LabelSet> of_config(const Json& config);
  // Of a classifier whose config only counts its labels (LABEL_0, …; without any there are two, as transformers has it): 0, 1, …,
  // and of a single one a regression. Nothing where the config gives names that cannot be used.
  static std::optional<LabelSet> counted_in(const Json& config);
  // Those that somebody names, by number; of a regression none.
  static LabelSet named(Kind kind, std::vector<std::string> names);
  static LabelSet from_json(const Json& value);
  Json to_json_value() const;

  Kind kind() const { return kind_; }
  const std::vector<std::string>& names() const { return names_; }  // by number; empty: regression
  // Outputs of the model.
  int64_t size() const { return kind_ == Kind::kRegression ? 1 : static_cast<int64_t>(names_.size()); }
  // Of a label's number, as config.json has it.
  const std::string& name(int64_t number) const { return names_.at(static_cast<size_t>(number)); }
  // num_labels through id2label and label2id, and problem_type where transformers would not find it out.
  Json config_changes() const;
  // Classes with the numbers that a model has for the same names, in capitals there or not, as run_glue numbers those of a GLUE task; itself
  // where the model has others.
  LabelSet in_order_of(std::vector<std::string> of_model) const;
  // Itself, under whose names in small letters rows may have its labels, too.
  LabelSet with_small_letters() const;

  // Adds the row's label to `values`; of kNumbers it is a list. A label that is none of the set is an Error (exit code 4).
  void add(const data::Records& records, size_t row, size_t column, data::FeatureValues& values) const;
  // Of kNumbers: one in each column from `first` on.
  void add_columns(const data::Records& records, size_t row, size_t first, data::FeatureValues& values) const;

 private:
  LabelSet(Kind kind, std::vector<std::string> names);
  int32_t number_of(const data::Records& records, size_t row, const data::Value& label) const;

  Kind kind_;
  std::vector<std::string> names_;  // by number; empty: regression
  std::map<std::string, int32_t, std::less<>> numbers_;
};

}  // namespace hftrain::tasks
