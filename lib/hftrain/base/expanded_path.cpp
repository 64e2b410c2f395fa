#include "hftrain/base/expanded_path.h"

#include <cctype>
#include <optional>

namespace hftrain {
namespace {

bool is_of_a_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The name of a variable behind the `$` at `at`, and the place behind all of it; empty: there is none.
std::string_view variable_at(std::string_view text, size_t at, size_t& end) {
  const bool braces = text.substr(at + 1).starts_with('{');
  const size_t begin = at + (braces ? 2 : 1);
  end = begin;
  if (braces) {
    end = text.find('}', begin);
    if (end == std::string_view::npos) return {};
    return text.substr(begin, end++ - begin);
  }
  while (end < text.size() && is_of_a_name(text[end])) ++end;
  return text.substr(begin, end - begin);
}

}  // namespace

std::string with_home(std::string_view path, const std::string& home) {
  const bool at_home = !home.empty() && (path == "~" || path.starts_with("~/"));
  return at_home ? home + std::string(path.substr(1)) : std::string(path);
}

std::string expanded_path(std::string_view path, const Environment& environment) {
  const std::string text = with_home(path, environment.get_or("HOME", ""));
  std::string expanded;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    const std::string_view name = text[at] == '$' ? variable_at(text, at, end) : std::string_view();
    const auto value = name.empty() ? std::nullopt : environment.get(std::string(name));
    if (!value) {
      expanded += text[at++];
      continue;
    }
    expanded += *value;
    at = end;
  }
  return expanded;
}

}  // namespace hftrain
