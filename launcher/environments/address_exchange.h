// How the agents of a job learn where agent 0 listens when nobody could know it beforehand: agent 0 binds a
// free port and hands the announcement of it out through whatever started the job. Nothing else goes this
// way; from then on the agents talk over their own connections (launcher/control).
//
// Called once, on the main thread, before any worker or any thread that takes locks is started: on agent 0
// publish(), on every other agent await(). The object is kept until all workers are over. An implementation
// may be collective (PMIx: all agents meet in one fence), so both may wait until the slowest agent has come;
// they give up after `wait.seconds`.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "hftrain/base/environment.h"
#include "launcher/environments/membership.h"

namespace hftrain::launcher {

// How long to wait, and who is listened to meanwhile.
struct ExchangeWait {
  ExchangeWait(double most_seconds) : seconds(most_seconds) {}  // NOLINT(google-explicit-constructor)

  double seconds;
  int wake = -1;                          // a descriptor: when it is readable, `on_wake` is called
  std::function<void()> on_wake = [] {};  // what it throws ends the wait
  double notice_seconds = 10;             // between two notices
  std::function<void(const std::string&)> on_notice = [](const std::string&) {};  // what is waited for
};

// One wait of an exchange, in turns.
class ExchangeTurns {
 public:
  // `wait` must outlive the object; `awaited` is for people.
  ExchangeTurns(const ExchangeWait& wait, std::string awaited);
  // True when `descriptor` has one of `events`, false when the time is over. Throws what `wait.on_wake`
  // throws.
  bool wait_for(int descriptor, short events);

 private:
  const ExchangeWait& wait_;
  std::string awaited_;
  double begin_, next_notice_;
};

class AddressExchange {
 public:
  virtual ~AddressExchange() = default;

  // An announcement is one printable line without spaces of at most kLongestAnnouncement bytes: addresses,
  // port and the job's token. It means nothing to the exchange.
  //
  // Both throw an Error (kEnvironment) that says what was tried, with whom, and why it failed, and what
  // `wait.on_wake` throws.
  virtual void publish(const std::string& announcement, const ExchangeWait& wait) = 0;
  virtual std::string await(const ExchangeWait& wait) = 0;

  // Agent 0, when all have come or nobody is waited for any more: the announcement is for nobody who comes later, as to the next
  // job in the same place. Throws as the others do.
  virtual void withdraw(const ExchangeWait&) {}

  static constexpr size_t kLongestAnnouncement = 900;
};

// The exchange for membership.meeting: none for kNone and kFixedAddress. `program` is the path of this executable
// (plug-ins lie in ../lib beside its folder), `environment` the one it was started with.
std::unique_ptr<AddressExchange> make_address_exchange(const Membership& membership,
                                                       const std::string& program,
                                                       const Environment& environment);

}  // namespace hftrain::launcher
