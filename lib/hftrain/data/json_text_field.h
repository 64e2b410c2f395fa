// The text of one JSON record, and where JSON values end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace simdjson::dom {
class element;
}

namespace hftrain::data {

inline constexpr const char* kNoRecord = "a record must be an object with a text field";

// Finds the end of a JSON value in text that arrives in pieces, by counting brackets outside strings.
class ValueScanner {
 public:
  // Only values in brackets or quotes close by themselves.
  static bool can_start(char c) { return c == '{' || c == '[' || c == '"'; }

  enum class State { kOpen, kClosed };
  // Looks at more of the value that starts with the first character ever given. `used` is how much of `text`
  // belongs to it.
  State feed(std::string_view text, size_t& used);

 private:
  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

// Says why a record has no text; empty when it has. The text is appended to `text`.
//
// The field is `text` when the first record has it, else the first field of that record. A record that is a
// plain string is its own text.
class TextField {
 public:
  std::string append(const simdjson::dom::element& record, std::string& text);

 private:
  bool chosen_ = false;
  std::string name_;
};

}  // namespace hftrain::data
