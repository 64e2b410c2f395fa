// What the two sides of a meeting have in common (gathering.cpp, joining.cpp): who they say they are, and how long they wait.
#pragma once

#include <string>

#include "launcher/control/meeting.h"
#include "launcher/control/message.h"
#include "launcher/environments/address_exchange.h"

namespace hftrain::launcher {

constexpr double kGatherSeconds = 300;  // for agents that are still to be started

Hello hello_of(const MeetingSpec& spec);

// How long this agent looks for the others: as the user said, or else `otherwise`; one that has failed, kTellSeconds at most.
double patience_of(const MeetingSpec& spec, double otherwise);

// The same for an exchange, which a stop signal ends.
ExchangeWait exchange_wait(const MeetingSpec& spec, double seconds, StopSignals& signals,
                           const NoticeSink& notice);

// The end of a hint: what waits longer than so.
std::string way_to_wait_longer(double seconds);

}  // namespace hftrain::launcher
