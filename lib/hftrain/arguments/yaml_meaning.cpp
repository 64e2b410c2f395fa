#include "hftrain/arguments/yaml_meaning.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "hftrain/arguments/value.h"
#include "hftrain/arguments/yaml_numbers.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

// Of all lower case, all capitals, or one capital: yEs is a text.
std::optional<bool> truth_in(const std::string& text, bool switches_alone) {
  constexpr std::array<std::pair<std::string_view, bool>, 6> kWords = {
      {{"on", true}, {"off", false}, {"true", true}, {"false", false}, {"yes", true}, {"no", false}}};
  const std::string lower = to_lower(text);
  std::string upper = lower, title = lower;
  for (char& letter : upper)
    letter = static_cast<char>(letter - ('a' <= letter && letter <= 'z' ? 'a' - 'A' : 0));
  if (!title.empty()) title.front() = upper.front();
  if (text != lower && text != upper && text != title) return std::nullopt;
  for (size_t i = 0; i < (switches_alone ? 2 : kWords.size()); ++i) {
    if (kWords[i].first == lower) return kWords[i].second;
  }
  return std::nullopt;
}

const char* truth_word(bool truth) {
  return truth ? "true" : "false";
}

template <typename Number>
std::optional<Json> number_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(number)) return std::nullopt;
  }
  return std::optional<Json>(std::in_place, number);
}

// `change` for each text without quotes.
template <typename Change>
Json changed(Json value, const PlainParts& plain, const std::string& pointer, const Change& change) {
  if (value.is_string() && plain.contains(pointer)) return change(value.get<std::string>());
  if (value.is_object()) {
    for (auto& [key, part] : value.items())
      part = changed(std::move(part), plain, pointer + '/' + key, change);
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i)
      value[i] = changed(std::move(value[i]), plain, pointer + '/' + std::to_string(i), change);
  }
  return value;
}

Json elements_meant_in_yaml(const Flag& flag, Json list, const PlainParts& plain) {
  for (size_t i = 0; i < list.size(); ++i) {
    const bool unquoted = plain.contains('/' + std::to_string(i));
    list[i] = meant_in_yaml(flag, std::move(list[i]), unquoted ? PlainParts{""} : PlainParts{});
  }
  return list;
}

}  // namespace

Json parts_meant_in_yaml(Json mapping, const PlainParts& plain, const std::string& pointer) {
  return changed(std::move(mapping), plain, pointer, [](const std::string& text) -> Json {
    if (const auto truth = truth_in(text, /*switches_alone=*/true)) return truth_word(*truth);
    return plain_number(decimal_of_yaml(text));
  });
}

Json meant_in_yaml(const Flag& flag, Json written, const PlainParts& plain) {
  if (flag.slot.type == Type::kMapping) return parts_meant_in_yaml(std::move(written), plain);
  if (written.is_array()) return elements_meant_in_yaml(flag, std::move(written), plain);
  if (!written.is_string() || !plain.contains("")) return with_plain_numbers(flag, std::move(written));
  const auto text = written.get<std::string>();
  const bool chooses = flag.is_choice() && flag.choice(text) == nullptr;
  const auto truth = truth_in(text, /*switches_alone=*/!chooses);
  if (truth && (chooses || flag.slot.type == Type::kBool)) return *truth;
  const bool number = flag.slot.type == Type::kInt || flag.slot.type == Type::kFloat;
  return with_plain_numbers(flag, number ? Json(decimal_of_yaml(text)) : std::move(written));
}

Json meant_in_json(const Flag& flag, Json written, const PlainParts& plain) {
  if (!written.is_string() || !plain.contains("") || !flag.is_choice()) return written;
  const auto& text = written.get_ref<const std::string&>();
  const bool is_truth = (text == "true" || text == "false") && flag.choice(text) == nullptr;
  return is_truth ? Json(text == "true") : written;
}

Json typed_parts(Json value, const PlainParts& plain, const std::string& pointer) {
  return changed(std::move(value), plain, pointer, [](const std::string& text) -> Json {
    if (const std::string word = to_lower(text); word == "true" || word == "false") return word == "true";
    const std::optional<Json> whole = number_in<int64_t>(text);
    return whole ? *whole : number_in<double>(text).value_or(text);
  });
}

}  // namespace hftrain::arguments
