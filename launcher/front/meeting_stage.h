// Between the arguments and a plan, when a job has several front programs: what this one tells the others of
// itself.
#pragma once

#include <string>

#include "launcher/control/meeting.h"
#include "launcher/environments/membership.h"
#include "launcher/front/command_context.h"
#include "launcher/front/inputs.h"

namespace hftrain::front {

// This front program's part of the meeting; `exchange` is kept by the caller. Throws as job_secret() does.
launcher::MeetingSpec meeting_spec(const CommandContext& context, const Inputs& inputs,
                                   const launcher::Membership& membership,
                                   launcher::AddressExchange* exchange);

// For a dry run: throws as job_secret() does where the run would open the secret.
void check_secret(const Inputs& inputs, const launcher::Membership& membership);
// For a dry run: throws as the meeting does where --local_addr is no address of this machine.
void check_local_address(const launcher::Membership& membership);
// For a dry run: throws as the meeting does where this agent is to listen at a given port that is taken.
void check_meeting_port(const Inputs& inputs, const launcher::Membership& membership);
// For a dry run: the agents of the job, all taken to be like this one.
std::vector<plan::AgentFacts> assumed_agents(const CommandContext& context, const Inputs& inputs,
                                             const launcher::Membership& membership);

// Equal for equal programs: over hftrain, what its ranks are started with and, where that is a program of the user's
// (`own`), the library that it does so with, as they are installed here.
std::string build_of(const std::string& program, const std::string& worker, bool own);

}  // namespace hftrain::front
