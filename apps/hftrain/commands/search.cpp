// hftrain search [--config FILE] [FLAGS] --search FILE.yaml [--json]
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "command_options.h"
#include "commands/search_checks.h"
#include "hftrain/arguments/parse.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/search/study.h"
#include "hftrain/storage/run_directory.h"
#include "launcher/environments/find_membership.h"
#include "launcher/front/inputs.h"
#include "launcher/front/run_console.h"
#include "launcher/front/search_folder.h"
#include "launcher/front/trial_flags.h"
#include "launcher/front/trial_runner.h"

namespace hftrain::app {
namespace {

constexpr const char* kSearchUsage =
    "usage: hftrain search [--config FILE] [FLAGS] --search FILE.yaml [--json]\n"
    "\n"
    "Runs trials of `hftrain train` with values chosen for some flags, each in OUTPUT_DIR/trial-N, and says "
    "which\n"
    "was best. Results are in OUTPUT_DIR/search.json; the same command started again goes on.\n"
    "\n"
    "--search FILE   what to try:\n"
    "    space:                     flags: {choices: [a, b]}, or {low: 1e-5, high: 1e-2, log: true}, or with "
    "step: 1\n"
    "      learning_rate: {low: 1e-5, high: 1e-2, log: true}\n"
    "      per_device_train_batch_size: {choices: [4, 8, 16]}\n"
    "                               without it the Trainer's: learning_rate, num_train_epochs, seed and\n"
    "                               per_device_train_batch_size\n"
    "    method: tpe                grid, random, tpe, asha\n"
    "    trials: 20                 of a grid: all of its points\n"
    "    metric: eval_loss          its newest value in a trial's log; eval_ may be left out\n"
    "    greater_is_better: false   unless the metric's name ends with loss: true\n"
    "    parallel: 1                trials at a time; the visible GPUs are shared out among them\n"
    "    seed: 42\n"
    "--json          search.json on standard output when all is over, in place of a table\n"
    "FLAGS           those of every trial; `hftrain train --help`\n";

Error no_file() {
  return Error(ExitCode::kUsage, "nothing says what to search")
      .where("hftrain search")
      .why("--search names a YAML file")
      .hint("hftrain search --config run.yaml --search search.yaml; see hftrain search --help");
}

SearchRequest read_words(const std::vector<std::string>& words) {
  SearchRequest request;
  for (size_t i = 0; i < words.size(); ++i) {
    constexpr std::string_view kName = "--search=";
    if (words[i] == "--search") {
      if (i + 1 == words.size() || words[i + 1].starts_with("--")) throw no_file();
      request.file = words[++i];
    } else if (words[i].starts_with(kName)) {
      request.file = words[i].substr(kName.size());
    } else {
      request.flags.push_back(words[i]);
    }
  }
  if (request.file.empty()) throw no_file();
  return request;
}

// Each has less than a machine of its own, which is slower for all and may not fit.
void tell_crowd(const CommandContext& context, const front::Inputs& inputs, const SearchRequest& request,
                const search::Specification& specification) {
  const auto slots = static_cast<size_t>(specification.parallel);
  const size_t at_a_time = std::min(slots, specification.trial_count());
  const size_t gpus = inputs.parsed.arguments.device.use_cpu ? 0 : inputs.topology.visible.devices.size();
  const size_t room = gpus > 0 ? gpus : static_cast<size_t>(std::max(1, inputs.topology.host.usable_cores()));
  // GPUs are shared out by `parallel`, however few the trials are so far: more of them may go on with the same search.
  if (at_a_time < 2 || (gpus > 0 ? slots : at_a_time) <= room) return;
  context.err << "warning: " << at_a_time << " trials at a time on " << with_thousands(room)
              << (gpus > 0 ? " GPU" : " core") << (room == 1 ? "" : "s")
              << (gpus == 0   ? ": each has a part of one"
                  : room == 1 ? ": all of them see it"
                              : ": each sees all of them")
              << "\n  try: parallel: " << std::min(room, at_a_time) << " in " << request.file << std::endl;
}

// Its trials would wait for each other's machines, or for the folder that another process of the same job holds.
void refuse_several(const CommandContext& context, const front::Inputs& inputs) {
  if (inputs.parsed.origins.is_given("hostfile")) return;  // each trial starts its machines itself
  const launcher::Membership membership = launcher::find_membership(
      inputs.parsed.arguments.launch, context.environment, 0, inputs.parsed.origins);
  if (membership.agents < 2) return;
  throw Error(ExitCode::kUsage, "a search is started once, not by each of several programs")
      .where(membership.started_by)
      .why("it says that this is one of " + std::to_string(membership.agents))
      .hint("start it by itself; its trials run on several machines with --hostfile");
}

// The GPUs to share out, as CUDA_VISIBLE_DEVICES names them.
std::vector<std::string> gpus_of(const front::Inputs& inputs) {
  std::vector<std::string> gpus;
  for (const plan::VisibleDevice& visible : inputs.topology.visible.devices)
    gpus.push_back(visible.mask_entry.empty() ? visible.device.uuid : visible.mask_entry);
  return gpus;
}

void show_trials(const CommandContext& context, bool json, const search::Study& study) {
  if (json) {
    context.out << dump_json(study.document()) << '\n';
    return;
  }
  context.out << table_of(study);
  if (const search::Trial* best = study.best())
    context.out << "best: trial " << best->number << " in " << best->folder << '\n';
}

// As the first trial that failed, since the others have its flags.
Error nothing_found(const search::Study& study, const std::string& output_dir) {
  const search::Trial* const failed = study.first_failed();
  const int code = failed == nullptr ? 0 : failed->exit_code.value_or(0);
  const std::string log = "trial-" + std::to_string(failed == nullptr ? 0 : failed->number) + ".log";
  return Error(code == 0 ? ExitCode::kData : static_cast<ExitCode>(code), "no trial ended with a metric")
      .where(output_dir + "/search.json")
      .why("each failed, or logged no finite " + study.specification().metric)
      .hint("look into " + log + " there; evaluations need --eval_strategy, or --do_train and --do_eval");
}

}  // namespace

ExitCode run_search(const CommandContext& context) {
  if (context.arguments.empty() || answered(context.arguments, kSearchUsage, context)) {
    if (context.arguments.empty()) throw no_file();
    return ExitCode::kDone;
  }
  SearchRequest request = read_words(context.arguments);
  search::Specification specification = read_search(request);
  arguments::ParseOutcome parsed = check_search(context, request, specification);
  const front::Inputs inputs = front::gather_machine(std::move(parsed), context.environment);
  refuse_several(context, inputs);
  tell_crowd(context, inputs, request, specification);
  const bool json = inputs.parsed.actions.json;
  if (json) request.flags.emplace_back("--json=false");  // the search's own; of a trial it would be refused
  ::signal(SIGPIPE, SIG_IGN);
  const storage::RunLock lock(inputs.output_dir);
  front::refuse_folder_of_run(inputs);
  Json flags = front::common_flags(inputs.parsed, specification.space);
  search::Study study(std::move(specification), inputs.output_dir, std::move(flags), front::compared_flags);
  const auto flags_now = [&] {
    const search::Space& space = study.specification().space;
    return front::common_flags(parse_at(context, request, space, 1), space);  // as check_search() ended
  };
  reporting::Console console(context.err, front::console_style(inputs.parsed.arguments, context));
  const ExitCode code =
      front::TrialRunner(context, request.flags, gpus_of(inputs), flags_now, study, console).run();
  show_trials(context, json, study);
  if (code != ExitCode::kDone || study.best() != nullptr) return code;
  throw nothing_found(study, inputs.output_dir);
}

}  // namespace hftrain::app
