// An Accelerate file as its readers see it: its values by key, and what they make of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/arguments/raw_argument.h"
#include "hftrain/arguments/section.h"

namespace hftrain::arguments {

template <size_t N>
bool is_listed(const std::array<const char*, N>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class AccelerateDocument {
 public:
  AccelerateDocument(const Section& file, Diagnostics& problems, Diagnostics& notes)
      : file_(file), problems_(problems), notes_(notes) {}

  const Json& values() const { return file_.values; }
  // Null when the key is absent or null.
  const Json* value(const std::string& key) const;
  std::optional<std::string> text(const std::string& key) const;
  std::optional<int64_t> number(const std::string& key);
  // In any spelling of a truth value.
  bool is_true(const std::string& key);
  // Whether it is there, and neither empty nor off.
  bool says_something(const std::string& key) const;
  const Json* mapping_of(const std::string& key);
  std::string place(const std::string& pointer) const { return file_.place(pointer); }

  // Everything but a section is one value, or several where `several`. What is read later counts on it.
  void check_plain(const std::string& name, const Json& value, const std::string& pointer, bool several);
  void check_known(const Json& mapping, const std::string& pointer, const std::vector<std::string>& known);
  void unknown(const std::string& name, const std::string& of, const std::string& pointer,
               const std::vector<std::string>& nearest);

  // The value of a flag.
  void add(const std::string& flag, const std::string& spelling, Json written, const std::string& origin);
  void idle(const std::string& key, const std::string& why);
  void problem(std::string what, const std::string& pointer, std::string why, std::string hint);
  size_t mistakes() const { return problems_.size(); }
  // All that was added.
  std::vector<RawArgument> take_flags() { return std::move(raw_); }

 private:
  const Section& file_;
  Diagnostics& problems_;
  Diagnostics& notes_;
  std::vector<RawArgument> raw_;
};

// accelerate.cpp: of keys outside of all sections.
std::vector<std::string> top_level_keys();

// accelerate_sections.cpp: the sections that have the key, with its prefix or without; "" for the outermost mapping.
std::vector<std::string> sections_with(const std::string& key);

// fsdp_config, deepspeed_config and their like, in a file whose distributed_type is `kind`.
void read_sections(const std::string& kind, AccelerateDocument& file);

}  // namespace hftrain::arguments
