// What a run is like while it trains: speed and memory over its steps.
#pragma once

#include <map>
#include <string>

#include "hftrain/report/run.h"

namespace hftrain::report {

inline constexpr const char* kTokensPerSecond = "tokens per second";
inline constexpr const char* kMemory = "memory of rank 0, GiB";

// From events.jsonl; without one, tokens per second from the times of the logged records, evaluations and saves included.
std::map<std::string, Series> samples_of(const Run& run);

}  // namespace hftrain::report
