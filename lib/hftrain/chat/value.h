// What a template works with: Python's values, as far as templates meet them. All but namespaces, iterators and the few
// other objects never change, so that copies of a Value share what it holds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hftrain/chat/budget.h"

namespace hftrain::chat {

class Dict;
class Object;
class Runtime;
struct Iterator;
struct Sequence;
struct Text;
struct View;

struct None {};

// A name or a member that is not there. `why` is the message of whatever needs a value.
struct Undefined {
  std::shared_ptr<const std::string> why;
};

// range(start, stop, step), as numbers.
struct Range {
  int64_t start = 0, stop = 0, step = 1;
  int64_t size() const;
  int64_t at(int64_t index) const { return start + index * step; }
};

using TextPtr = std::shared_ptr<const Text>;
using SequencePtr = std::shared_ptr<const Sequence>;
using DictPtr = std::shared_ptr<const Dict>;
using ViewPtr = std::shared_ptr<const View>;
using IteratorPtr = std::shared_ptr<Iterator>;
using ObjectPtr = std::shared_ptr<Object>;

// Whether T is one of the types of a variant.
template <typename T, typename Variant>
inline constexpr bool kIsAlternative = false;
template <typename T, typename... Types>
inline constexpr bool kIsAlternative<T, std::variant<Types...>> = (std::is_same_v<T, Types> || ...);

class Value {
 public:
  using Held = std::variant<Undefined, None, bool, int64_t, double, TextPtr, SequencePtr, DictPtr, ViewPtr,
                            Range, IteratorPtr, ObjectPtr>;

  Value() = default;  // undefined, without a reason
  // Exactly one of the types above: nothing is converted on the way.
  template <typename T>
  requires kIsAlternative<std::remove_cvref_t<T>, Held>
  explicit Value(T&& held) : held_(std::in_place_type<std::remove_cvref_t<T>>, std::forward<T>(held)) {}

  // Texts and lists from outside the template, which no budget counts. `bytes` is valid UTF-8.
  static Value text(std::string bytes);
  static Value list(std::vector<Value> items);

  template <typename T>
  const T* get() const {
    return std::get_if<T>(&held_);
  }
  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(held_);
  }
  const Held& held() const { return held_; }

  const Text* as_text() const;
  const Sequence* as_sequence() const;
  const Dict* as_dict() const;
  // An int, or a bool as 0 or 1.
  std::optional<int64_t> as_integer() const;
  // Any number.
  std::optional<double> as_number() const;

 private:
  Held held_;
};

struct Text {
  std::string bytes;     // valid UTF-8
  int64_t length = 0;    // in characters
  bool escaped = false;  // for HTML, by the filters safe and escape
  Charge charge;
  bool is_ascii() const { return static_cast<size_t>(length) == bytes.size(); }
};

struct Sequence {
  std::vector<Value> items;
  bool is_tuple = false;
  bool is_group = false;  // of the filter groupby: has members grouper and list
  size_t depth = 1;       // lists and dicts in each other, this one among them
  Charge charge;
};

// What dict.keys(), .values() and .items() return.
struct View {
  enum class Kind { kKeys, kValues, kItems };
  DictPtr dict;
  Kind kind;
};

// What filters like map and select return: items that are made as they are asked for, once. Like Python's
// generators it is true and has no length.
struct Iterator {
  std::function<std::optional<Value>()> next;
  size_t depth = 1;
  Charge charge;
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// What has members or can be called: functions, methods, macros, namespaces, loops.
class Object : public std::enable_shared_from_this<Object> {
 public:
  virtual ~Object() = default;
  virtual std::string_view type_name() const = 0;
  virtual std::optional<Value> member(Runtime& runtime, std::string_view name);
  virtual bool is_callable() const { return false; }
  virtual Value call(Runtime& runtime, const Arguments& arguments);
  virtual std::optional<int64_t> length(Runtime&) { return std::nullopt; }
  // As Python prints it; nothing where that is an address in memory.
  virtual std::optional<std::string> printed(Runtime&) { return std::nullopt; }
};

// Python's names of types, as its messages have them.
std::string type_name(const Value& value);
size_t depth_of(const Value& value);
// value(arguments). Errors: it cannot be called.
Value call_value(Runtime& runtime, const Value& value, const Arguments& arguments);
// bool(value).
bool is_true(Runtime& runtime, const Value& value);

}  // namespace hftrain::chat
