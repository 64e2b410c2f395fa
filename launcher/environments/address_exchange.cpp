#include "launcher/address_exchange.h"

#include <filesystem>

#include "launcher/environments/pmix_exchange.h"
#include "launcher/environments/store_exchange.h"

namespace hftrain::launcher {

std::unique_ptr<AddressExchange> make_address_exchange(const JobPlace& place, const std::string& program,
                                                       const Environment& environment) {
  switch (place.meeting) {
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
      return std::make_unique<StoreExchange>(place.master_host, place.master_port, "hftrain/leader/" + start);
    }
  }
  return nullptr;
}

}  // namespace hftrain::launcher
