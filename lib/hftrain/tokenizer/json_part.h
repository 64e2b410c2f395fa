// One part of a tokenizer.json, with the path that led to it, so that every complaint says where.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/base/error.h"

namespace hftrain::tokenizer {

// A view into a parsed document, which must outlive it. Missing or ill-typed members throw an Error (exit
// code 4) that names the file and the member.
class JsonPart {
 public:
  JsonPart(simdjson::dom::element element, const std::string& file, std::string path = "")
      : element_(element), file_(&file), path_(std::move(path)) {}

  bool is_null() const { return element_.is_null(); }
  bool is_text() const { return element_.is_string(); }
  bool is_object() const { return element_.is_object(); }
  const std::string& path() const { return path_; }
  const std::string& file() const { return *file_; }

  bool has(std::string_view key) const;  // present and not null
  JsonPart at(std::string_view key) const;
  std::optional<JsonPart> find(std::string_view key) const;  // unset when missing or null
  std::vector<JsonPart> items() const;                       // of an array

  std::string_view text() const;
  int64_t integer(int64_t least = std::numeric_limits<int64_t>::min(),
                  int64_t most = std::numeric_limits<int64_t>::max()) const;
  // One that fits TokenId and type ids.
  int32_t small_integer() const {
    return static_cast<int32_t>(integer(0, std::numeric_limits<int32_t>::max()));
  }
  bool boolean() const;
  std::string text(std::string_view key) const { return std::string(at(key).text()); }
  bool boolean(std::string_view key, bool otherwise) const;
  simdjson::dom::element element() const { return element_; }

  Error error(std::string why) const;
  // For a `type` that we do not know; never skipped silently.
  Error unsupported(std::string_view what) const;

 private:
  simdjson::dom::element element_;
  const std::string* file_;
  std::string path_;
};

// A type that a part without one has, which files of the first versions leave out: that of the members it has.
struct TypeByMembers {
  std::string_view type;
  std::vector<std::string_view> members;
};

// The part's `type`, or that of the first row whose members it all has. Error for a part without either.
std::string type_of(const JsonPart& part, const std::vector<TypeByMembers>& untyped);

}  // namespace hftrain::tokenizer
