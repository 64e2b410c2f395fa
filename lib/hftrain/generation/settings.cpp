#include "hftrain/generation/settings.h"

#include <charconv>
#include <optional>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"

namespace hftrain::generation {
namespace {

Error other_kind(const Setting& setting, const std::string& word, const std::string& takes) {
  const std::string name = "--" + std::string(setting.name);
  return Error(ExitCode::kUsage, name + ": '" + word + "' does not fit")
      .where("command line")
      .why("it takes " + takes)
      .hint('`' + name + " null` is its default");
}

std::optional<bool> truth(const std::string& word) {
  const std::string lower = to_lower(word);
  for (const char* yes : {"true", "yes", "t", "y", "1", "on"}) {
    if (lower == yes) return true;
  }
  for (const char* no : {"false", "no", "f", "n", "0", "off"}) {
    if (lower == no) return false;
  }
  return std::nullopt;
}

Json whole(const Setting& setting, const std::string& word) {
  const auto number = signed_number<int64_t>(word);
  if (!number) throw other_kind(setting, word, "a whole number");
  return *number;
}

Json number(const Setting& setting, const std::string& word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) throw other_kind(setting, word, "a number");
  return value;
}

Json written_as_json(const Setting& setting, const std::string& word) {
  const std::string name = "--" + std::string(setting.name);
  try {
    return parse_json(word, name, 2);
  } catch (Error& error) {  // whose way out is that of a file
    error.hint("close every bracket and quotation mark, and put it in quotes of the shell: " + name +
               " '[…]'; `hftrain generate --help` shows an example");
    throw;
  }
}

Json tokens(const Setting& setting, std::span<const std::string> words) {
  if (words.size() == 1) {
    const std::string& word = words.front();
    return word.starts_with('[') ? written_as_json(setting, word) : whole(setting, word);
  }
  Json ids = Json::array();
  for (const std::string& word : words) ids.push_back(whole(setting, word));
  return ids;
}

}  // namespace

Json value_from_words(const Setting& setting, std::span<const std::string> words) {
  const std::string& word = words.back();
  if (words.size() == 1 && setting.kind != Setting::Kind::kTexts && to_lower(word) == "null") return nullptr;
  switch (setting.kind) {
    case Setting::Kind::kWhole:
      return whole(setting, word);
    case Setting::Kind::kNumber:
      return number(setting, word);
    case Setting::Kind::kTokens:
      return tokens(setting, words);
    case Setting::Kind::kTexts:
      return std::vector<std::string>(words.begin(), words.end());
    case Setting::Kind::kJson:
      return written_as_json(setting, word);
    case Setting::Kind::kTruth:
    case Setting::Kind::kEarlyStopping:
      break;
  }
  const bool may_be_never = setting.kind == Setting::Kind::kEarlyStopping;
  if (may_be_never && to_lower(word) == "never") return "never";
  const std::optional<bool> value = truth(word);
  if (!value) throw other_kind(setting, word, may_be_never ? "true, false or never" : "true or false");
  return *value;
}

}  // namespace hftrain::generation
