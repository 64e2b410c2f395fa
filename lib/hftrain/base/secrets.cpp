#include "hftrain/base/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "hftrain/base/text.h"

namespace hftrain {
namespace {

constexpr std::array<std::string_view, 17> kSecretWords = {
    "token",     "secret", "password", "passwd",        "passphrase",  "pass",
    "pwd",       "key",    "apikey",   "credential",    "credentials", "auth",
    "authtoken", "pat",    "cookie",   "authorization", "sshpass"};
// What they may end with, as in PGPASSWORD.
constexpr std::array<std::string_view, 4> kSecretEndings = {"password", "passwd", "passphrase", "apikey"};
// What stands before "token" where it is one that opens something.
constexpr std::array<std::string_view, 9> kTokenKinds = {"access", "api",     "auth",   "bearer", "hf",
                                                         "hub",    "refresh", "secret", "session"};

template <size_t kSize>
bool is_one_of(const std::array<std::string_view, kSize>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_secret_word(std::string_view word) {
  return is_one_of(kSecretWords, word) ||
         std::any_of(kSecretEndings.begin(), kSecretEndings.end(),
                     [word](std::string_view ending) { return word.ends_with(ending); });
}

// An address with the password in it.
bool is_connection_string(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 2> kWords = {"connection", "string"};
  return std::search(words.begin(), words.end(), kWords.begin(), kWords.end()) != words.end();
}

// apiKey and api-key as api_key.
std::string snake_case(std::string_view key) {
  std::string text;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    const bool begins_word =
        std::isupper(byte) && !text.empty() && std::islower(static_cast<unsigned char>(text.back()));
    if (begins_word) text += '_';
    text += c == '-' || c == '.' ? '_' : c;
  }
  return text;
}

// Between the name of the user and the host, of every URL: some variables hold several.
std::string without_password(std::string value) {
  constexpr std::string_view kScheme = "://", kShown = "<password>";
  for (size_t scheme = value.find(kScheme); scheme != std::string::npos;
       scheme = value.find(kScheme, scheme)) {
    const size_t begin = scheme += kScheme.size();
    const size_t end = std::min(value.find_first_of("/?# ", begin), value.size());
    const size_t at = value.substr(0, end).rfind('@');
    const size_t colon = value.find(':', begin);
    if (at == std::string::npos || at < begin || colon >= at) continue;
    value.replace(colon + 1, at - colon - 1, kShown);
  }
  return value;
}

}  // namespace

bool names_secret(std::string_view variable) {
  const std::vector<std::string> words = split(to_lower(variable), '_');
  if (words.size() == 1 && words.front() == "pwd") return false;  // the shell's folder
  return is_connection_string(words) || std::any_of(words.begin(), words.end(), is_secret_word);
}

bool names_secret_key(std::string_view key) {
  const std::string name = snake_case(key);
  if (!names_secret(name)) return false;
  const std::vector<std::string> words = split(to_lower(name), '_');
  // Of a tokenizer: what another word makes a secret stands for itself.
  const bool by_token_alone = std::none_of(words.begin(), words.end(), [](const std::string& word) {
    return word != "token" && is_secret_word(word);
  });
  if (!by_token_alone || words.size() == 1 || is_connection_string(words)) return true;
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return is_one_of(kTokenKinds, word); });
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

std::string without_secret(std::string text, const std::string& secret, std::string_view name) {
  if (secret.empty()) return text;
  const std::string shown = placeholder(name);  // which may hold the secret, if it is a short one
  for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + shown.size()))
    text.replace(at, secret.size(), shown);
  return text;
}

}  // namespace hftrain
