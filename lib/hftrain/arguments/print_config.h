// Arguments back as text: for --print_config, for the run directory and for trackers.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/base/json.h"

namespace hftrain::arguments {

// YAML that `--config` reads back. full: every flag that acts, or was given; minimal: what was given and differs from the default;
// origins: full, with the origin of every value as a comment behind it.
std::string print_config(const ParseOutcome& outcome, const std::string& mode);

// The words of a command line as they may be shown: values of flags that are secrets are "<NAME>".
std::vector<std::string> shown_words(std::span<const std::string> command_line);

// For the run directory: every argument with its origin, under the command line and the `facts` (versions,
// git state) as comments. Secrets are shown as <NAME>, those of `env:` in a comment, so that reading it back
// takes them from the environment.
std::string arguments_yaml(const ParseOutcome& outcome, std::span<const std::string> command_line,
                           const std::map<std::string, std::string>& facts = {});

// One flat object of all values. Secrets are shown as <NAME>.
Json arguments_json(const ParseOutcome& outcome);

}  // namespace hftrain::arguments
