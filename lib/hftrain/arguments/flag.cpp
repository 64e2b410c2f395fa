#include "hftrain/arguments/flag.h"

#include <fmt/format.h>

#include <algorithm>

#include "hftrain/arguments/value.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

std::string words_of(const Flag& flag) {
  std::string text;
  for (const Choice& choice : flag.choices) {
    if (!text.empty()) text += ", ";
    text += choice.word;
  }
  return text;
}

}  // namespace

std::string describe(const Range& range) {
  const bool low = range.low > -std::numeric_limits<double>::infinity();
  const bool high = range.high_is_limit();
  if (low && high) {
    return fmt::format("{} {} x {} {:.0f}", range.low,
                       range.low_open ? "<" : "<=", range.high_open ? "<" : "<=", range.high);
  }
  if (low) return fmt::format("{} {}", range.low_open ? ">" : ">=", range.low);
  if (high) return fmt::format("{} {}", range.high_open ? "<" : "<=", range.high);
  return "";
}

Json Flag::default_value() const {
  if (slot.get != nullptr) return slot.get(Arguments{});
  if (slot.optional && slot.neutral.empty()) return nullptr;
  return neutral_value(slot.type, slot.neutral);
}

const Choice* Flag::choice(std::string_view word) const {
  const auto found = std::find_if(choices.begin(), choices.end(), [&](const Choice& choice) {
    return any_case ? to_lower(choice.word) == to_lower(word) : choice.word == word;
  });
  return found == choices.end() ? nullptr : &*found;
}

std::string describe_type(const Flag& flag) {
  std::string text;
  switch (flag.slot.type) {
    case Type::kBool:
      text = "bool";
      break;
    case Type::kInt:
      text = "int";
      break;
    case Type::kFloat:
      text = "float";
      break;
    case Type::kMapping:
      text = "mapping";
      break;
    case Type::kText:
      text = flag.path ? "path" : "text";
      break;
    case Type::kList:
      text = flag.path ? "list of paths" : "list of text";
      break;
  }
  if (flag.is_choice()) {
    text = (flag.slot.type == Type::kList ? "list of " : "one of ") + words_of(flag);
  }
  return text;
}

const char* describe(Support::Status status) {
  switch (status) {
    case Support::kImplemented:
      return "implemented";
    case Support::kAccepted:
      return "accepted";
    case Support::kRefused:
      return "refused";
  }
  return "";
}

bool means_default(const Flag& flag, const Json& value) {
  return value == flag.default_value() || (!flag.also_fine.empty() && to_yaml(value) == flag.also_fine);
}

std::string status_sentence(const Flag& flag) {
  const Replacement& became = flag.replaced_by;
  if (!became.flag.empty()) {
    std::string text = became.silent ? "same as --" : "old name of --";
    text += became.flag;
    if (!became.key.empty()) text += fmt::format(" {{{}: …}}", became.key);
    if (!became.value.empty()) text += fmt::format(" {}", became.value);
    if (became.adds) text += ", which it adds";
    return text;
  }
  const Support& support = flag.support;
  std::string text;
  if (support.status == Support::kAccepted) text = "accepted without effect: ";
  if (support.status == Support::kRefused) text = "not supported: ";
  if (text.empty()) return text;
  text += support.reason;
  if (!support.instead.empty()) text += fmt::format("; use {}", support.instead);
  return text;
}

std::string value_word(const Flag& flag) {
  if (flag.is_choice() && flag.slot.type != Type::kList) {
    std::string text;
    for (const Choice& choice : flag.choices) {
      if (!text.empty()) text += '|';
      text += choice.word;
    }
    return text.size() <= 36 ? text : "NAME";
  }
  switch (flag.slot.type) {
    case Type::kBool:
      return "";
    case Type::kInt:
      return "N";
    case Type::kFloat:
      return "X";
    case Type::kMapping:
      return "JSON";
    case Type::kText:
      return flag.path ? "PATH" : "TEXT";
    case Type::kList:
      return flag.path ? "PATH..." : "NAME...";
  }
  return "";
}

}  // namespace hftrain::arguments
