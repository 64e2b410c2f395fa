#include "launcher/control/leader_place.h"

#include <algorithm>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "launcher/control/addresses.h"
#include "launcher/control/warning_notice.h"

namespace hftrain::launcher {
namespace {

Error no_address(const Membership& membership) {
  return Error(ExitCode::kEnvironment, "this machine has no address at which node 0 could listen")
      .where("--master_addr " + membership.master_host)
      .why("no network interface of it is up")
      .hint("bring one up (`ip address` shows them), then start the job again");
}

}  // namespace

void look_at_own_name(const Membership& membership, const NoticeSink& notice) {
  const std::string& host = membership.master_host;
  std::string why;
  const std::vector<std::string> named = addresses_of(host, why), own = own_addresses();
  const std::string here = "this machine has " + join(own, ", ");
  if (named.empty()) {
    throw Error(ExitCode::kEnvironment, "no machine can find node 0")
        .where("--master_addr " + host)
        .why(why)
        .hint("a name that all machines know, or an address; " + here);
  }
  if (own.empty()) throw no_address(membership);
  const bool is_own = std::any_of(named.begin(), named.end(), [&](const std::string& address) {
    return address.rfind("127.", 0) == 0 || std::find(own.begin(), own.end(), address) != own.end();
  });
  if (!is_own) {
    notice(kWarningNotice + host + " (" + join(named, ", ") + ") is not this machine, which is node 0: " +
           here + "; the others find it there only if connections are passed on to it");
  }
}

std::vector<std::string> meeting_addresses(const Membership& membership, bool has_secret) {
  if (!membership.local_address.empty()) return {membership.local_address};
  if (has_secret) return {};
  std::string why;
  return addresses_to_listen_at(membership.master_host, addresses_of(membership.master_host, why),
                                own_addresses());
}

// Whoever knows the secret may come from anywhere. Without one only the job's own interface is open.
std::vector<std::string> listening_addresses(const Membership& membership, bool has_secret,
                                             const NoticeSink& notice) {
  std::vector<std::string> chosen = meeting_addresses(membership, has_secret);
  if (!membership.local_address.empty() || has_secret) return chosen;
  if (chosen.empty()) throw no_address(membership);
  if (!any_from_outside(chosen)) return chosen;
  notice("this job has no secret: node 0 listens only at " + join(chosen, ", ") + " port " +
         std::to_string(membership.master_port) +
         ", and takes whoever comes there (HFTRAIN_JOB_SECRET, --rdzv_conf secret_file=PATH)");
  return chosen;
}

}  // namespace hftrain::launcher
