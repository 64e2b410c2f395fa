// A rank that meets all others once and leaves: what a launcher itself costs. Started by any launcher that
// sets RANK and WORLD_SIZE. Rank 0 listens, on --store-fd or on port BARRIER_PORT, the others connect to port
// MASTER_PORT or BARRIER_PORT of this machine; when all are there everybody writes the time to
// BARRIER_FILE.<rank> and leaves.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "hftrain/base/clock.h"
#include "hftrain/plan/worker_protocol.h"

namespace {

using hftrain::plan::WorkerEvent;

int number(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : otherwise;
}

sockaddr_in local_address(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int listen_on(int port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const sockaddr_in address = local_address(port);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return -1;
  return ::listen(listener, SOMAXCONN) == 0 ? listener : -1;
}

bool gather(int listener, int others) {
  std::vector<int> connections;
  while (static_cast<int>(connections.size()) < others) {
    const int connection = ::accept(listener, nullptr, nullptr);
    if (connection < 0) return false;
    connections.push_back(connection);
  }
  for (const int connection : connections) {
    if (::write(connection, "!", 1) != 1) return false;
  }
  return true;
}

bool join(int port) {
  const sockaddr_in address = local_address(port);
  for (;;) {
    const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
      char go = 0;
      return ::read(connection, &go, 1) == 1;
    }
    ::close(connection);  // rank 0 does not listen yet
    const timespec moment{0, 1'000'000};
    ::nanosleep(&moment, nullptr);
  }
}

void send(int control, WorkerEvent::Kind kind, hftrain::Json data) {
  if (control < 0) return;
  const std::string line = hftrain::plan::encode_event({kind, 0, hftrain::unix_seconds(), std::move(data)});
  [[maybe_unused]] const ssize_t written = ::write(control, line.data(), line.size());
}

}  // namespace

int main(int argc, char** argv) {
  int control = -1, listener = -1;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--control-fd") == 0) control = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--store-fd") == 0) listener = std::atoi(argv[i + 1]);
  }
  const int rank = number("RANK", 0), world = number("WORLD_SIZE", 1);
  const int port = number("BARRIER_PORT", number("MASTER_PORT", 0));
  if (rank == 0 && listener < 0) listener = listen_on(port);
  if (!(rank == 0 ? gather(listener, world - 1) : join(port))) return 1;
  const std::string file = std::string(std::getenv("BARRIER_FILE")) + '.' + std::to_string(rank);
  std::ofstream(file) << std::to_string(hftrain::monotonic_seconds()) << '\n';
  send(control, WorkerEvent::Kind::kReady, hftrain::Json::object());
  send(control, WorkerEvent::Kind::kFinished,
       {{"exit_code", 0}, {"reason", "met"}, {"stats", hftrain::Json::object()}});
  return 0;
}
