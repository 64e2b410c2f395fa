// A follower's part of the greeting (greeting.h): whether what answers at an address is node 0 of its job.
#pragma once

#include <optional>
#include <string>

#include "hftrain/base/error.h"
#include "launcher/control/job_key.h"
#include "launcher/control/line_socket.h"
#include "launcher/control/message.h"
#include "launcher/supervision/stop_signals.h"

namespace hftrain::launcher {

// Somebody answers who is not to be believed: not the end where another address may lead to node 0.
class NotBelieved : public Error {
 public:
  explicit NotBelieved(const Error& error) : Error(error) {}
};

// The follower, as it comes.
struct Applicant {
  Hello hello;
  std::string name;  // "node 1 (host-b)"
  JobKey key;
};

// The host of node 0, which has taken the applicant into its job. Nothing where what answers is no node 0: `why` then says what it
// did. Throws NotBelieved, an Error for a refusal by one that knows the secret, and what a stop signal means.
std::optional<std::string> greet_leader(LineSocket& socket, const Applicant& self, StopSignals& signals,
                                        std::string& why);

}  // namespace hftrain::launcher
