// The filter tojson as transformers has it: json.dumps with ensure_ascii false.
#pragma once

#include <optional>
#include <string>

#include "hftrain/chat/arguments.h"
#include "hftrain/chat/value.h"

namespace hftrain::chat {

struct JsonLayout {
  bool ensure_ascii = false;
  std::optional<std::string> indent;  // of one level; unset: all on one line
  std::string between_items = ", ", after_key = ": ";
  bool sort_keys = false;
};

// Of ensure_ascii, indent, separators and sort_keys, in this order.
JsonLayout json_layout(Runtime& runtime, const BoundArguments& arguments);
// Errors: a value that JSON has not.
std::string to_json(Runtime& runtime, const Value& value, const JsonLayout& layout);

}  // namespace hftrain::chat
