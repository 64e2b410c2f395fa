#include "launcher/front/push_advice.h"

#include <vector>

#include "hftrain/base/path_pattern.h"
#include "hftrain/base/shell.h"
#include "hftrain/hub/replaced_files.h"
#include "launcher/front/pushed_files.h"

namespace hftrain::front {
namespace {

std::string options(const char* option, const std::vector<std::string>& patterns) {
  std::string words;
  for (const std::string& pattern : patterns)
    words += std::string(" --") + option + ' ' + shell_quoted(pattern);
  return words;
}

// `hf` takes a folder with *, ? or [ in its name for a pattern, and looks for what fits it below the folder where it is started.
std::string command_of(const HubTarget& target, const std::string& folder, const std::string& place,
                       const std::string& choice) {
  const bool made = !target.repository.empty(), is_taken_for_pattern = is_pattern(folder);
  std::string command = "hf upload " + (made ? target.repository : target.asked) + ' ' +
                        (is_taken_for_pattern ? "." : shell_quoted(folder)) + place;
  if (target.revision != "main") command += " --revision " + shell_quoted(target.revision);
  if (!made && target.is_private) command += *target.is_private ? " --private" : " --no-private";
  command += choice;
  return is_taken_for_pattern ? "(cd " + shell_quoted(folder) + " && " + command + ')' : command;
}

std::string what_goes(const std::vector<std::string>& pushed) {
  return hub::brings_model(pushed) ? options("delete", hub::replaced_by_model()) : "";
}

std::vector<std::string> exactly(const std::vector<std::string>& paths) {
  std::vector<std::string> patterns;
  for (const std::string& path : paths) patterns.push_back(pattern_of(path));
  return patterns;
}

}  // namespace

std::string command_for_output(const HubTarget& target, const std::string& output_dir) {
  return command_of(target, output_dir, "",
                    options("exclude", patterns_that_stay()) + what_goes(files_of_output(output_dir)));
}

std::optional<std::string> command_for_model(const HubTarget& target, const std::string& output_dir,
                                             const std::string& checkpoint) {
  const std::optional<ModelFiles> files = files_of_model(output_dir, checkpoint);
  if (!files) return std::nullopt;
  const std::string model = command_of(
      target, checkpoint, "", options("exclude", patterns_of_state()) + what_goes(files->of_checkpoint));
  if (files->of_output.empty()) return model;
  // First, so that nothing of the output folder's takes the place of the model's.
  return command_of(target, output_dir, "",
                    options("exclude", patterns_that_stay()) + options("exclude", exactly(files->older))) +
         " && " + model;
}

std::string command_for_checkpoint(const HubTarget& target, const std::string& checkpoint,
                                   const std::string& name) {
  return command_of(target, checkpoint, ' ' + name, options("delete", {"*"}));
}

}  // namespace hftrain::front
