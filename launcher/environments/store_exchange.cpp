#include "launcher/environments/store_exchange.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "launcher/control/addresses.h"

namespace hftrain::launcher {
namespace {

// Numbers of the requests, and what says that a client speaks this protocol.
enum class Request : uint8_t { kValidate = 0, kSet = 1, kGet = 3, kWait = 6, kDelete = 8, kPing = 13 };
constexpr uint32_t kMagic = 0x3C85F7CE;
constexpr uint8_t kAvailable = 0;  // the answer to kWait

class StoreClient {
 public:
  StoreClient(const std::string& host, int port, const ExchangeWait& wait)
      : name_(host + ':' + std::to_string(port)),
        turns_(wait, "the first rank to say through the store of torchrun's agent at " + name_ +
                         " where it listens") {
    connect(host, port);
    put(Request::kValidate);
    put(kMagic);
    constexpr uint32_t kNonce = 0x68667472;
    put(Request::kPing);
    put(kNonce);
    send_all();
    if (take<uint32_t>() != kNonce) throw failure("what answers there is not the store of torchrun");
  }

  void set(const std::string& key, const std::string& value) {
    put(Request::kSet);
    put_text(key);
    put_text(value);
    send_all();
  }

  void remove(const std::string& key) {
    put(Request::kDelete);
    put_text(key);
    send_all();
    take<int64_t>();  // how many there were
  }

  std::string wait_and_get(const std::string& key) {
    put(Request::kWait);
    put(uint64_t{1});
    put_text(key);
    send_all();
    if (take<uint8_t>() != kAvailable) throw failure("it refused to wait for the first rank's address");
    put(Request::kGet);
    put_text(key);
    send_all();
    const auto size = take<uint64_t>();
    if (size > AddressExchange::kLongestAnnouncement) throw failure("what stands there is no address");
    std::string value(static_cast<size_t>(size), '\0');
    receive(value.data(), value.size());
    return value;
  }

 private:
  void connect(const std::string& host, int port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* first = nullptr;
    const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &first);
    if (code != 0) throw failure("MASTER_ADDR=" + host + " cannot be resolved: " + ::gai_strerror(code));
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(first, &::freeaddrinfo);
    std::string why = "no address";
    for (const addrinfo* each = first; each != nullptr; each = each->ai_next) {
      why = begin_connect(*each, nullptr, socket_);
      if (!why.empty()) continue;
      wait_for(POLLOUT);
      why = connect_failure(socket_.get());
      if (why.empty()) return;
    }
    throw failure(why);
  }

  template <typename Value>
  void put(Value value) {
    outgoing_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void put_text(const std::string& text) {
    put(static_cast<uint64_t>(text.size()));
    outgoing_.append(text);
  }

  void send_all() {
    size_t sent = 0;
    while (sent < outgoing_.size()) {
      const ssize_t size =
          ::send(socket_.get(), outgoing_.data() + sent, outgoing_.size() - sent, MSG_NOSIGNAL);
      if (size >= 0) {
        sent += static_cast<size_t>(size);
      } else if (errno == EAGAIN || errno == EINTR) {
        wait_for(POLLOUT);
      } else {
        throw failure(std::strerror(errno));
      }
    }
    outgoing_.clear();
  }

  template <typename Value>
  Value take() {
    Value value{};
    receive(reinterpret_cast<char*>(&value), sizeof(value));
    return value;
  }
  void receive(char* bytes, size_t count) {
    for (size_t got = 0; got < count;) {
      const ssize_t size = ::recv(socket_.get(), bytes + got, count - got, 0);
      if (size > 0) {
        got += static_cast<size_t>(size);
      } else if (size == 0) {
        throw failure("it closed the connection");
      } else if (errno == EAGAIN || errno == EINTR) {
        wait_for(POLLIN);
      } else {
        throw failure(std::strerror(errno));
      }
    }
  }

  void wait_for(short events) {
    if (turns_.wait_for(socket_.get(), events)) return;
    throw failure("no answer in time: the first rank has not announced itself, or the network is cut");
  }

  Error failure(const std::string& why) const {
    return Error(ExitCode::kEnvironment, "the ranks that torchrun started cannot meet")
        .where("the store of torchrun's agent at " + name_ + " (MASTER_ADDR, MASTER_PORT)")
        .why(why)
        .hint(
            "see what torchrun says; `hftrain --nnodes … --nproc_per_node …` needs no torchrun; --standalone "
            "ignores variables that another torchrun has left");
  }

  std::string name_;
  ExchangeTurns turns_;
  FileDescriptor socket_;
  std::string outgoing_;
};

}  // namespace

void StoreExchange::publish(const std::string& announcement, const ExchangeWait& wait) {
  StoreClient client(host_, port_, wait);
  client.set(key_, announcement);
  // A request without an answer may still be on its way when the connection closes; this one has an answer.
  client.wait_and_get(key_);
}

void StoreExchange::withdraw(const ExchangeWait& wait) {
  StoreClient(host_, port_, wait).remove(key_);
}

std::string StoreExchange::await(const ExchangeWait& wait) {
  return StoreClient(host_, port_, wait).wait_and_get(key_);
}

}  // namespace hftrain::launcher
