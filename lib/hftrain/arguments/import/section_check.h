// Checks a section of another program's format against rows of keys: unknown keys with the nearest ones,
// types, words and ranges, keys that this build does without, each mistake with its place and all of them in
// one pass.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/arguments/flag.h"
#include "hftrain/arguments/section.h"

namespace hftrain::arguments {

struct SectionKey {
  std::string_view name;
  Type type = Type::kText;                // kList: of numbers or texts, taken as they are
  Support support = {};                   // of a value other than `neutral`; of a mapping the whole
  std::string_view neutral = {};          // of an accepted or refused key: the value that is always fine
  std::span<const SectionKey> keys = {};  // of a mapping; empty: its keys are not looked at
  std::vector<std::string_view> words = {};
  bool any_case = false;  // of the words, which are in lower case
  Range range = {};
  bool automatic = false;   // "auto" may stand for the value
  bool endless = false;     // infinity may stand for the number, as if the key were absent
  bool drops_auto = false;  // of a mapping: "auto" for any other key is as if it were absent
  std::vector<std::string_view> aliases = {};  // other spellings
  bool warned = false;                         // of an accepted key: that it does nothing is a warning
  // Of a mapping that is not taken: the key that switches it on. Off: absent, false, "auto" or `neutral`.
  std::string_view switched_by = {};
  bool told_off = false;  // one that is gone: its neutral value is told as without effect
  // Of a mapping whose keys follow from another key: all that it may have, of which none is checked by it.
  std::span<const SectionKey> (*possible)() = nullptr;
};

struct SectionReport {
  Diagnostics& problems;
  Diagnostics& notes;
};

// A section whose values have their keys' types; comments (`_…`), nulls, and keys of no effect are gone, and
// keys have their first names. Integers may have been written as 5e8, "auto" is the text "auto".
class CheckedSection {
 public:
  // `name` stands before keys in messages ("deepspeed").
  CheckedSection(const Section& section, std::string name, const SectionReport& report)
      : section_(section), name_(std::move(name)), report_(report) {}

  // Checks the mapping at `pointer`, the root or one whose keys were not looked at yet.
  // Where keys belong that stand elsewhere is looked up in those of the root.
  void check(std::span<const SectionKey> keys, const std::string& pointer = "") {
    if (pointer.empty()) whole_ = keys;
    check_mapping({.name = "", .type = Type::kMapping, .keys = keys}, pointer, pointer);
  }
  // One note for all keys without effect that were found, and before it one warning for those that people rely on.
  void note_idle_keys() const;
  // A key that works, and does nothing beside the others of this file. No word of one that is not there, is "auto", or
  // has the value that is always fine.
  void tell_idle(const std::string& pointer, const Json& neutral, const std::string& why, bool warns = false);

  // Null when the key was not given.
  const Json* find(const std::string& pointer) const;
  bool has(const std::string& pointer) const { return find(pointer) != nullptr; }
  bool is_auto(const std::string& pointer) const;
  // The value, or `otherwise` when it was not given or is "auto".
  template <typename T>
  T value_or(const std::string& pointer, T otherwise) const {
    return has(pointer) && !is_auto(pointer) ? find(pointer)->get<T>() : otherwise;
  }
  // Where the value stands; the origin of the whole when it was not given.
  const std::string& place(const std::string& pointer) const;

 private:
  // `at` is the pointer as written, `pointer` the one of first names.
  void check_mapping(const SectionKey& described, const std::string& at, const std::string& pointer);
  void check_key(const SectionKey& key, const std::string& written_name, const Json& written,
                 const std::string& at, const std::string& pointer);
  void check_section(const SectionKey& key, const Json& written, const std::string& at,
                     const std::string& pointer);
  void unknown(std::span<const SectionKey> keys, const std::string& name, const std::string& at);
  void store(const SectionKey& key, const Json& value, const std::string& at, const std::string& pointer);
  void tell(const std::vector<std::string>& keys, Diagnostic::Severity severity) const;
  void problem(std::string what, const std::string& at, std::string why, std::string hint);

  const Section& section_;
  std::string name_;
  SectionReport report_;
  std::span<const SectionKey> whole_;
  std::map<std::string, Json> values_;         // by pointer of first names
  std::map<std::string, std::string> places_;  // the same
  std::vector<std::string> idle_, warned_;     // "key (reason)"
};

}  // namespace hftrain::arguments
