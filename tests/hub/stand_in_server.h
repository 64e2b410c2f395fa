// A server on the loopback address for one test, which answers as badly as it is told to.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "hftrain/base/file.h"

namespace hftrain::testing {

class StandInServer {
 public:
  // Called in the server's thread with a connection and the whole request; what it does not write does not come. The connection ends
  // with it.
  using Answer = std::function<void(int connection, const std::string& request)>;

  explicit StandInServer(Answer answer);
  ~StandInServer();  // waits for the answer that is being given

  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int requests() const { return requests_; }
  bool is_over() const { return over_; }  // for an answer that has no end

  // An answer with that body; of JSON, as all of the Hub.
  static void say(int connection, int status, const std::string& body);
  // False when the other side has gone.
  static bool write(int connection, const std::string& bytes);
  // Until the other side has gone.
  static void say_nothing(int connection);

 private:
  void serve();

  Answer answer_;
  FileDescriptor socket_;
  int port_ = 0;
  std::atomic<int> requests_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace hftrain::testing
