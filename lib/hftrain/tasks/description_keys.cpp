#include "hftrain/tasks/description_keys.h"

#include <algorithm>
#include <optional>
#include <set>

#include "hftrain/base/printable.h"
#include "hftrain/base/text.h"

namespace hftrain::tasks {
namespace {

bool is_plain_word(const std::string& word) {
  return !word.empty() && word.size() <= 64 && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

}  // namespace

Error DescriptionKeys::no_task(const std::string& why, const std::string& hint) const {
  return Error(ExitCode::kUsage, "the plug-in describes no task that can be trained")
      .where(origin_)
      .why(why)
      .hint(hint);
}

Error DescriptionKeys::bad_key(const std::string& key, const std::string& is, const std::string& hint) const {
  return no_task("its key '" + key + "' is " + printable(is), hint);
}

Json DescriptionKeys::object_of(const std::string& text) const {
  const std::optional<Json> read = try_parse_json(text);
  if (read && read->is_object()) return *read;
  throw no_task(read ? "it is no JSON object" : "it is no JSON", R"({"name": "…", "head": "…", …})");
}

void DescriptionKeys::check_keys(const Json& object, const std::string& within,
                                 const std::vector<std::string>& known) const {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    throw no_task("there is no key '" + within + printable(key) + "'", "the keys are " + join(known, ", "));
  }
}

const Json& DescriptionKeys::needed(const Json& object, const std::string& key,
                                    const std::string& within) const {
  const auto found = object.find(key);
  if (found != object.end()) return *found;
  throw no_task("it lacks the key '" + within + key + "'", "what docs/plugins.md says of tasks");
}

std::string DescriptionKeys::text(const Json& value, const std::string& key) const {
  const bool is_text = value.is_string() && !value.get_ref<const std::string&>().empty();
  if (!is_text) throw bad_key(key, value.dump(), "a text");
  // It goes into messages, plans and files of results, whose columns tabs divide.
  std::string read = value.get<std::string>();
  if (printable(read) == read && read.find('\t') == read.npos) return read;
  throw bad_key(key, value.dump(), "a text without control characters");
}

std::string DescriptionKeys::plain_word(const Json& value, const std::string& key) const {
  std::string word = text(value, key);
  if (is_plain_word(word)) return word;
  throw bad_key(key, value.dump(), "a word of a to z, 0 to 9, - and _");
}

std::vector<std::string> DescriptionKeys::texts(const Json& value, const std::string& key,
                                                size_t most) const {
  const Json list = value.is_array() ? value : Json::array({value});
  if (list.empty() || list.size() > most)
    throw bad_key(key, "a list of " + std::to_string(list.size()),
                  most == 1 ? "one text" : "1 to " + std::to_string(most) + " texts");
  std::vector<std::string> read;
  for (const Json& one : list) read.push_back(text(one, key));
  if (std::set<std::string>(read.begin(), read.end()).size() != read.size())
    throw bad_key(key, value.dump(), "each text once");
  return read;
}

}  // namespace hftrain::tasks
