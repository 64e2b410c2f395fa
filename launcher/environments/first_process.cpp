#include "launcher/environments/first_process.h"

#include <poll.h>
#include <sys/types.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "launcher/environments/process_environment.h"
#include "launcher/environments/rank_variables.h"
#include "launcher/process/child_process.h"

namespace hftrain::launcher {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// What is the same for all processes of a job, and another one for the next job.
constexpr const char* kJobWords[] = {"PMIX_NAMESPACE", "PMI_JOBID",   "SLURM_JOB_ID",       "SLURM_STEP_ID",
                                     "MASTER_ADDR",    "MASTER_PORT", "TORCHELASTIC_RUN_ID"};

std::vector<std::string> job_words(const Environment& environment) {
  std::vector<std::string> words;
  for (const char* name : kJobWords) words.push_back(environment.get_or(name, ""));
  return words;
}

std::optional<StartedProcess> started(const Environment& environment) {
  try {
    std::vector<std::string> unused;
    return read_rank_variables(environment, -1, unused);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<pid_t> find_first(const std::vector<std::string>& job) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::optional<int> pid = whole_number<int>(entry->path().filename().string());
    std::error_code unseen;
    if (!pid || fs::read_symlink(entry->path() / "exe", unseen) != program || unseen) continue;
    const Environment there = environment_at(entry->path());
    const std::optional<StartedProcess> process = started(there);
    if (process && process->local_rank == 0 && job_words(there) == job) return *pid;
  }
  return std::nullopt;
}

// Its command line; empty of one that has ended.
std::string words_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/cmdline", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool was_told_otherwise(pid_t process) {
  const std::string words = words_of(std::to_string(process));
  return !words.empty() && words != words_of("self");
}

bool stays(pid_t process, milliseconds patience) {
  try {
    const FileDescriptor watched = open_process(process);
    return !answers_within(watched.get(), POLLIN, static_cast<double>(patience.count()) / 1000);
  } catch (const Error&) {
    return false;  // it ended before it could be watched
  }
}

}  // namespace

bool first_process_says_otherwise(const Environment& environment, milliseconds patience) {
  const std::vector<std::string> job = job_words(environment);
  if (std::ranges::all_of(job, [](const std::string& word) { return word.empty(); })) return false;
  constexpr milliseconds kPause{100};
  const auto until = steady_clock::now() + patience;
  while (true) {
    if (const std::optional<pid_t> first = find_first(job))
      return was_told_otherwise(*first) || stays(*first, patience);
    if (steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(kPause);  // it may start a moment later than this one
  }
}

std::string place_in_job(const Environment& environment) {
  const std::optional<StartedProcess> process = started(environment);
  if (!process) return "";
  return "rank " + std::to_string(process->rank) + " of " + std::to_string(process->size) + ", started by " +
         process->by;
}

}  // namespace hftrain::launcher
