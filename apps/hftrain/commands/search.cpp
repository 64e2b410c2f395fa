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
#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/other_machines.h"
#include "hftrain/arguments/parse.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/plan/resolve.h"
#include "hftrain/search/study.h"
#include "hftrain/storage/run_directory.h"
#include "launcher/front/inputs.h"
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

struct SearchRequest {
  std::string file;
  std::vector<std::string> flags;  // of every trial, and --json in any of its forms
};

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
    if (words[i] == "--search" && i + 1 < words.size()) {
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

std::vector<std::string> with_values(std::vector<std::string> flags, const search::Space& space,
                                     double place) {
  for (const search::Parameter& parameter : space)
    flags.push_back("--" + parameter.flag + '=' + search::word_of(parameter.value_at(place)));
  return flags;
}

arguments::ParseOutcome parse_at(const CommandContext& context, const SearchRequest& request,
                                 const search::Space& space, double place) {
  return arguments::parse_arguments(with_values(request.flags, space, place), context.environment);
}

// The flags of every trial by themselves. What is missing the space may have.
arguments::ParseOutcome parse_given(const CommandContext& context, const SearchRequest& request) {
  try {
    return arguments::parse_arguments(request.flags, context.environment);
  } catch (const arguments::InvalidArguments& incomplete) {
    return incomplete.read();
  }
}

// A value that the space draws is the trial's, whatever else gives the flag one.
void tell_overruled(const CommandContext& context, const SearchRequest& request,
                    const search::Specification& specification) {
  const std::string space =
      specification.writes_space ? "the space of " + request.file : "the space of a file without one";
  const arguments::ParseOutcome given = parse_given(context, request);
  std::vector<Diagnostic> mistakes;
  for (const search::Parameter& parameter : specification.space) {
    const arguments::Flag& row = *arguments::flag_table().find(parameter.flag).flag;
    const std::string flag(row.replaced_by.flag.empty() ? parameter.flag : row.replaced_by.flag);
    const bool mapping = !row.replaced_by.key.empty();
    if (mapping || !given.origins.is_given(flag) || !given.origins.is_chosen(flag)) continue;
    const std::string origin = given.origins.of(flag);
    if (!origin.starts_with('-') || !specification.writes_space) {
      context.err << "note: " << flag << " of " << origin << " counts for no trial: " << space << " draws it"
                  << std::endl;
      continue;
    }
    mistakes.push_back({.what = origin + " counts for no trial",
                        .where = "command line",
                        .why = space + " draws " + parameter.flag,
                        .hint = "leave it out, or write a space without it"});
  }
  if (!mistakes.empty()) throw Error(ExitCode::kUsage, std::move(mistakes));
}

void check_trains(const arguments::ParseOutcome& parsed) {
  arguments::require_this_machine(parsed);
  const arguments::Actions& asked = parsed.actions;
  if (asked.dry_run || asked.print_config || parsed.arguments.interface.smoke) {
    throw Error(ExitCode::kUsage, "a search trains")
        .where("hftrain search")
        .why("--dry_run, --print_config and --smoke do not")
        .hint("try one trial by hand: hftrain plan with the same flags");
  }
  if (!plan::wants_training(parsed)) {
    throw Error(ExitCode::kUsage, "a search trains")
        .where(parsed.origins.describe(parsed.arguments.run.do_eval ? "do_eval" : "do_predict"))
        .why("alone it turns training off, so that every trial would have the same model")
        .hint(parsed.arguments.run.do_predict ? "--do_train beside it"
                                              : "--do_train beside it, or --eval_strategy in its place");
  }
  if (parsed.arguments.hub.push_to_hub) {
    throw Error(ExitCode::kUsage, "trials are not pushed to the Hub")
        .where("hftrain search")
        .why("--push_to_hub would push each of them")
        .hint(
            "leave it out, and push the best one: hf upload ORG/NAME FOLDER --exclude 'checkpoint-*' "
            "--exclude 'hftrain/*'");
  }
  if (parsed.arguments.output.overwrite_output_dir || parsed.origins.is_given("resume_from_checkpoint")) {
    throw Error(ExitCode::kUsage, "a trial that was interrupted goes on by itself")
        .where("hftrain search")
        .why("--overwrite_output_dir and --resume_from_checkpoint would begin every trial at another place")
        .hint("leave them out; another --output_dir begins a new search");
  }
}

// What trials would end with is said before the first: at both ends of every range, and for all choices.
arguments::ParseOutcome check_ends(const CommandContext& context, const SearchRequest& request,
                                   const search::Space& space) {
  size_t most = 2;
  for (const search::Parameter& parameter : space) most = std::max(most, parameter.choices.size());
  arguments::ParseOutcome parsed;
  for (size_t i = 0; i < most; ++i) {
    const double place = static_cast<double>(i) / static_cast<double>(most - 1);
    parsed = parse_at(context, request, space, place);
    check_trains(parsed);
  }
  return parsed;
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
  search::Specification specification =
      search::read_specification(read_file(request.file, ExitCode::kUsage), request.file);
  arguments::ParseOutcome parsed = check_ends(context, request, specification.space);
  tell_overruled(context, request, specification);
  const front::Inputs inputs = front::gather_machine(std::move(parsed), context.environment);
  const bool json = inputs.parsed.actions.json;
  if (json) request.flags.emplace_back("--json=false");  // the search's own; of a trial it would be refused
  ::signal(SIGPIPE, SIG_IGN);
  const storage::RunLock lock(inputs.output_dir);
  Json flags = front::common_flags(inputs.parsed, specification.space);
  search::Study study(std::move(specification), inputs.output_dir, std::move(flags), front::compared_flags);
  const auto flags_now = [&] {
    const search::Space& space = study.specification().space;
    return front::common_flags(parse_at(context, request, space, 1), space);  // as check_ends() ended
  };
  const ExitCode code = front::TrialRunner(context, request.flags, gpus_of(inputs), flags_now, study).run();
  show_trials(context, json, study);
  if (code != ExitCode::kDone || study.best() != nullptr) return code;
  throw nothing_found(study, inputs.output_dir);
}

}  // namespace hftrain::app
