#include "launcher/supervision/rendezvous.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "launcher/control/addresses.h"

namespace hftrain::launcher {
namespace {

namespace fs = std::filesystem;

// Inodes of the sockets that listen on `port`, from the kernel's table (proc(5): local address is field 2,
// state 0A is LISTEN, the inode is field 10).
std::set<std::string> listening_inodes(int port) {
  std::set<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      const std::vector<std::string> fields = split_words(line);
      if (fields.size() < 10 || fields[3] != "0A") continue;
      const size_t colon = fields[1].rfind(':');
      if (colon == std::string::npos || std::stoi(fields[1].substr(colon + 1), nullptr, 16) != port) continue;
      inodes.insert("socket:[" + fields[9] + "]");
    }
  }
  return inodes;
}

bool holds_any(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(process / "fd", ignored)) {
    const fs::path target = fs::read_symlink(entry.path(), ignored);
    if (!ignored && sockets.contains(target.string())) return true;
  }
  return false;
}

std::string command_of(const fs::path& process) {
  std::stringstream text;
  text << std::ifstream(process / "cmdline").rdbuf();
  std::string command = text.str();
  std::replace(command.begin(), command.end(), '\0', ' ');
  return trim(command).substr(0, 200);
}

// Nobody has asked for port 0: it stands for any that is free.
Error no_free_port() {
  std::string range;
  std::getline(std::ifstream("/proc/sys/net/ipv4/ip_local_port_range"), range);
  return Error(ExitCode::kEnvironment, "there is no free port to listen on")
      .where("net.ipv4.ip_local_port_range" + (range.empty() ? "" : " = " + join(split_words(range), " to ")))
      .why("all ports that this machine hands out are in use, or stay taken for a minute after they were")
      .hint(
          "end what has so many connections (ss -s counts them), or let the system hand out more ports "
          "(sysctl)");
}

}  // namespace

Error cannot_listen(int port, int error_number, const std::string& flag) {
  if (port == 0 && error_number == EADDRINUSE) return no_free_port();
  Error error(ExitCode::kEnvironment, "cannot listen on port " + std::to_string(port));
  error.where(flag).hint("another port or address");
  if (error_number != EADDRINUSE) return error.why(std::strerror(error_number));
  const std::string holder = port_holder(port);
  error.why("it is in use" + (holder.empty() ? std::string() : " by " + holder));
  error.hint("another port, or end that process");
  return error;
}

bool is_listened_at(int port) {
  return !listening_inodes(port).empty();
}

std::string port_holder(int port) {
  const std::set<std::string> sockets = listening_inodes(port);
  if (sockets.empty()) return "";
  std::error_code ignored;
  for (const fs::directory_entry& process : fs::directory_iterator("/proc", ignored)) {
    const std::string pid = process.path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos || !holds_any(process.path(), sockets))
      continue;
    return "pid " + pid + " (" + command_of(process.path()) + ")";
  }
  return "";
}

// A datagram socket that connects sends nothing: the kernel looks for the way.
void require_loopback() {
  const FileDescriptor probe(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(1);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!probe || ::connect(probe.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return;
  throw Error(ExitCode::kEnvironment, "the ranks of this machine cannot reach each other")
      .where("127.0.0.1")
      .why(std::strerror(errno))
      .hint("bring the loopback interface up (ip link set lo up), or train with one rank");
}

Rendezvous bind_rendezvous(int port) {
  Rendezvous rendezvous;
  rendezvous.listener.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!rendezvous.listener) throw cannot_listen(port, errno, "--master_port");
  if (port != 0) {
    // A run that has just ended leaves its port in TIME_WAIT; only a live listener is a conflict.
    const int on = 1;
    ::setsockopt(rendezvous.listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (::bind(rendezvous.listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(rendezvous.listener.get(), SOMAXCONN) != 0 ||
      ::getsockname(rendezvous.listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw cannot_listen(port, errno, "--master_port");
  }
  rendezvous.port = ntohs(address.sin_port);
  return rendezvous;
}

Rendezvous bind_rendezvous_at(const std::set<std::string>& addresses) {
  Rendezvous rendezvous;
  const std::vector<std::string> only(addresses.begin(), addresses.end());
  // The store takes one socket.
  rendezvous.listener = only.size() == 1 ? std::move(listen_at(only, 0, "--master_port").front())
                                         : listen_by_one_socket(only, 0, "--master_port");
  // Rank 0 waits in accept().
  ::fcntl(rendezvous.listener.get(), F_SETFL, 0);
  rendezvous.port = port_of(rendezvous.listener.get());
  rendezvous.address = only.front();
  return rendezvous;
}

}  // namespace hftrain::launcher
