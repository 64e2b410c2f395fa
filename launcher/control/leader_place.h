// Where agent 0 listens for the others, and whether they find it there.
#pragma once

#include <string>
#include <vector>

#include "launcher/control/meeting.h"

namespace hftrain::launcher {

// The others look for node 0 where the user said that it is: an Error (kEnvironment) where no machine can find it, a notice where
// it is not this one.
void look_at_own_name(const Membership& membership, const NoticeSink& notice);

// With a secret everywhere, which is none of these, else at the job's own interface, of which a machine without a network has
// none.
std::vector<std::string> meeting_addresses(const Membership& membership, bool has_secret);

// The same, for agent 0 that begins to listen: an Error (kEnvironment) for none, and a notice where strangers may come.
std::vector<std::string> listening_addresses(const Membership& membership, bool has_secret,
                                             const NoticeSink& notice);

}  // namespace hftrain::launcher
