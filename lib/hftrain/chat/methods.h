// Methods of texts, dicts and lists.
#pragma once

#include <string_view>

#include "hftrain/chat/value.h"

namespace hftrain::chat {

using MethodFunction = Value (*)(Runtime& runtime, const Value& self, const Arguments& arguments);

// Null where there is none of that name.
MethodFunction text_method(std::string_view name);
MethodFunction dict_method(std::string_view name);
MethodFunction sequence_method(std::string_view name);

struct NamedMethod {
  std::string_view name;
  MethodFunction function;
};

}  // namespace hftrain::chat
