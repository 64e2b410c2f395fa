#include "hftrain/chat/value.h"

#include <algorithm>

#include "hftrain/chat/dict.h"
#include "hftrain/chat/iteration.h"
#include "hftrain/chat/runtime.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::chat {

int64_t Range::size() const {
  const auto wide = [](int64_t value) { return static_cast<__int128>(value); };
  const __int128 gap = step > 0 ? wide(stop) - start : wide(start) - stop;
  if (gap <= 0) return 0;
  const __int128 width = step > 0 ? wide(step) : -wide(step);
  return static_cast<int64_t>(std::min<__int128>((gap + width - 1) / width, INT64_MAX));
}

Value Value::text(std::string bytes) {
  const auto length = static_cast<int64_t>(tokenizer::unicode::count(bytes));
  return Value(std::make_shared<const Text>(Text{.bytes = std::move(bytes), .length = length}));
}

Value Value::list(std::vector<Value> items) {
  size_t depth = 0;
  for (const Value& item : items) depth = std::max(depth, depth_of(item));
  return Value(std::make_shared<const Sequence>(Sequence{.items = std::move(items), .depth = depth + 1}));
}

const Text* Value::as_text() const {
  const auto* held = get<TextPtr>();
  return held == nullptr ? nullptr : held->get();
}

const Sequence* Value::as_sequence() const {
  const auto* held = get<SequencePtr>();
  return held == nullptr ? nullptr : held->get();
}

const Dict* Value::as_dict() const {
  const auto* held = get<DictPtr>();
  return held == nullptr ? nullptr : held->get();
}

std::optional<int64_t> Value::as_integer() const {
  if (const auto* integer = get<int64_t>()) return *integer;
  if (const auto* boolean = get<bool>()) return *boolean ? 1 : 0;
  return std::nullopt;
}

std::optional<double> Value::as_number() const {
  if (const auto* number = get<double>()) return *number;
  if (const auto integer = as_integer()) return static_cast<double>(*integer);
  return std::nullopt;
}

std::optional<Value> Object::member(Runtime&, std::string_view) {
  return std::nullopt;
}

Value Object::call(Runtime& runtime, const Arguments&) {
  runtime.fail("'" + std::string(type_name()) + "' object is not callable");
}

namespace {

std::string_view name_of_view(View::Kind kind) {
  switch (kind) {
    case View::Kind::kKeys:
      return "dict_keys";
    case View::Kind::kValues:
      return "dict_values";
    case View::Kind::kItems:
      return "dict_items";
  }
  return "";
}

struct TypeName {
  std::string operator()(const Undefined&) const { return "Undefined"; }
  std::string operator()(const None&) const { return "NoneType"; }
  std::string operator()(bool) const { return "bool"; }
  std::string operator()(int64_t) const { return "int"; }
  std::string operator()(double) const { return "float"; }
  std::string operator()(const TextPtr& text) const { return text->escaped ? "Markup" : "str"; }
  std::string operator()(const SequencePtr& items) const { return items->is_tuple ? "tuple" : "list"; }
  std::string operator()(const DictPtr&) const { return "dict"; }
  std::string operator()(const ViewPtr& view) const { return std::string(name_of_view(view->kind)); }
  std::string operator()(const Range&) const { return "range"; }
  std::string operator()(const IteratorPtr&) const { return "generator"; }
  std::string operator()(const ObjectPtr& object) const { return std::string(object->type_name()); }
};

}  // namespace

std::string type_name(const Value& value) {
  return std::visit(TypeName(), value.held());
}

size_t depth_of(const Value& value) {
  if (const Sequence* sequence = value.as_sequence()) return sequence->depth;
  if (const Dict* dict = value.as_dict()) return dict->depth();
  if (const auto* view = value.get<ViewPtr>()) return (*view)->dict->depth() + 1;
  if (const auto* iterator = value.get<IteratorPtr>()) return (*iterator)->depth;
  return 0;
}

Value call_value(Runtime& runtime, const Value& value, const Arguments& arguments) {
  if (const auto* undefined = value.get<Undefined>()) runtime.fail(reason_of(*undefined));
  const auto* object = value.get<ObjectPtr>();
  if (object == nullptr) runtime.fail("'" + type_name(value) + "' object is not callable");
  const ObjectPtr held = *object;  // the call may let go of the last name that holds it
  return held->call(runtime, arguments);
}

bool is_true(Runtime& runtime, const Value& value) {
  if (value.is<Undefined>() || value.is<None>()) return false;
  if (const auto number = value.as_number()) return *number != 0;
  if (const Text* text = value.as_text()) return !text->bytes.empty();
  if (const Sequence* sequence = value.as_sequence()) return !sequence->items.empty();
  if (const Dict* dict = value.as_dict()) return dict->size() != 0;
  if (const auto* view = value.get<ViewPtr>()) return (*view)->dict->size() != 0;
  if (const auto* range = value.get<Range>()) return range->size() != 0;
  if (const auto* object = value.get<ObjectPtr>()) return (*object)->length(runtime).value_or(1) != 0;
  return true;
}

}  // namespace hftrain::chat
