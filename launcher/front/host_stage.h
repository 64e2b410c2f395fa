// A run over the machines of a host file, from the machine where it was started.
#pragma once

#include <string>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/base/json.h"
#include "hftrain/reporting/console.h"
#include "launcher/front/command_context.h"
#include "launcher/ssh/host_job.h"

namespace hftrain::front {

// What `arguments` (the command line after the program's name) starts on every machine of the host file; says
// so. Call only when launcher::starts_hosts() says so.
launcher::HostJobSpec host_job(const CommandContext& context, const std::vector<std::string>& arguments,
                               const arguments::ParseOutcome& parsed, reporting::Console& console);

// Starts it and waits for all of them.
ExitCode run_on_hosts(const CommandContext& context, launcher::HostJobSpec spec, reporting::Console& console);

// For a dry run: for people, and a list of {host, here, argv, env}.
std::string describe_machines(const launcher::HostJobSpec& spec);
Json machine_list(const launcher::HostJobSpec& spec);

}  // namespace hftrain::front
