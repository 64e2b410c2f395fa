// How the agents of a job learn where agent 0 listens when nobody could know it beforehand: agent 0 binds a
// free port and hands the announcement of it out through whatever started the job. Nothing else goes this
// way; from then on the agents talk over their own connections (launcher/control).
//
// Called once, on the main thread, before any worker or any thread that takes locks is started: on agent 0
// publish(), on every other agent await(). The object is kept until all workers are over. An implementation
// may be collective (PMIx: all agents meet in one fence), so both may block until the slowest agent has come,
// and give up after `timeout_seconds`.
#pragma once

#include <memory>
#include <string>

#include "hftrain/base/environment.h"
#include "launcher/environments/job_place.h"

namespace hftrain::launcher {

class AddressExchange {
 public:
  virtual ~AddressExchange() = default;

  // An announcement is one printable line without spaces of at most kLongestAnnouncement bytes: addresses,
  // port and the job's token. It means nothing to the exchange.
  //
  // Both throw an Error (kEnvironment) that says what was tried, with whom, and why it failed.
  virtual void publish(const std::string& announcement, double timeout_seconds) = 0;
  virtual std::string await(double timeout_seconds) = 0;

  static constexpr size_t kLongestAnnouncement = 900;
};

// The exchange for place.meeting: none for kNone and kFixedAddress. `program` is the path of this executable
// (plug-ins lie in ../lib beside its folder), `environment` the one it was started with.
std::unique_ptr<AddressExchange> make_address_exchange(const JobPlace& place, const std::string& program,
                                                       const Environment& environment);

}  // namespace hftrain::launcher
