#include "hftrain/tasks/tag_set.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/data/records.h"
#include "hftrain/tasks/word_list.h"

namespace hftrain::tasks {
namespace {

constexpr int64_t kMostTags = 65536;
constexpr int64_t kRowsBetweenLooks = 1024;

Error bad_tag(const std::string& where, const std::string& why, const std::string& hint) {
  return Error(ExitCode::kData, "a row has a tag that cannot be used").where(where).why(why).hint(hint);
}

// The tags of the rows seen.
class TagSurvey {
 public:
  void add(const data::Records& records, size_t column) {
    const std::string where = records.where(0);
    const WordList tags = read_list(records, 0, column, ListOf::kTags);
    if (tags.texts.empty()) return;
    if (!names_.empty() && tags.numbers != numbers_)
      throw bad_tag(where,
                    std::string("it is a ") + (tags.numbers ? "number" : "string") +
                        ", and those of the rows before are not",
                    "tags are strings, or all whole numbers");
    numbers_ = tags.numbers;
    for (const std::string& tag : tags.texts) add_tag(tag, where);
  }

  std::vector<std::string> names() const {
    if (!numbers_) return {names_.begin(), names_.end()};
    std::vector<std::string> counted;
    for (int64_t i = 0; i <= largest_; ++i) counted.push_back(std::to_string(i));
    return counted;
  }

 private:
  void add_tag(const std::string& tag, const std::string& where) {
    if (!names_.insert(tag).second) return;
    if (tag.empty()) throw bad_tag(where, "it is empty", "O is what a word outside of all entities has");
    if (!numbers_) return;
    int64_t number = -1;
    std::from_chars(tag.data(), tag.data() + tag.size(), number);
    if (number < 0 || number >= kMostTags)
      throw bad_tag(where, "it is " + tag,
                    "numbers of tags start at 0 and stay below " + with_thousands(kMostTags));
    largest_ = std::max(largest_, number);
  }

  std::set<std::string> names_;
  bool numbers_ = false;
  int64_t largest_ = 0;
};

// The files are named by who reads them.
Error no_tags(const std::vector<std::string>& names) {
  return Error(ExitCode::kData, "the training data have no tags to learn")
      .why(names.empty() ? "there is no row with a word" : "all words have the tag " + names.front())
      .hint(names.empty()
                ? "see whether this is the file that is meant"
                : "name the column of the tags: --label_column_name, or the description of a plug-in");
}

bool same_names(std::vector<std::string> left, std::vector<std::string> right) {
  std::sort(left.begin(), left.end());
  std::sort(right.begin(), right.end());
  return left == right;
}

std::string with_all_replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace

TagSet::TagSet(std::vector<std::string> names) : names_(std::move(names)) {
  for (size_t i = 0; i < names_.size(); ++i) numbers_[names_[i]] = static_cast<int32_t>(i);
  for (size_t i = 0; i < names_.size(); ++i) {
    const auto inside = names_[i].starts_with("B-") ? numbers_.find(with_all_replaced(names_[i], "B-", "I-"))
                                                    : numbers_.end();
    continued_.push_back(inside == numbers_.end() ? static_cast<int32_t>(i) : inside->second);
  }
}

std::optional<TagSet> TagSet::of_rows(data::RowSource& rows, size_t columns, size_t tag_column,
                                      const std::vector<std::string>& of_model,
                                      const std::function<bool()>& stopped) {
  TagSurvey survey;
  data::Records row(columns);
  for (int64_t count = 1; rows.next(row); ++count, row.clear()) {
    survey.add(row, tag_column);
    if (count % kRowsBetweenLooks == 0 && stopped()) return std::nullopt;
  }
  std::vector<std::string> names = rows.class_names(tag_column);
  if (names.empty()) names = survey.names();
  if (names.size() < 2) throw no_tags(names);
  return TagSet(same_names(names, of_model) ? of_model : names);
}

TagSet TagSet::from_json(const Json& value) {
  return TagSet(value.at("tags").get<std::vector<std::string>>());
}

Json TagSet::config_changes() const {
  Json changes = {{"id2label", Json::object()}, {"label2id", Json::object()}};
  for (size_t i = 0; i < names_.size(); ++i) {
    changes["id2label"][std::to_string(i)] = names_[i];
    changes["label2id"][names_[i]] = i;
  }
  return changes;
}

int32_t TagSet::number_of(const std::string& tag, const std::string& where) const {
  constexpr size_t kShown = 20;
  const auto found = numbers_.find(tag);
  if (found != numbers_.end()) return found->second;
  const std::vector<std::string> shown(
      names_.begin(), names_.begin() + static_cast<std::ptrdiff_t>(std::min(names_.size(), kShown)));
  throw Error(ExitCode::kData, "a row has an unknown tag")
      .where(where)
      .why("it is '" + tag + "'; the tags are " + join(shown, ", ") + (names_.size() > kShown ? ", …" : ""))
      .hint("correct the row, or have the training data, or the description of a plug-in, hold this tag");
}

}  // namespace hftrain::tasks
