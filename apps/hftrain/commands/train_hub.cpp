#include "commands/train_hub.h"

namespace hftrain::app {

using namespace front;  // NOLINT(google-build-using-namespace): its stages are the command

std::optional<HubTarget> named_target(const Inputs& inputs, bool trains, bool pushes_here,
                                      reporting::Console& console) {
  std::optional<HubTarget> target = hub_target(inputs, pushes_here);
  if (!target || trains) return target;
  console.message(LogLevel::kWarning,
                  "nothing is pushed to the Hub: without training there is no model to push");
  return std::nullopt;
}

std::optional<HubTarget> look_for_hub(const Inputs& inputs, bool trains, Job& job,
                                      reporting::Console& console) {
  std::optional<HubTarget> target = named_target(inputs, trains, true, console);
  if (!target) return std::nullopt;
  job.run_in_background([&] { try_repository(*target); });
  if (target->trouble.empty()) {
    console.line("pushes go to " + target->repository);
    if (!target->remark.empty()) console.message(LogLevel::kWarning, target->remark);
  } else {
    console.message(LogLevel::kWarning,
                    target->trouble + "; the run trains, and tries to push what it saves (--push_to_hub)");
  }
  return target;
}

}  // namespace hftrain::app
