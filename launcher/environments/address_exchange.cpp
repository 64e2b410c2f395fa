#include "launcher/environments/address_exchange.h"

#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/text.h"
#include "launcher/environments/pmix_exchange.h"
#include "launcher/environments/store_exchange.h"

namespace hftrain::launcher {

ExchangeTurns::ExchangeTurns(const ExchangeWait& wait, std::string awaited)
    : wait_(wait),
      awaited_(std::move(awaited)),
      begin_(monotonic_seconds()),
      next_notice_(begin_ + wait.notice_seconds) {}

bool ExchangeTurns::wait_for(int descriptor, short events) {
  const double end = begin_ + wait_.seconds;
  while (true) {
    pollfd watched[2] = {{descriptor, events, 0}, {wait_.wake, POLLIN, 0}};
    ::poll(watched, 2, milliseconds_until(std::min(end, next_notice_)));
    if (watched[1].revents != 0) wait_.on_wake();
    if (watched[0].revents != 0) return true;
    const double now = monotonic_seconds();
    if (now >= end) return false;
    if (now < next_notice_) continue;
    next_notice_ = now + wait_.notice_seconds;
    wait_.on_notice("still waiting for " + awaited_ + " (" + format_duration(now - begin_) + ")");
  }
}

std::unique_ptr<AddressExchange> make_address_exchange(const Membership& membership,
                                                       const std::string& program,
                                                       const Environment& environment) {
  switch (membership.meeting) {
    case Meeting::kNone:
    case Meeting::kFixedAddress:
      break;
    case Meeting::kPmix: {
      const std::filesystem::path folder = std::filesystem::path(program).parent_path().parent_path() / "lib";
      return std::make_unique<PmixExchange>((folder / "libhftrain_pmix.so").string());
    }
    case Meeting::kAgentStore: {
      // torchrun keeps its store when it starts the ranks again: an old announcement must not be found.
      const std::string start = environment.get_or("TORCHELASTIC_RESTART_COUNT", "0");
      return std::make_unique<StoreExchange>(membership.master_host, membership.master_port,
                                             "hftrain/leader/" + start);
    }
  }
  return nullptr;
}

}  // namespace hftrain::launcher
