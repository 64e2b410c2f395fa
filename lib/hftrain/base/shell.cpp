#include "hftrain/base/shell.h"

#include <algorithm>
#include <string_view>

namespace hftrain {
namespace {

bool is_plain(char letter) {
  const bool alphanumeric = (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
                            (letter >= 'a' && letter <= 'z');
  return alphanumeric || std::string_view("_-./=:,@%+").find(letter) != std::string_view::npos;
}

}  // namespace

std::string shell_quoted(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + '\'';
}

}  // namespace hftrain
