#include "launcher/address_exchange.h"

#include "hftrain/base/error.h"

namespace hftrain::launcher {

std::unique_ptr<AddressExchange> make_address_exchange(const JobPlace& place, const std::string& /*program*/,
                                                       const Environment& /*environment*/) {
  if (place.meeting == Meeting::kNone || place.meeting == Meeting::kFixedAddress) return nullptr;
  throw Error(ExitCode::kEnvironment, "front programs started by " + place.started_by + " cannot meet")
      .why("this program knows no way yet to pass an address through it")
      .hint("start one per machine with --nnodes, --node_rank, --master_addr and --master_port");
}

}  // namespace hftrain::launcher
