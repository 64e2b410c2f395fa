#include "hftrain/search/space.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace hftrain::search {
namespace {

// Steps between the ends of a range, which a last, shorter one does not count among.
size_t whole_steps(const Parameter& parameter) {
  const double steps = std::floor((parameter.high - parameter.low) / parameter.step + 1e-9);
  return static_cast<size_t>(std::clamp(steps, 0.0, kMostExact));
}

Json number(double value, bool whole) {
  return whole ? Json(static_cast<int64_t>(std::llround(value))) : Json(value);
}

}  // namespace

size_t Parameter::count() const {
  if (!choices.empty()) return choices.size();
  return step > 0 ? whole_steps(*this) + 1 : 0;
}

Json Parameter::value_number(size_t at) const {
  if (!choices.empty()) return choices.at(at);
  return number(std::min(high, low + step * static_cast<double>(at)), whole);
}

bool Parameter::has_equal_shares() const {
  return !choices.empty() || (step > 0 && !log);
}

Json Parameter::value_at(double place) const {
  if (has_equal_shares()) {
    const auto at = static_cast<size_t>(place * static_cast<double>(count()));
    return value_number(std::min(at, count() - 1));
  }
  // Without high / low and high - low, which may be beyond all numbers.
  const double value =
      log ? std::exp(std::log(low) * (1 - place) + std::log(high) * place) : low * (1 - place) + high * place;
  if (step == 0) return place <= 0 ? low : place >= 1 ? high : std::clamp(value, low, high);
  const double steps =
      std::clamp(std::round((value - low) / step), 0.0, static_cast<double>(whole_steps(*this)));
  return value_number(static_cast<size_t>(steps));
}

double Parameter::place_of(const Json& value) const {
  if (!choices.empty()) {
    const auto found = std::find(choices.begin(), choices.end(), value);
    const auto at = static_cast<double>(found == choices.end() ? 0 : found - choices.begin());
    return (at + 0.5) / static_cast<double>(choices.size());
  }
  const double drawn = value.is_number() ? value.get<double>() : low;
  if (has_equal_shares()) {
    const double at = std::clamp(std::round((drawn - low) / step), 0.0, static_cast<double>(count() - 1));
    return (at + 0.5) / static_cast<double>(count());
  }
  if (log && drawn <= 0) return 0.5;
  // Halves, so that no difference is beyond all numbers.
  const auto at = [this](double each) { return log ? std::log(each) : each / 2; };
  const double width = at(high) - at(low);
  return width > 0 ? std::clamp((at(drawn) - at(low)) / width, 0.0, 1.0) : 0.5;
}

Json spelled_by(const Json& text) {
  if (!text.is_string()) return text;
  const auto& word = text.get_ref<const std::string&>();
  if (word == "true" || word == "false") return word == "true";
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  const bool numeric =
      !word.empty() && *end == '\0' && word.find_first_not_of("0123456789+-.eE") == std::string::npos;
  if (!numeric) return text;
  const bool whole = word.find_first_of(".eE") == std::string::npos && std::abs(value) < 1e15;
  return whole ? Json(static_cast<int64_t>(value)) : Json(value);
}

std::string word_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : dump_json(value, -1);
}

}  // namespace hftrain::search
