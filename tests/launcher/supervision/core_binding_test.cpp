#include "launcher/supervision/core_binding.h"

#include <poll.h>
#include <unistd.h>

#include "hftrain/base/error.h"
#include "launcher/process/child_process.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::launcher {
namespace {

using Cpus = std::vector<std::vector<int>>;
const std::optional<int> kUnknown;

// Two sockets of one node each; a node has four cores with two threads (n and n + 8) and two caches.
std::vector<machine::Cpu> two_sockets() {
  std::vector<machine::Cpu> map;
  for (int number = 0; number < 16; ++number) {
    const int core = number % 8, node = core / 4;
    map.push_back({number, core, core / 2 * 2, node, node});
  }
  return map;
}

Cpus bind(Binding binding, std::vector<std::optional<int>> nodes) {
  return bind_ranks(binding, two_sockets(), nodes, "--flag");
}

}  // namespace

TEST_CASE("ranks are bound to the node or the socket of their GPU") {
  const std::vector<int> first{0, 1, 2, 3, 8, 9, 10, 11}, second{4, 5, 6, 7, 12, 13, 14, 15};
  CHECK(bind(Binding::kNode, {1, 0}) == Cpus{second, first});
  CHECK(bind(Binding::kSocket, {1, 1}) == Cpus{second, second});
}

TEST_CASE("ranks without a known node are spread over the nodes, neighbours together") {
  const Cpus cpus = bind(Binding::kExclusive, {kUnknown, kUnknown, kUnknown, kUnknown});
  CHECK(cpus == Cpus{{0, 1, 8, 9}, {2, 3, 10, 11}, {4, 5, 12, 13}, {6, 7, 14, 15}});
}

TEST_CASE("exclusive cores are whole and no two ranks share one") {
  CHECK(bind(Binding::kExclusive, {0, 0, 0}) == Cpus{{0, 8}, {1, 9}, {2, 3, 10, 11}});
  CHECK_REFUSED(bind(Binding::kExclusive, {0, 0, 0, 0, 0}), "5 ranks cannot have cores of their own");
}

TEST_CASE("core complexes are taken in turn") {
  CHECK(bind(Binding::kCoreComplex, {1, 1, 1}) == Cpus{{4, 5, 12, 13}, {6, 7, 14, 15}, {4, 5, 12, 13}});
}

TEST_CASE("own cores come from the whole machine, wherever the GPUs are") {
  CHECK(bind(Binding::kOwnCores, {1, 1})[0] == std::vector<int>{0, 1, 2, 3, 8, 9, 10, 11});
}

TEST_CASE("a worker runs on the CPUs that it was bound to", "[process]") {
  const int last = machine::allowed_cpus().back();
  ChildProcess child({.argv = {"/bin/sh", "-c", "grep Cpus_allowed_list /proc/self/status"},
                      .environment = Environment::of_process(),
                      .descriptors = {},
                      .cpus = {last}});
  std::string said;
  char part[256];
  pollfd output{child.standard_output().get(), POLLIN, 0};
  for (ssize_t count = 1; count > 0;) {
    REQUIRE(::poll(&output, 1, 60000) == 1);
    count = ::read(output.fd, part, sizeof(part));
    if (count > 0) said.append(part, static_cast<size_t>(count));
  }
  CHECK(said == "Cpus_allowed_list:\t" + std::to_string(last) + "\n");
}

}  // namespace hftrain::launcher
