#include "hftrain/tasks/sequence_pairs.h"

#include <algorithm>
#include <vector>

#include "hftrain/base/error.h"

namespace hftrain::tasks {
namespace {

using data::Value;
using data::ValueKind;

constexpr const char* kTranslation = "translation";
constexpr size_t kSourceColumn = 0, kTargetColumn = 1;

std::string column_of_pair(const std::vector<std::string>& names, const std::optional<std::string>& asked,
                           const char* flag, size_t place) {
  const auto has = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (asked && has(*asked)) return *asked;
  if (asked)
    throw Error(ExitCode::kData, "there is no column '" + *asked + "'")
        .hint(std::string("--") + flag + " names it");
  if (place < names.size()) return names[place];
  throw Error(ExitCode::kData, place == kSourceColumn ? "there is no column with texts"
                                                      : "there is no column beside the one with texts")
      .hint("two columns: a text, and what is to be made of it");
}

std::vector<std::string> chosen_pair(const std::vector<std::string>& names, const PairColumns& wanted) {
  if (wanted.translates()) {
    if (std::find(names.begin(), names.end(), kTranslation) != names.end()) return {kTranslation, ""};
    throw Error(ExitCode::kData, "there is no column 'translation'")
        .hint(R"(records {"translation": {")" + wanted.source_language + R"(": "…", ")" +
              wanted.target_language + R"(": "…"}})");
  }
  std::vector<std::string> chosen = {column_of_pair(names, wanted.text, "text_column", kSourceColumn),
                                     column_of_pair(names, wanted.summary, "summary_column", kTargetColumn)};
  if (chosen[kSourceColumn] != chosen[kTargetColumn]) return chosen;
  if (std::count(names.begin(), names.end(), chosen.front()) > 1)
    throw Error(ExitCode::kData, "two columns are called '" + chosen.front() + "'")
        .hint("give every column a name of its own");
  throw Error(ExitCode::kData, "texts and summaries are the same column '" + chosen.front() + "'")
      .hint("name both, with --text_column and --summary_column");
}

Error bad_pair(const data::Records& records, size_t row, const std::string& what, const std::string& why,
               const std::string& hint) {
  return Error(ExitCode::kData, what).where(records.where(row)).why(why).hint(hint);
}

std::string_view text_in(const data::Records& records, size_t row, const Value& value,
                         const std::string& which) {
  if (value.kind() == ValueKind::kText) return value.text();
  throw bad_pair(records, row, "the " + which + " of a row is no string",
                 std::string("it is ") + data::kind_name(value.kind()), "write it as text");
}

SequencePair translation_of(const data::Records& records, size_t row, const PairColumns& wanted) {
  const Value both = records.value(row, kSourceColumn);
  if (both.kind() != ValueKind::kObject)
    throw bad_pair(records, row, "the translation of a row is not an object of texts by language",
                   std::string("it is ") + data::kind_name(both.kind()),
                   R"({"translation": {")" + wanted.source_language + R"(": "…", ")" +
                       wanted.target_language + R"(": "…"}})");
  const auto in = [&](const std::string& language) {
    if (const auto found = both.find(language))
      return text_in(records, row, *found, "text in '" + language + "'");
    std::string known;
    for (size_t i = 0; i < both.size(); ++i) known += (i > 0 ? ", " : "") + std::string(both.key(i));
    throw bad_pair(
        records, row, "a row has no text in '" + language + "'",
        known.empty() ? "its translation is empty" : "it has " + known,
        "--source_lang and --target_lang as the rows name them (what is behind an underscore is left out)");
  };
  return {in(wanted.source_language), in(wanted.target_language)};
}

}  // namespace

std::string language_key(const std::string& language) {
  return language.substr(0, language.find('_'));
}

data::ColumnRule pair_columns(const PairColumns& wanted) {
  return {.columns = 2,
          .choose = [wanted](const std::vector<std::string>& names) { return chosen_pair(names, wanted); },
          .text_only = false,
          .settled = {kSourceColumn, kTargetColumn}};
}

std::optional<SequencePair> sequence_pair(const data::Records& records, size_t row,
                                          const PairColumns& wanted) {
  if (wanted.translates()) return translation_of(records, row, wanted);
  const Value text = records.value(row, kSourceColumn), summary = records.value(row, kTargetColumn);
  if (text.kind() == ValueKind::kNull || summary.kind() == ValueKind::kNull) return std::nullopt;
  const SequencePair pair = {text_in(records, row, text, "text"), text_in(records, row, summary, "summary")};
  if (pair.source.empty() || pair.target.empty()) return std::nullopt;
  return pair;
}

}  // namespace hftrain::tasks
