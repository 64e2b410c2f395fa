#include "hftrain/architectures/stored_names.h"

#include <algorithm>
#include <array>
#include <regex>
#include <string_view>
#include <utility>

#include "hftrain/architectures/architecture.h"

namespace hftrain::architectures {
namespace {

// As the first releases wrote them, and transformers still reads them.
std::string with_first_norm_names(std::string name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kNames = {
      {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}}};
  for (const auto& [present, first] : kNames) {
    if (name.ends_with(present)) return name.replace(name.size() - present.size(), present.size(), first);
  }
  return name;
}

}  // namespace

std::vector<std::string> stored_names(const ParameterTable& table, const std::string& name) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& each) {
    names.push_back(each);
    if (std::string first = with_first_norm_names(each); first != each) names.push_back(std::move(first));
  };
  add(name);
  if (!name.starts_with(table.base_prefix)) return names;
  const std::string within = name.substr(table.base_prefix.size());
  for (const std::string& prefix : table.other_prefixes) add(prefix + within);
  add(within);
  return names;
}

std::vector<std::string> stored_names(const ParameterTable& table, const ParameterSpec& spec) {
  std::vector<std::string> names;
  const auto add_all = [&](const std::string& name) {
    const std::vector<std::string> more = stored_names(table, name);
    names.insert(names.end(), more.begin(), more.end());
  };
  // Of a head's bias that a file has twice the last matrix's own counts, as in transformers.
  if (!spec.head) add_all(spec.name);
  for (const std::string& other : spec.other_names) add_all(other);
  if (spec.head) add_all(spec.name);
  for (const TiedParameter& tied : table.tied) {
    if (tied.parameter == spec.name) add_all(tied.alias);
  }
  return names;
}

bool is_ignored(const ParameterTable& table, const std::string& stored_name) {
  constexpr size_t kLongest = 1024;  // the library's expressions call themselves for each character
  return stored_name.size() <= kLongest &&
         std::ranges::any_of(table.ignored_patterns, [&](const std::string& pattern) {
           return std::regex_search(stored_name, std::regex(pattern));
         });
}

const std::string& name_in_memory(const ParameterSpec& spec) {
  return spec.head || spec.other_names.empty() ? spec.name : spec.other_names.front();
}

bool lies_within(const std::string& name, const std::string& ending) {
  if (ending.empty()) return false;
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    if (name.substr(0, dot).ends_with(ending)) return true;
  }
  return false;
}

}  // namespace hftrain::architectures
