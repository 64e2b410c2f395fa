#include "hftrain/hub/access.h"

#include <algorithm>
#include <cstdlib>

#include "hftrain/base/error.h"
#include "hftrain/base/expanded_path.h"
#include "hftrain/base/file.h"
#include "hftrain/base/secrets.h"
#include "hftrain/base/text.h"

namespace hftrain::hub {
namespace {

std::string endpoint_of(const Environment& environment) {
  std::string endpoint = trim(environment.get_or("HF_ENDPOINT", ""));
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (endpoint.empty()) return Access().endpoint;
  const bool address = endpoint.starts_with("https://") || endpoint.starts_with("http://");
  if (!address || endpoint.find_first_of(" \t\r\n\"<>") != std::string::npos)
    throw Error(ExitCode::kUsage, "HF_ENDPOINT is no address")
        .where("HF_ENDPOINT=" + masked("HF_ENDPOINT", endpoint))
        .why("the Hub is spoken to over https:// or http://")
        .hint("leave it out for https://huggingface.co");
  return endpoint;
}

// It becomes a header: whatever ends a line would begin another one. Never shown.
std::string checked_token(const std::string& text, const std::string& origin) {
  std::string token = trim(text);
  const bool plain =
      std::all_of(token.begin(), token.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
  if (plain) return token;
  throw Error(ExitCode::kUsage, "the access token has characters that no token has")
      .where(origin)
      .why("it holds blanks, control characters or letters outside ASCII")
      .hint("copy it again from the page of your access tokens");
}

std::string implicit_token(const Environment& environment) {
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (const std::string token = environment.get_or(name, ""); !trim(token).empty())
      return checked_token(token, name);
  }
  const std::string file = token_file(environment);
  return path_exists(file) ? checked_token(read_file(file), file) : "";
}

std::string authorities_of(const Environment& environment) {
  for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}) {
    if (const std::string file = environment.get_or(name, ""); !file.empty()) return file;
  }
  return "";
}

}  // namespace

bool is_on(const Environment& environment, const std::string& variable) {
  const std::string value = to_lower(environment.get_or(variable, ""));
  return value == "1" || value == "on" || value == "yes" || value == "true";
}

std::string token_file(const Environment& environment) {
  const auto folder = [&](const char* name) {
    return expanded_path(environment.get_or(name, ""), environment);
  };
  if (const std::string path = folder("HF_TOKEN_PATH"); !path.empty()) return path;
  if (const std::string home = folder("HF_HOME"); !home.empty()) return home + "/token";
  if (const std::string cache = folder("XDG_CACHE_HOME"); !cache.empty()) return cache + "/huggingface/token";
  return environment.get_or("HOME", "") + "/.cache/huggingface/token";
}

Access read_access(const Environment& environment, const std::optional<std::string>& flag, bool stored) {
  Access access;
  access.endpoint = endpoint_of(environment);
  if (flag) {
    access.token = checked_token(*flag, "the flag of the token");
  } else if (stored || !is_on(environment, "HF_HUB_DISABLE_IMPLICIT_TOKEN")) {
    access.token = implicit_token(environment);
  }
  access.authorities = authorities_of(environment);
  const double seconds = std::strtod(environment.get_or("HF_HUB_DOWNLOAD_TIMEOUT", "").c_str(), nullptr);
  if (seconds >= 1) access.stall_seconds = std::min(seconds, 86400.0);
  access.sending_seconds = std::max(access.sending_seconds, access.stall_seconds);
  const bool said = !environment.get_or("HF_HUB_OFFLINE", "").empty();
  access.offline = is_on(environment, said ? "HF_HUB_OFFLINE" : "TRANSFORMERS_OFFLINE");
  return access;
}

}  // namespace hftrain::hub
