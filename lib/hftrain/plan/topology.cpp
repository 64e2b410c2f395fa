#include "hftrain/plan/topology.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "hftrain/arguments/flags/rows.h"
#include "hftrain/base/whole_number.h"
#include "hftrain/plan/requested_threads.h"

namespace hftrain::plan {
namespace {

static_assert(kMostRankThreads == arguments::kMostThreads);                      // a variable as the flag
constexpr std::array kThreadVariables = {"MKL_NUM_THREADS", "OMP_NUM_THREADS"};  // in the order of PyTorch

std::optional<int64_t> threads_of(const std::string& text) {
  const std::optional<int64_t> threads = leading_integer(text);
  return threads && *threads >= 1 && *threads <= kMostRankThreads ? threads : std::nullopt;
}

}  // namespace

int HostResources::usable_cores() const {
  const double cores = std::min<double>(allowed_cores, quota_cores.value_or(allowed_cores));
  return std::max(1, static_cast<int>(std::floor(cores + 1e-6)));
}

int64_t HostResources::usable_memory_bytes() const {
  return std::min(memory_bytes, memory_limit_bytes.value_or(memory_bytes));
}

void take_requested_threads(const Environment& environment, HostResources& host) {
  for (const char* variable : kThreadVariables) {
    const std::optional<int64_t> threads = threads_of(environment.get_or(variable, ""));
    if (!threads) continue;
    host.requested_threads = static_cast<int>(*threads);
    host.threads_variable = variable;
    return;
  }
}

std::vector<std::string> unread_thread_counts(const Environment& environment) {
  std::vector<std::string> unread;
  for (const char* variable : kThreadVariables) {
    const std::string value = environment.get_or(variable, "");
    if (!value.empty() && !threads_of(value)) unread.push_back(std::string(variable) + '=' + value);
  }
  return unread;
}

std::string why_unread_threads() {
  return "it is no number of threads from 1 to " + std::to_string(kMostRankThreads);
}

bool hides_gpus(const Topology& topology) {
  return topology.mask &&
         (topology.mask->find_first_not_of(" \t") == std::string::npos || topology.mask->front() == '-');
}

}  // namespace hftrain::plan
