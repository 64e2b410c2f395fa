#include "hftrain/data/length_column.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "hftrain/base/error.h"

namespace hftrain::data {
namespace {

// Without the column of lengths, which is then the last one.
ColumnRule rule_with_lengths(ColumnRule rule, const std::string& name) {
  rule.typed_cells.push_back(rule.columns);
  ++rule.columns;
  rule.choose = [choose = std::move(rule.choose), name](const std::vector<std::string>& names) {
    std::vector<std::string> others = names;
    const bool there = std::erase(others, name) > 0;
    std::vector<std::string> chosen = choose(others);
    chosen.push_back(there ? name : "");
    return chosen;
  };
  return rule;
}

class LengthEncoder final : public Encoder {
 public:
  LengthEncoder(std::unique_ptr<Encoder> inner, std::string name, size_t column)
      : inner_(std::move(inner)), name_(std::move(name)), column_(column) {}

  FeatureSchema schema() const override {
    FeatureSchema schema = inner_->schema();
    schema.push_back({kLengths, FeatureType::kInteger});
    return schema;
  }

  void encode(const Records& records, Features& features) const override {
    FeatureValues lengths = std::move(features.columns.back());
    features.columns.pop_back();
    const size_t before = features.columns.front().lengths.size();
    inner_->encode(records, features);
    const std::vector<int32_t>& ids = features.columns.front().lengths;
    for (size_t sample = before; sample < ids.size(); ++sample) {
      lengths.integers.push_back(kUncounted);
      lengths.lengths.push_back(1);
    }
    take_counted(records, ids.size() - before, lengths.integers);
    features.columns.push_back(std::move(lengths));
  }

  std::vector<Remark> remarks() const override { return inner_->remarks(); }
  void check_all() const override { inner_->check_all(); }

 private:
  // The last of `lengths` are those of the records' samples.
  void take_counted(const Records& records, size_t samples, std::vector<int32_t>& lengths) const {
    for (size_t row = 0; row < records.rows(); ++row) {
      const Value value = records.value(row, column_);
      if (value.kind() == ValueKind::kNull) continue;
      if (samples != records.rows()) throw several_samples(records.where(row));
      lengths[lengths.size() - samples + row] = length_in(value, records.where(row));
    }
  }

  int32_t length_in(const Value& value, const std::string& where) const {
    const bool whole = value.kind() == ValueKind::kInteger && value.integer() >= 0 &&
                       value.integer() <= std::numeric_limits<int32_t>::max();
    if (whole) return static_cast<int32_t>(value.integer());
    throw Error(ExitCode::kData, "the length of a row is no whole number from 0 on")
        .where(where + ", column " + name_)
        .why(value.kind() == ValueKind::kInteger ? "it is " + std::to_string(value.integer())
                                                 : std::string("it is ") + kind_name(value.kind()))
        .hint("numbers of tokens, or another --length_column_name: without the column tokens are counted");
  }

  Error several_samples(const std::string& where) const {
    return Error(ExitCode::kData, "the rows have lengths, but are not one sample each")
        .where(where + ", column " + name_)
        .why("this task makes several samples of a long row, or none of an empty one")
        .hint("name another column with --length_column_name: without one tokens are counted");
  }

  std::unique_ptr<Encoder> inner_;
  std::string name_;
  size_t column_;  // of the records
};

}  // namespace

Recipe with_lengths(Recipe recipe, const std::string& name) {
  const std::function<ColumnRule(Split)> columns = recipe.columns;
  if (!recipe.survey_columns) recipe.survey_columns = columns;
  recipe.columns = [=](Split split) { return rule_with_lengths(columns(split), name); };
  recipe.encoder = [=, make = recipe.encoder](std::shared_ptr<const tokenizer::Tokenizer> tokenizer,
                                              Split split, const Json& facts) -> std::unique_ptr<Encoder> {
    return std::make_unique<LengthEncoder>(make(std::move(tokenizer), split, facts), name,
                                           columns(split).columns);
  };
  for (Json* options : {&recipe.options, &recipe.training_options})
    if (!options->is_null()) (*options)["lengths_in"] = name;
  return recipe;
}

SampleLengths lengths_of_samples(const Dataset& dataset, int64_t padded) {
  auto lengths = std::make_shared<std::vector<int32_t>>(static_cast<size_t>(dataset.size()), 1);
  const ColumnFile* counts = dataset.has(kLengths) ? &dataset.column(kLengths) : nullptr;
  const ColumnFile* ids = dataset.has(kInputIds) ? &dataset.column(kInputIds) : nullptr;
  for (int64_t sample = 0; sample < dataset.size(); ++sample) {
    int64_t length = kUncounted;
    if (counts != nullptr) counts->copy_to(sample, &length);
    if (length == kUncounted && ids != nullptr) length = padded > 0 ? padded : ids->length(sample);
    if (length != kUncounted) (*lengths)[static_cast<size_t>(sample)] = static_cast<int32_t>(length);
  }
  return lengths;
}

}  // namespace hftrain::data
