// Every flag of hftrain, and how to find one by what a user wrote.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hftrain/arguments/flag.h"

namespace hftrain::arguments {

struct FlagGroup {
  std::string_view name;   // also the key of a group in configuration files
  std::string_view title;  // heading in help and documentation
  std::vector<Flag> flags;
};

// What a spelling means: the flag, and whether the spelling is its negative form.
struct FlagMatch {
  const Flag* flag = nullptr;
  bool negated = false;
  explicit operator bool() const { return flag != nullptr; }
};

class FlagTable {
 public:
  explicit FlagTable(std::vector<FlagGroup> groups);
  FlagTable(const FlagTable&) = delete;
  FlagTable& operator=(const FlagTable&) = delete;

  std::span<const FlagGroup> groups() const { return groups_; }
  const FlagGroup* group(std::string_view name) const;
  const std::vector<const Flag*>& flags() const { return flags_; }  // in order of the groups

  // By name, alias or negative form, with - and _ alike; without leading dashes.
  FlagMatch find(std::string_view spelling) const;
  const Flag* find_letter(char letter) const;
  // The flag of exactly this name, which must exist.
  const Flag& named(std::string_view name) const;
  // Every spelling that find() knows, for suggestions and completion.
  std::vector<std::string> spellings() const;

 private:
  std::vector<FlagGroup> groups_;
  std::vector<const Flag*> flags_;
  std::vector<const Flag*> patterns_;
  std::unordered_map<std::string, FlagMatch> by_spelling_;
};

// The one table; built on first use, never changed.
const FlagTable& flag_table();

// "--warmup_steps"
std::string option(const Flag& flag);

}  // namespace hftrain::arguments
