// The secret of a job, by which its agents know each other, as the user gave it.
#pragma once

#include <string>

#include "hftrain/arguments/arguments.h"
#include "hftrain/base/environment.h"

namespace hftrain::launcher {

constexpr const char* kSecretVariable = "HFTRAIN_JOB_SECRET";

// From the file of --rdzv_conf secret_file=PATH, else from HFTRAIN_JOB_SECRET; empty when neither is given.
// Throws an Error (kUsage) for a secret without a character, and for a file that cannot be read, is too long, is neither
// this user's nor root's, or that others may read or write.
std::string job_secret(const arguments::LaunchArguments& launch, const Environment& environment);

}  // namespace hftrain::launcher
