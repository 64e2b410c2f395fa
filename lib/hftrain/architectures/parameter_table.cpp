#include "hftrain/architectures/parameter_table_builder.h"

#include <optional>

#include "hftrain/base/checked_arithmetic.h"
#include "hftrain/base/error.h"

namespace hftrain::architectures {

int64_t ParameterSpec::numel() const {
  int64_t product = 1;
  for (const int64_t size : shape) product *= size;
  return product;
}

int64_t ParameterTable::count() const {
  int64_t sum = 0;
  for (const ParameterSpec& parameter : parameters) sum += parameter.buffer ? 0 : parameter.numel();
  return sum;
}

int64_t ParameterTable::count_non_embedding() const {
  int64_t sum = 0;
  for (const ParameterSpec& parameter : parameters)
    sum += parameter.embedding || parameter.buffer ? 0 : parameter.numel();
  return sum;
}

void ParameterTableBuilder::add(std::string name, std::vector<int64_t> shape, Init init, bool decay,
                                bool is_embedding) {
  std::optional<int64_t> numbers = 1;
  for (const int64_t size : shape) numbers = numbers ? checked_product(*numbers, size) : std::nullopt;
  // Bytes of what belongs to a parameter, its gradient and its optimizer state, are to be counted as well.
  constexpr int64_t kMostNumbers = int64_t{1} << 53;
  if (numbers) numbers = checked_sum(numbers_, *numbers);
  if (!numbers || *numbers > kMostNumbers) {
    throw Error(ExitCode::kData, "a model of this config has too many parameters")
        .where(origin_)
        .why("up to " + prefix_ + name + " they pass 2^53")
        .hint("see whether the sizes in the config are right");
  }
  numbers_ = *numbers;
  table_.parameters.push_back({prefix_ + name, std::move(shape), init, unit_, decay, is_embedding, in_head_});
}

void ParameterTableBuilder::embedding(const std::string& name, int64_t rows, int64_t columns, double std,
                                      std::optional<int64_t> padding, bool decay) {
  add(name + ".weight", {rows, columns}, {InitKind::kNormal, std > 0 ? std : std_, padding.value_or(-1)},
      decay, /*is_embedding=*/true);
}

void ParameterTableBuilder::sinusoids(const std::string& name, int64_t rows, int64_t columns) {
  add(name + ".weight", {rows, columns}, {InitKind::kSinusoids, 0}, /*decay=*/true, /*is_embedding=*/true);
}

void ParameterTableBuilder::bias(const std::string& name, int64_t size, const std::string& other_name) {
  add(name, {size}, {InitKind::kZeros, 0}, /*decay=*/false);
  if (!other_name.empty()) table_.parameters.back().other_names = {other_name};
}

void ParameterTableBuilder::matrix(const std::string& module, int64_t rows, int64_t columns, int64_t bias,
                                   double std) {
  add(module + ".weight", {rows, columns}, {InitKind::kNormal, std > 0 ? std : std_}, /*decay=*/true);
  if (bias > 0) add(module + ".bias", {bias}, {InitKind::kZeros, 0}, /*decay=*/false);
}

void ParameterTableBuilder::output_matrix(const std::string& module, int64_t rows, int64_t columns,
                                          int64_t bias, double std) {
  const size_t place = table_.parameters.size();
  matrix(module, rows, columns, bias, std);
  table_.parameters[place].gives_outputs = true;
}

void ParameterTableBuilder::conv1d(const std::string& module, int64_t inputs, int64_t outputs, double std) {
  matrix(module, inputs, outputs, outputs, std);
  table_.parameters[table_.parameters.size() - 2].input_first = true;
}

void ParameterTableBuilder::kernel(const std::string& module, std::vector<int64_t> shape, int64_t bias) {
  add(module + ".weight", std::move(shape), {InitKind::kNormal, std_}, /*decay=*/true);
  if (bias > 0) add(module + ".bias", {bias}, {InitKind::kZeros, 0}, /*decay=*/false);
}

void ParameterTableBuilder::free_tensor(const std::string& name, std::vector<int64_t> shape) {
  add(name, std::move(shape), {InitKind::kNormal, std_}, /*decay=*/true);
}

void ParameterTableBuilder::norm(const std::string& module, int64_t size, bool with_bias, bool adds_one) {
  add(module + ".weight", {size}, {adds_one ? InitKind::kZeros : InitKind::kOnes, 0}, /*decay=*/false);
  if (with_bias) add(module + ".bias", {size}, {InitKind::kZeros, 0}, /*decay=*/false);
}

void ParameterTableBuilder::constant_norm(const std::string& module, int64_t size, double value) {
  add(module + ".weight", {size}, {InitKind::kConstant, value}, /*decay=*/false);
}

void ParameterTableBuilder::continue_unit(const std::string& name) {
  for (size_t i = 0; i < table_.units.size(); ++i) {
    if (table_.units[i].name == name) unit_ = static_cast<int>(i);
  }
}

void ParameterTableBuilder::buffer(const std::string& name, std::vector<int64_t> shape) {
  add(name, std::move(shape), {InitKind::kZeros, 0}, /*decay=*/false);
  table_.parameters.back().buffer = true;
}

ParameterTable ParameterTableBuilder::finish(std::vector<std::string> ignored_patterns) {
  table_.ignored_patterns = std::move(ignored_patterns);
  return std::move(table_);
}

}  // namespace hftrain::architectures
