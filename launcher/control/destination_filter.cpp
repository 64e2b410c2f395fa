#include "launcher/control/destination_filter.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

namespace hftrain::launcher {
namespace {

// Where the destination stands in a header (RFC 791, RFC 8200), and the version's byte.
constexpr uint32_t kHeader = static_cast<uint32_t>(SKF_NET_OFF);
constexpr uint32_t kDestination4 = kHeader + 16, kDestination6 = kHeader + 24;
constexpr uint32_t kWhole = UINT32_MAX;  // of the packet is kept

// Packets of this version of the protocol whose destination is these words are kept; any other goes on to what stands behind.
void append_rule(std::vector<sock_filter>& program, uint32_t version, uint32_t at,
                 const std::vector<uint32_t>& words) {
  const size_t end = program.size() + 3 + 2 * words.size() + 1;
  const auto unequal = [&] { return static_cast<uint8_t>(end - program.size() - 1); };
  program.push_back(BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kHeader));
  program.push_back(BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 4));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, version, 0, unequal()));
  for (size_t i = 0; i < words.size(); ++i) {
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at + static_cast<uint32_t>(4 * i)));
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, words[i], 0, unequal()));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, kWhole));
}

bool append_address(std::vector<sock_filter>& program, const std::string& text) {
  const std::string address = text.substr(0, text.find('%'));  // without its interface
  in_addr four{};
  if (::inet_pton(AF_INET, address.c_str(), &four) == 1) {
    append_rule(program, 4, kDestination4, {ntohl(four.s_addr)});
    return true;
  }
  std::array<uint32_t, 4> six{};
  if (::inet_pton(AF_INET6, address.c_str(), six.data()) != 1) return false;
  std::transform(six.begin(), six.end(), six.begin(), [](uint32_t word) { return ntohl(word); });
  append_rule(program, 6, kDestination6, {six.begin(), six.end()});
  return true;
}

}  // namespace

bool take_only_for(int socket, const std::vector<std::string>& addresses) {
  std::vector<sock_filter> program;
  for (const std::string& address : addresses) {
    if (append_address(program, address)) continue;
    errno = EINVAL;
    return false;
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, 0));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) == 0;
}

}  // namespace hftrain::launcher
