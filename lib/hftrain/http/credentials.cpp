#include "hftrain/http/credentials.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string_view>
#include <utility>

#include "hftrain/base/secrets.h"
#include "hftrain/http/client.h"

namespace hftrain::http {
namespace {

std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto is_digit = [&](size_t at) {
      return at < text.size() && std::isxdigit(static_cast<unsigned char>(text[at])) != 0;
    };
    const bool escape = text[i] == '%' && is_digit(i + 1) && is_digit(i + 2);
    plain += escape ? static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16)) : text[i];
    if (escape) i += 2;
  }
  return plain;
}

std::string base64_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t begin = 0; begin < bytes.size(); begin += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - begin);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < count ? static_cast<unsigned char>(bytes[begin + i]) : 0U);
    for (size_t i = 0; i < 4; ++i) text += i <= count ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

}  // namespace

Credentials credentials_in(const std::string& url) {
  constexpr std::string_view kScheme = "://";
  const size_t scheme = url.find(kScheme);
  if (scheme == std::string::npos) return {};
  const size_t begin = scheme + kScheme.size();
  const std::string_view authority =
      std::string_view(url).substr(begin, url.find_first_of("/?#", begin) - begin);
  const size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return {};
  const std::string_view found = authority.substr(0, at);
  const size_t colon = std::min(found.find(':'), found.size());
  return {unescaped(found.substr(0, colon)), unescaped(found.substr(std::min(colon + 1, found.size())))};
}

std::string without_password(std::string text, const Credentials& credentials) {
  if (credentials.empty()) return text;
  text = without_secret(std::move(text), base64_of(credentials.user + ':' + credentials.password),
                        "credentials");
  text = without_secret(std::move(text), Client::escaped(credentials.password), "password");
  return without_secret(std::move(text), credentials.password, "password");
}

}  // namespace hftrain::http
