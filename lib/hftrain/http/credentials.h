// The name and password of HTTP's basic authentication (RFC 7617).
#pragma once

#include <string>

namespace hftrain::http {

struct Credentials {
  std::string user = {}, password = {};

  bool empty() const { return user.empty() && password.empty(); }
};

// "user:password@" of an address, as libcurl reads them: %40 is an @. Empty: it has none.
Credentials credentials_in(const std::string& url);

// What a server says and people are shown, which may repeat the request: without the password, alone or as it was sent. The name of
// the user by itself stays.
std::string without_password(std::string text, const Credentials& credentials);

}  // namespace hftrain::http
