// What a run says of its pushes at its end.
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "launcher/front/hub_pusher.h"
#include "launcher/front/push_advice.h"

namespace hftrain::front {

void HubPusher::note_end() {
  note_skipped();
  if (asked_.hub_strategy == "end" && !whole_)
    say(LogLevel::kInfo,
        "nothing was pushed to the Hub: with --hub_strategy end that is done when the training has come to "
        "its end");
  std::vector<std::string> here, gone, commands;
  for (const std::string& what : missing_) {
    const std::optional<std::string> command = command_for(what);
    (command ? here : gone).push_back(what);
    if (command) commands.push_back(*command);
  }
  if (!gone.empty())
    say(LogLevel::kWarning,
        "not pushed to the Hub: " + join(gone, ", ") + " (" + last_reason_ +
            "); nothing here holds it yet, or any more, so that there is nothing to send");
  if (!here.empty())
    say(LogLevel::kWarning, "not pushed to the Hub: " + join(here, ", ") + " (" + last_reason_ +
                                "); it is in " + output_dir_ + ", and this sends it" + needs_token() + ": " +
                                join(commands, " && "));
}

// What it is advised to run knows no flag of the run's.
std::string HubPusher::needs_token() const {
  if (target_.token_flag.empty()) return "";
  return " with the token of " + target_.token_flag + " in HF_TOKEN, or after `hf auth login`";
}

void HubPusher::note_skipped() {
  // last-checkpoint is an older one there.
  if (asked_.hub_strategy == "checkpoint" && !left_out_.empty())
    skipped_.insert(std::filesystem::path(left_out_).filename().string());
  if (skipped_.empty()) return;
  const std::vector<std::string> skipped(skipped_.begin(), skipped_.end());
  say(LogLevel::kInfo,
      "not pushed, for " +
          (asked_.hub_always_push ? std::to_string(kMostAtOnce) + " pushes were on their way: "
                                  : std::string("another push was going on (--hub_always_push): ")) +
          join(skipped, ", "));
}

// Nothing for what is not here, or cannot be read.
std::optional<std::string> HubPusher::command_for(const std::string& what) const {
  try {
    if (what == kTheModel)
      return whole_ ? command_for_output(target_, output_dir_) : command_for_newest_model();
    const auto checkpoint = folders_.find(what);
    if (checkpoint == folders_.end() || !path_exists(checkpoint->second)) return std::nullopt;
    return command_for_checkpoint(target_, checkpoint->second, what);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// Of a run that has not come to its end the output folder holds none, or one of before.
std::optional<std::string> HubPusher::command_for_newest_model() const {
  for (auto checkpoint = saved_.rbegin(); checkpoint != saved_.rend(); ++checkpoint) {
    if (!path_exists(*checkpoint)) continue;
    if (auto command = command_for_model(target_, output_dir_, *checkpoint)) return command;
  }
  return std::nullopt;
}

}  // namespace hftrain::front
