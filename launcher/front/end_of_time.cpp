#include "launcher/front/end_of_time.h"

#include <cstdint>

#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"
#include "launcher/control/warning_notice.h"

namespace hftrain::front {
namespace {

constexpr double kLongestJob = 100.0 * 365 * 24 * 3600;

}  // namespace

EndOfTime end_of_time(const Environment& environment, double now) {
  const std::string text = trim(environment.get_or("SLURM_JOB_END_TIME", ""));
  if (text.empty()) return {};
  const auto end = signed_number<int64_t>(text);
  if (!end || static_cast<double>(*end) > now + kLongestJob)
    return {std::nullopt, launcher::kWarningNotice + "SLURM_JOB_END_TIME=" + text +
                              " of the environment is not used: it is no time in seconds since 1970, so the "
                              "run does not stop before the job is ended"};
  if (static_cast<double>(*end) <= now) return {};
  return {static_cast<double>(*end), ""};
}

}  // namespace hftrain::front
