// What a row of the flag table says about one flag. A flag is both a key of configuration files and a long
// option; everything the program knows about flags (command line, YAML, help, documentation, completion,
// checks) walks over these rows. The default is never in a row: it is the initialiser of the member that the
// row's slot names.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "hftrain/arguments/arguments.h"
#include "hftrain/base/json.h"

namespace hftrain::arguments {

enum class Type { kBool, kInt, kFloat, kText, kList, kMapping };

// Whether this build does what a flag, one of its words or one of its keys asks for. Values equal to the
// default are always fine.
struct Support {
  enum Status { kImplemented, kAccepted, kRefused };
  Status status = kImplemented;
  std::string_view reason = {};
  std::string_view instead = {};  // what to use
};
constexpr Support accepted(std::string_view reason) {
  return {Support::kAccepted, reason, {}};
}
constexpr Support refused(std::string_view reason, std::string_view instead = {}) {
  return {Support::kRefused, reason, instead};
}

struct Choice {
  std::string_view word;
  Support support = {};
};

// Legal numbers; the bounds themselves are legal unless marked open.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;

  bool limits() const { return low > -std::numeric_limits<double>::infinity() || high_is_limit(); }
  bool high_is_limit() const { return high < std::numeric_limits<double>::infinity(); }
  bool contains(double x) const {
    return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high);
  }
};
constexpr Range at_least(double low) {
  return {.low = low};
}
constexpr Range above(double low) {
  return {.low = low, .low_open = true};
}
constexpr Range between(double low, double high) {
  return {.low = low, .high = high};
}
constexpr Range from_below(double low, double high) {
  return {.low = low, .high = high, .high_open = true};
}
constexpr Range strictly_between(double low, double high) {
  return {low, high, true, true};
}
std::string describe(const Range& range);  // ">= 1", "0 <= x < 1"; empty without limits

// A key of a mapping-valued flag.
struct Key {
  std::string_view name;
  Type type = Type::kText;
  bool optional = false;
  std::string_view neutral = {};  // the value that is always fine, as text; empty: null
  Support support = {};
  std::span<const Key> keys = {};  // of a mapping inside the mapping
  std::vector<std::string_view> words = {};
  Range range = {};
};

// Where a flag's value lives and of which type it is. Values travel as Json: null, bool, number, string,
// array of strings, object.
struct Slot {
  Type type = Type::kText;
  bool optional = false;
  Json (*get)(const Arguments&) = nullptr;  // null for a flag that nothing in this build reads
  void (*set)(Arguments&, const Json&) = nullptr;
  std::string_view neutral = {};  // without a member: the default, as text; empty: null
};

template <typename T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, bool>) return Type::kBool;
  if constexpr (std::is_same_v<T, int64_t>) return Type::kInt;
  if constexpr (std::is_same_v<T, double>) return Type::kFloat;
  if constexpr (std::is_same_v<T, std::string>) return Type::kText;
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return Type::kList;
  return Type::kMapping;
}

template <typename T>
struct Unwrapped {
  using type = T;
  static constexpr bool optional = false;
};
template <typename T>
struct Unwrapped<std::optional<T>> {
  using type = T;
  static constexpr bool optional = true;
};

template <auto Group, auto Member>
constexpr Slot slot_of_member() {
  using Field = std::remove_cvref_t<decltype((std::declval<Arguments>().*Group).*Member)>;
  return {.type = type_of<typename Unwrapped<Field>::type>(),
          .optional = Unwrapped<Field>::optional,
          .get = [](const Arguments& arguments) { return Json((arguments.*Group).*Member); },
          .set = [](Arguments& arguments,
                    const Json& value) { (arguments.*Group).*Member = value.get<Field>(); }};
}
// The slot of Arguments::<group>.<member>.
template <auto Group, auto Member>
inline constexpr Slot at = slot_of_member<Group, Member>();

// A flag without a member: accepted without effect, refused, or an old name of another flag.
constexpr Slot unread(Type type, std::string_view neutral) {
  return {.type = type, .neutral = neutral};
}
constexpr Slot unread_optional(Type type, std::string_view neutral = {}) {
  return {.type = type, .optional = true, .neutral = neutral};
}

// What an old name became.
struct Replacement {
  std::string_view flag = {};   // empty: not an old name
  std::string_view value = {};  // what the new flag gets when the old switch is on; empty: the same value
  std::string_view key = {};    // the value belongs under this key of the new flag's mapping
  bool wins = false;  // over the new name given beside it; otherwise two different values are an error
  bool kept = false;  // asks for more than the new flag says: stays in ParseOutcome::unread beside it
  bool adds = false;  // to what the new name says: to its list, or where that has its default
  bool zero_is_unset = false;  // 0, of either name, is as good as not given
  bool silent = false;         // another program's spelling, not an old one: no warning
};

struct Flag {
  std::string_view name;
  Slot slot = {};
  std::string_view help = {};
  std::string_view note = {};  // more, for `explain` and the documentation
  std::string_view unit = {};
  Range range = {};
  std::vector<Choice> choices = {};
  std::span<const Key> keys = {};  // of a mapping; empty: checked elsewhere
  std::vector<std::string_view> aliases = {};
  char letter = '\0';       // -x
  bool negatable = false;   // --no_<name> stores false
  bool given_once = false;  // two values of one place are a mistake; of other flags the last counts
  bool path = false;        // a leading ~ is the home folder
  bool commas = false;      // list elements may be joined by commas or blanks in one text
  bool any_case = false;    // choices are known in any letter case
  bool secret = false;      // shown as <NAME>
  bool pattern = false;     // the name ends in * and stands for every flag with that prefix
  bool imported =
      false;  // read by import/, which makes ParallelOptions or a note of it; a mapping is kept as written
  bool command_line_only = false;
  bool empty_is_unset = false;  // an empty text, of a script's unset variable, is as if it were not given
  bool when_given = false;      // its default, given, says more than silence: print_config shows it only then
  bool common = false;          // in the short help
  bool ours = false;            // not in the contract of transformers and the launchers
  std::string_view bare = {};   // meaning of the flag without a value; booleans: true
  // Another flag, beside which this one without a value, or true, only says what that one's value says.
  std::string_view switch_beside = {};
  std::string_view also_fine = {};  // another value that means the default
  std::string_view null_is = {};    // meaning of null for a flag that cannot be unset
  // Another flag, which names a file that may add to the choices: beside it every word is taken, and whoever has read the file
  // refuses what it does not say.
  std::string_view words_of_file = {};
  Replacement replaced_by = {};
  Support support = {};

  Json default_value() const;
  bool is_choice() const { return !choices.empty(); }
  const Choice* choice(std::string_view word) const;  // null: none of them
};

// The type in words, e.g. "bool", "int, optional", "list of text", "one of no, steps, epoch".
std::string describe_type(const Flag& flag);
const char* describe(Support::Status status);
// Such a value is fine, whatever this build makes of the flag.
bool means_default(const Flag& flag, const Json& value);
// What this build makes of the flag, as a sentence: empty for an implemented flag; also "old name of --x".
std::string status_sentence(const Flag& flag);
// The words or type after a flag in help: "N", "PATH", "no|steps|epoch"; empty for a boolean.
std::string value_word(const Flag& flag);

}  // namespace hftrain::arguments
