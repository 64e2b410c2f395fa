// Requests to a server over HTTP and TLS: libcurl, opened when the first client is made and not before, so that a run
// which talks to no server needs none of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace hftrain::reporting {

struct HttpRequest {
  std::string url;                   // may hold a user and a password
  std::string body;                  // empty: a GET, otherwise a POST
  std::vector<std::string> headers;  // "Name: value"
};

struct HttpAnswer {
  long status = 0;         // 0: there was no answer
  std::string body;        // at most kLargestAnswer bytes
  std::string failure;     // why there was none
  bool permanent = false;  // and will be none: the address or a certificate has to be another one
};

struct HttpOptions {
  double seconds = 30;         // of one request; a third of it to connect
  std::string user, password;  // of HTTP's basic authentication; both empty: none
  std::string authorities;     // file of certificates to trust; empty: the system's
  bool verify = true;          // the server's certificate
};

// Keeps its connection. Used by one thread at a time.
class HttpClient {
 public:
  static constexpr size_t kLargestAnswer = size_t{1} << 20;

  // Error(kEnvironment) without the library.
  explicit HttpClient(HttpOptions options);
  ~HttpClient();
  HttpAnswer send(const HttpRequest& request);
  // As it stands in a query: "a b" is "a%20b".
  static std::string escaped(const std::string& text);

 private:
  struct Curl;
  std::unique_ptr<Curl> curl_;
  HttpOptions options_;
};

}  // namespace hftrain::reporting
