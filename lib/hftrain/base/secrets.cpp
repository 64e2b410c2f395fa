#include "hftrain/base/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "hftrain/base/text.h"

namespace hftrain {
namespace {

constexpr std::array<std::string_view, 13> kSecretWords = {
    "token",      "secret",      "password", "passwd", "passphrase", "key",          "apikey",
    "credential", "credentials", "auth",     "pat",    "cookie",     "authorization"};

// Between the name of the user and the host.
std::string without_password(const std::string& value) {
  const size_t scheme = value.find("://");
  if (scheme == std::string::npos) return value;
  const size_t begin = scheme + 3;
  const size_t end = std::min(value.find_first_of("/?# ", begin), value.size());
  const size_t at = value.substr(0, end).rfind('@');
  const size_t colon = value.find(':', begin);
  if (at == std::string::npos || at < begin || colon >= at) return value;
  return value.substr(0, colon + 1) + "<password>" + value.substr(at);
}

}  // namespace

bool names_secret(std::string_view variable) {
  const std::vector<std::string> words = split(to_lower(variable), '_');
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return std::find(kSecretWords.begin(), kSecretWords.end(), word) != kSecretWords.end();
  });
}

std::string placeholder(std::string_view name) {
  std::string text = "<";
  for (const char c : name) text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text + '>';
}

std::string masked(std::string_view variable, const std::string& value) {
  return names_secret(variable) ? placeholder(variable) : without_password(value);
}

std::map<std::string, std::string> masked(const std::map<std::string, std::string>& variables) {
  std::map<std::string, std::string> shown;
  for (const auto& [name, value] : variables) shown[name] = masked(name, value);
  return shown;
}

}  // namespace hftrain
