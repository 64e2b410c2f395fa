// Answers a browser on this machine: HTTP/1.1 on 127.0.0.1, GET and HEAD, a connection per request. Made for one page that
// one person looks at; whoever names another host than the loopback one (a page elsewhere whose name was bent to this
// address) is refused.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <string_view>

#include "hftrain/base/file.h"

namespace hftrain::report {

struct Answer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

// What a whole request head, up to its empty line, is answered with, as bytes; `answer` gives the body for a path.
std::string response_to(std::string_view head, const std::function<Answer(std::string_view path)>& answer);

class PageServer {
 public:
  // Listens on 127.0.0.1; a `port` of 0 takes a free one. Error(kEnvironment) where it is taken.
  explicit PageServer(int port);
  int port() const { return port_; }
  // Serves, on this thread, until `stop` is readable.
  void run(int stop, const std::function<Answer(std::string_view path)>& answer);

 private:
  struct Connection {
    FileDescriptor socket;
    std::string request = {}, response = {};
    size_t sent = 0;
    double since = 0;  // monotonic seconds: accepted, answered, or the last bytes sent
  };

  // Where the process has no descriptor left the oldest connection makes room; without one nobody is accepted for a while.
  void accept_one();
  // False when the connection is over.
  bool read_from(Connection& connection, const std::function<Answer(std::string_view path)>& answer) const;
  static bool write_to(Connection& connection);

  FileDescriptor listener_;
  int port_ = 0;
  std::list<Connection> connections_;
  double accepts_from_ = 0;  // monotonic seconds
};

}  // namespace hftrain::report
