// Requests to a server over HTTP and TLS: libcurl, opened when the first client is made and not before, so that a run
// which talks to no server needs none of it. Redirects are not followed: who asks knows what may go where.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hftrain::http {

struct Answer {
  long status = 0;  // 0: there was no answer, or only a part of one
  std::string
      body;  // at most kLargestAnswer bytes; of one that is not 2xx the beginning, which has its message
  std::string failure;     // why there was none
  bool permanent = false;  // and will be none: the address or a certificate has to be another one
  bool silent = false;     // nothing came, or moved, as long as Options says
  std::map<std::string, std::string> headers = {};  // names in lower case
};

// A part of a file that is sent as the body of a PUT.
struct FilePart {
  std::string path;
  uint64_t offset = 0, size = 0;  // bytes
};

struct Request {
  std::string url;                        // may hold a user and a password
  std::string body = {};                  // empty: a GET, otherwise a POST
  std::vector<std::string> headers = {};  // "Name: value"
  std::optional<FilePart> upload = {};    // a PUT
  // Over a connection of its own: what is sent over one that was kept, and closed meanwhile, libcurl sends again by itself.
  bool once = false;
  // Gets the body of a 2xx in pieces in the place of Answer::body; `head` has the status and all headers. False ends
  // the request.
  std::function<bool(const Answer& head, std::string_view piece)> take = {};
};

struct Options {
  // Of one request; a third of it to connect.
  double seconds = 30;
  // Count only seconds in which nothing moves: for requests as long as a file is large. What is answered, if it is no file,
  // comes within `seconds` nevertheless.
  bool only_stalls = false;
  double quiet_seconds =
      0;  // in which nothing moves, or no connection comes, end it before that; 0: `seconds` alone
  std::string user = {}, password = {};     // of HTTP's basic authentication; both empty: none
  std::string authorities = {};             // file of certificates to trust; empty: the system's
  bool verify = true;                       // the server's certificate
  const std::atomic<bool>* stop = nullptr;  // true ends a request within a second or so
};

// Keeps its connection. Used by one thread at a time.
class Client {
 public:
  static constexpr size_t kLargestAnswer = size_t{1} << 26;

  // Error(kEnvironment) without the library.
  explicit Client(Options options);
  ~Client();
  Answer send(const Request& request);
  // As it stands in a query: "a b" is "a%20b".
  static std::string escaped(const std::string& text);

 private:
  struct Curl;
  std::unique_ptr<Curl> curl_;
  Options options_;
};

}  // namespace hftrain::http
