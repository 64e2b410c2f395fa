// The arguments of a call by the names of what is called, as Python matches them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "hftrain/chat/value.h"

namespace hftrain::chat {

class BoundArguments {
 public:
  // The first `required` of `names` must be given. Errors: too many, unknown, given twice, missing.
  BoundArguments(Runtime& runtime, std::string_view callee, const Arguments& arguments,
                 std::initializer_list<std::string_view> names, size_t required = 0);

  // Null where it is not given.
  const Value* get(size_t index) const { return values_[index]; }
  // Null where it is not given or None.
  const Value* given(size_t index) const;
  int64_t integer(size_t index, int64_t otherwise) const;
  bool truth(size_t index, bool otherwise) const;
  // Errors: the argument is no text.
  std::string_view text(size_t index, std::string_view otherwise = "") const;

 private:
  Runtime& runtime_;
  std::string_view callee_;
  std::vector<std::string_view> names_;
  std::vector<const Value*> values_;
};

}  // namespace hftrain::chat
