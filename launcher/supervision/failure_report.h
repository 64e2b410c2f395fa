// The one report of a failed job: which rank failed first, the likely cause, its last lines, what to try,
// where its logs are, and which failures merely followed. Made once by the supervisor; the application prints
// it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "launcher/supervision/verdict.h"

namespace hftrain::launcher {

struct FailureReport {
  int rank = 0;
  Diagnostic summary;                   // what, where, why, what to try
  std::vector<std::string> last_lines;  // of that rank, oldest first
  std::string logs;                     // its folder
  std::vector<std::string> follow_ons;  // "rank 2: ended by the launcher"
  std::vector<std::string> stack;       // of that rank, innermost frame first, when it could be had

  // For a terminal, without a trailing newline.
  std::string render() const;
};

// What the report is made of beside the verdict.
struct ReportFacts {
  std::vector<std::string> last_lines;
  std::string logs;
  std::optional<uint64_t> memory_limit_bytes;  // of the control group
};

// Of a worker that the system gave no memory to be loaded into; `limit`: of its address space, if it is known to have one.
std::string why_no_memory(std::optional<uint64_t> limit);

// Of a worker that ended with 127 before it said anything; `lines`: its last ones. The other parts are as in `report`.
Diagnostic explain_not_loaded(const std::vector<std::string>& lines, Diagnostic report);

// `verdict.culprit` must be set.
FailureReport make_failure_report(const JobRecord& job, const Verdict& verdict, ReportFacts facts);

// The record that is kept beside a failed rank's logs as error.json: rank, pid, device, step, how it ended,
// what its status page said, the worker's own account where it gave one, and what was seen of every rank
// when something hung.
Json crash_record(const WorkerRecord& worker, const FailureReport& report, const JobRecord& job);

// How a worker ended, in a few words: "exited with code 4", "was killed by SIGSEGV (signal 11)".
std::string describe_end(const WorkerRecord& worker);

}  // namespace hftrain::launcher
