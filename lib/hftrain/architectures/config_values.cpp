#include "hftrain/architectures/config_values.h"

#include <algorithm>
#include <cmath>

#include "hftrain/architectures/architecture.h"
#include "hftrain/base/text.h"

namespace hftrain::architectures {
namespace {

std::string number_text(double value) {
  return dump_json(value);
}

std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

int64_t ConfigValues::positive(const char* key, int64_t most) {
  const int64_t value = get<int64_t>(key);
  if (value < 1) refuse(std::string(key) + " must be 1 or more", "it is " + std::to_string(value));
  if (value > most)
    refuse(std::string(key) + " must be at most " + with_thousands(most), "it is " + std::to_string(value));
  return std::clamp<int64_t>(value, 1, most);
}

std::optional<int64_t> row_of_table(int64_t value, int64_t rows) {
  if (value < -rows || value >= rows) return std::nullopt;
  return value < 0 ? value + rows : value;
}

std::optional<int64_t> ConfigValues::row(const char* key, int64_t rows) {
  if (config_.at(key).is_null()) return std::nullopt;
  const int64_t value = get<int64_t>(key);
  const std::optional<int64_t> found = row_of_table(value, rows);
  if (!found)
    refuse(std::string(key) + " must be a token",
           "it is " + std::to_string(value) + ", and tokens are 0 to " + with_thousands(rows - 1));
  return found;
}

double ConfigValues::dropout(const char* key) {
  const double value = get<double>(key);
  if (!(value >= 0 && value < 1))
    refuse(std::string(key) + " must be at least 0 and below 1", "it is " + number_text(value));
  return value;
}

double ConfigValues::from_zero(const char* key) {
  const double value = get<double>(key);
  if (!(value >= 0) || !std::isfinite(value))
    refuse(std::string(key) + " must be 0 or more", "it is " + number_text(value));
  return value;
}

std::string ConfigValues::activation(const char* key) {
  std::string value = get<std::string>(key);
  const std::vector<std::string>& names = activation_names();
  if (std::find(names.begin(), names.end(), value) == names.end()) {
    refuse("the activation '" + value + "' is not implemented",
           "the implemented ones are " + join(names, ", "));
  }
  return value;
}

void ConfigValues::require_multiple(const char* key, int64_t value, const char* of_key, int64_t of) {
  if (value % of == 0) return;
  refuse(std::string(key) + " must be a multiple of " + of_key,
         std::to_string(value) + " is not a multiple of " + std::to_string(of));
}

void ConfigValues::require_causal() {
  if (config_.value("is_causal", Json(true)) == true) return;
  refuse("attention in both directions is not implemented for this family",
         "is_causal is " + text_of(config_.at("is_causal")));
}

void ConfigValues::require_bidirectional() {
  const Json value = config_.value("is_causal", Json());
  if (value.is_null() || value == false) return;
  refuse("causal attention is not implemented for this family", "is_causal is " + text_of(value));
}

void ConfigValues::require_no_is_causal() {
  if (!config_.contains("is_causal")) return;
  refuse("an encoder and a decoder that attend alike are not implemented",
         "is_causal is " + text_of(config_.at("is_causal")) + ", and would be that of both");
}

void ConfigValues::refuse(const std::string& what, const std::string& why) {
  Diagnostic diagnostic;
  diagnostic.what = what;
  diagnostic.where = origin_;
  diagnostic.why = why;
  diagnostic.hint = "change the config, or choose another model";
  mistakes_.push_back(std::move(diagnostic));
}

void ConfigValues::finish() {
  if (!mistakes_.empty()) throw Error(ExitCode::kData, std::move(mistakes_));
}

}  // namespace hftrain::architectures
