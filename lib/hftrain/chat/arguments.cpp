#include "hftrain/chat/arguments.h"

#include <algorithm>

#include "hftrain/chat/runtime.h"

namespace hftrain::chat {

BoundArguments::BoundArguments(Runtime& runtime, std::string_view callee, const Arguments& arguments,
                               std::initializer_list<std::string_view> names, size_t required)
    : runtime_(runtime), callee_(callee), names_(names), values_(names.size(), nullptr) {
  const std::string who = std::string(callee) + "()";
  if (arguments.positional.size() > names_.size()) {
    runtime.fail(who + " takes at most " + std::to_string(names_.size()) + " arguments, not " +
                 std::to_string(arguments.positional.size()));
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto place = std::ranges::find(names_, name);
    if (place == names_.end()) runtime.fail(who + " has no argument '" + name + "'");
    const Value*& slot = values_[static_cast<size_t>(place - names_.begin())];
    if (slot != nullptr) runtime.fail(who + " is given its argument '" + name + "' twice");
    slot = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (values_[i] == nullptr) runtime.fail(who + " needs its argument '" + std::string(names_[i]) + "'");
  }
}

const Value* BoundArguments::given(size_t index) const {
  return values_[index] == nullptr || values_[index]->is<None>() ? nullptr : values_[index];
}

int64_t BoundArguments::integer(size_t index, int64_t otherwise) const {
  if (values_[index] == nullptr) return otherwise;
  const auto value = values_[index]->as_integer();
  if (value) return *value;
  runtime_.fail(std::string(callee_) + "() takes a whole number as '" + std::string(names_[index]) +
                "', not a " + type_name(*values_[index]));
}

bool BoundArguments::truth(size_t index, bool otherwise) const {
  return values_[index] == nullptr ? otherwise : is_true(runtime_, *values_[index]);
}

std::string_view BoundArguments::text(size_t index, std::string_view otherwise) const {
  if (values_[index] == nullptr) return otherwise;
  if (const Text* text = values_[index]->as_text()) return text->bytes;
  runtime_.fail(std::string(callee_) + "() takes a text as '" + std::string(names_[index]) + "', not a " +
                type_name(*values_[index]));
}

}  // namespace hftrain::chat
