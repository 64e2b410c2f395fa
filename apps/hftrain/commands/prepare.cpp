// hftrain prepare [--config FILE] [FLAGS] [--json]: the token cache that `train` with the same flags will
// find.
#include <iostream>

#include "command.h"
#include "hftrain/arguments/derive.h"
#include "hftrain/arguments/help.h"
#include "hftrain/arguments/other_machines.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "launcher/environments/find_membership.h"
#include "launcher/front/data_stage.h"
#include "launcher/front/inputs.h"
#include "launcher/front/job_answer.h"
#include "launcher/front/run_console.h"
#include "launcher/front/stop_flag.h"

namespace hftrain::app {

using namespace front;  // NOLINT(google-build-using-namespace): its stages are the command
namespace {

Json document_of(const data::PreparedData& prepared) {
  Json splits = Json::object();
  const auto add = [&](const char* name, const std::optional<data::PreparedSplit>& split) {
    if (!split) return;
    splits[name] = {{"cache_path", split->cache_path},
                    {"samples", split->samples},
                    {"tokens", split->tokens},
                    {"exact", split->exact},
                    {"largest_token_id", split->largest_token_id}};
  };
  add("train", prepared.train);
  add("validation", prepared.validation);
  add("test", prepared.test);
  add("validation_mismatched", prepared.validation_mismatched);
  add("test_mismatched", prepared.test_mismatched);
  return {
      {"schema", 1}, {"folder", prepared.folder}, {"from_cache", prepared.from_cache}, {"splits", splits}};
}

// A dry run says what is there and what would be done.
void describe_only(const data::PrepareRequest& request, bool json, const CommandContext& context) {
  const data::PreparedData data = estimated(request);
  if (json) {
    context.out << dump_json(document_of(data)) << std::endl;
    return;
  }
  const bool packs = request.recipe.arrangement == data::Arrangement::kPack;
  const std::string shape =
      packs ? " blocks of " + std::to_string(request.block_size) + " tokens" : " samples";
  const auto line = [&](const char* name, const std::optional<data::PreparedSplit>& split) {
    if (!split) return;
    context.out << name << ": " << (split->exact ? "" : "about ") << with_thousands(split->samples) << shape
                << (split->exact ? ", in the cache" : ", not in the cache") << '\n';
  };
  line("train", data.train);
  line("validation", data.validation);
  line("test", data.test);
  line("mismatched validation", data.validation_mismatched);
  line("mismatched test", data.test_mismatched);
}

}  // namespace

ExitCode run_prepare(const CommandContext& context) {
  arguments::ParseOutcome parsed;
  try {
    parsed = arguments::parse_arguments(context.arguments, context.environment);
  } catch (const arguments::InvalidArguments& invalid) {
    return refuse_once(invalid, context);
  }
  const arguments::Actions actions = parsed.actions;
  if (actions.help || actions.help_all) {
    context.out << "usage: hftrain prepare [--config FILE] [FLAGS] [--json]\n"
                   "Tokenises and packs the data of a run into the cache, with all cores. The flags are "
                   "those of train.\n\n"
                << arguments::help_text(actions.help_all);
    return ExitCode::kDone;
  }
  if (actions.version) {
    context.out << "hftrain " << HFTRAIN_VERSION << '\n';
    return ExitCode::kDone;
  }
  if (actions.print_config) return answer_print_config(parsed, context);
  arguments::require_this_machine(parsed);
  if (parsed.arguments.data.streaming)
    throw Error(ExitCode::kUsage, "a stream is not prepared")
        .where(parsed.origins.describe("streaming"))
        .why("a run with it reads the rows while it trains, and has no cache of them")
        .hint("leave --streaming out here, or train with it and prepare nothing");
  std::erase_if(parsed.notes, arguments::is_about_output_folder);
  const bool answers = answers_for_job(parsed, context.environment);
  // The first process of each machine says what it does there: the cache may be one of its own.
  const bool speaks = answers || launcher::speaks_first(context.environment);
  std::ostream nowhere(nullptr);
  reporting::Console console(speaks ? context.err : nowhere, console_style(parsed.arguments, context));
  if (answers) show(parsed.notes, console);
  const Inputs inputs = gather_inputs(std::move(parsed), context.environment);
  const data::PrepareRequest request = prepare_request(inputs);
  if (answers) show(plan::notes_of_length(inputs.parsed, request.block_size), console);
  if (actions.dry_run) {
    if (answers) describe_only(request, actions.json, context);
    return ExitCode::kDone;
  }
  const auto prepared = prepare_data(request, console);
  if (!prepared) {
    const bool key = first_stop_signal() == SIGINT;
    throw Error(key ? ExitCode::kInterrupted : ExitCode::kTerminated,
                key ? "interrupted while preparing the data" : "terminated while preparing the data")
        .where(request.cache_folder)
        .why("it was asked to stop; what was prepared before stays in the cache")
        .hint("the same command prepares them");
  }
  console.line("in " + prepared->folder);
  if (actions.json && answers) context.out << dump_json(document_of(*prepared)) << std::endl;
  return ExitCode::kDone;
}

}  // namespace hftrain::app
