// The one source that sees Gloo's headers. They come from Debian, the symbols from libtorch_cpu; libgloo.so
// is never linked (its layout differs), and visibility is hidden so that no inline copy gets out.
#include "hftrain/comm/gloo_backend.h"

#include <signal.h>

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "hftrain/comm/local_address.h"

namespace hftrain::comm {

namespace {

class GlooBackend final : public c10d::ProcessGroupGloo {
 public:
  using ProcessGroupGloo::ProcessGroupGloo;
  // Every operation under way fails here, and at once on the peers too. One that begins afterwards waits for its deadline.
  void abort() override {
    for (const auto& context : contexts_) context->closeConnections();
  }
};

// Gloo writes by writev, which cannot ask for no signal: the second write to a peer that has died would end this
// process before it could say who died. A handler that somebody has installed stays.
void let_writes_fail_without_a_signal() {
  struct sigaction current {};
  ::sigaction(SIGPIPE, nullptr, &current);
  if ((current.sa_flags & SA_SIGINFO) == 0 && current.sa_handler == SIG_DFL) ::signal(SIGPIPE, SIG_IGN);
}

// Of this machine, for ranks of others.
std::vector<std::string> addresses_of(const BackendRequest& request) {
  if (request.interfaces.empty()) return {local_address_towards(request.master_host)};
  return addresses_of_interfaces(request.interfaces);
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_gloo_backend(const BackendRequest& request) {
  using Gloo = c10d::ProcessGroupGloo;
  let_writes_fail_without_a_signal();
  auto options = Gloo::Options::create(request.timeout);
  if (request.one_machine) {
    options->devices.push_back(Gloo::createDeviceForInterface("lo", /*lazyInit=*/false));
  } else {
    for (const std::string& address : addresses_of(request))
      options->devices.push_back(Gloo::createDeviceForHostname(address, /*lazyInit=*/false));
  }
  options->threads = 2;  // one all-reduce may be summing while the next one is on the wire
  return c10::make_intrusive<GlooBackend>(request.store, request.rank, request.world_size,
                                          std::move(options));
}

}  // namespace hftrain::comm
