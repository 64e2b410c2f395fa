#include "hftrain/tokenizer/json_part.h"

#include <algorithm>

#include "hftrain/base/text.h"

namespace hftrain::tokenizer {

Error JsonPart::error(std::string why) const {
  return Error(ExitCode::kData, "not a usable tokenizer file")
      .where(path_.empty() ? *file_ : *file_ + ": " + path_)
      .why(std::move(why))
      .hint("take the file as it was published, or save it again with the tokenizers package");
}

Error JsonPart::unsupported(std::string_view what) const {
  return Error(ExitCode::kData, "this tokenizer needs a part that hftrain does not have")
      .where(*file_ + ": " + path_)
      .why(std::string(what))
      .hint(
          "take another tokenizer, or change this part of the file; docs/tokenizer.md lists what is "
          "understood");
}

std::optional<JsonPart> JsonPart::find(std::string_view key) const {
  simdjson::dom::object object;
  if (element_.get_object().get(object) != simdjson::SUCCESS) throw error("an object is needed here");
  simdjson::dom::element member;
  if (object.at_key(key).get(member) != simdjson::SUCCESS || member.is_null()) return std::nullopt;
  return JsonPart(member, *file_, path_.empty() ? std::string(key) : path_ + '.' + std::string(key));
}

bool JsonPart::has(std::string_view key) const {
  return find(key).has_value();
}

JsonPart JsonPart::at(std::string_view key) const {
  if (const auto member = find(key)) return *member;
  throw error("'" + std::string(key) + "' is missing");
}

std::vector<JsonPart> JsonPart::items() const {
  simdjson::dom::array array;
  if (element_.get_array().get(array) != simdjson::SUCCESS) throw error("a list is needed here");
  std::vector<JsonPart> parts;
  for (const simdjson::dom::element item : array) {
    parts.emplace_back(item, *file_, path_ + '[' + std::to_string(parts.size()) + ']');
  }
  return parts;
}

std::string_view JsonPart::text() const {
  std::string_view value;
  if (element_.get_string().get(value) != simdjson::SUCCESS) throw error("text is needed here");
  return value;
}

int64_t JsonPart::integer(int64_t least, int64_t most) const {
  int64_t value = 0;
  if (element_.get_int64().get(value) != simdjson::SUCCESS) throw error("a whole number is needed here");
  if (value < least || value > most) {
    throw error("a whole number from " + with_thousands(least) + " to " + with_thousands(most) +
                " is needed here, not " + with_thousands(value));
  }
  return value;
}

bool JsonPart::boolean() const {
  bool value = false;
  if (element_.get_bool().get(value) != simdjson::SUCCESS) throw error("true or false is needed here");
  return value;
}

bool JsonPart::boolean(std::string_view key, bool otherwise) const {
  const auto member = find(key);
  return member ? member->boolean() : otherwise;
}

std::string type_of(const JsonPart& part, const std::vector<TypeByMembers>& untyped) {
  if (part.has("type")) return part.text("type");
  for (const auto& [type, members] : untyped) {
    if (std::all_of(members.begin(), members.end(), [&](std::string_view name) { return part.has(name); }))
      return std::string(type);
  }
  return part.text("type");  // says that it is missing
}

}  // namespace hftrain::tokenizer
