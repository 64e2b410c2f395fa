#include "commands/train_run.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands/train_hub.h"
#include "hftrain/base/error.h"
#include "hftrain/storage/run_directory.h"
#include "launcher/front/data_stage.h"
#include "launcher/front/launch_stage.h"
#include "launcher/front/output_stage.h"
#include "launcher/front/run_console.h"
#include "launcher/front/run_record.h"
#include "launcher/front/stop_flag.h"

namespace hftrain::app {

using namespace front;  // NOLINT(google-build-using-namespace): its stages are the command
namespace {

void take_folder(std::optional<OutputFolder>& output, const Inputs& inputs, Job& job,
                 reporting::Console& console) {
  job.run_in_background(
      [&] { output.emplace(inputs, [&console](const std::string& line) { console.line(line); }); });
  for (const std::string& line : output->cleared()) console.line(line);
}

// From the first change of the output folder to the last thing before ranks run: where they meet, which is bound while an old
// run can still come back. Who is alone leaves at once on a stop signal, which is no time to move it back: `stop` is there for
// it from then on, and until that is done.
launcher::Rendezvous begin_run(const CommandContext& context, const Inputs& inputs,
                               const data::PreparedData& prepared, const ResumeDecision& decision,
                               OutputFolder& output, plan::RunPlan& plan, Job& job,
                               std::optional<StopFlag>& stop, reporting::Console& console) {
  if (job.alone()) stop.emplace();
  const RunFolder folder = run_folder(inputs.output_dir);
  std::vector<std::string> moved;
  job.run_in_background([&] {
    moved = output.begin(paths_of(prepared));
    const std::vector<std::string> further = output.move_aside(decision.skipped, "which does not verify");
    moved.insert(moved.end(), further.begin(), further.end());
  });
  for (const std::string& line : moved) console.line(line);
  job.run_in_background([&] { write_arguments(folder, inputs, context, plan.ranks.backend); });
  job.look_for_output_folder(plan);
  job.run_in_background([&] { write_plan(folder, plan); });
  job.share(plan, names_of_skipped(decision));
  launcher::Rendezvous rendezvous = job.bind_store(plan);
  if (stop && stop->is_set())
    throw Error(ExitCode::kTerminatedUnsaved, "stopped before the run began")
        .where(inputs.output_dir)
        .why("a stop signal came while its folder was made ready")
        .hint("the same command starts it");
  output.keep();
  stop.reset();
  return rendezvous;
}

// Whatever cannot work is refused before anything is written. The file system of the output folder is asked, and a
// checkpoint read, beside the loop that the others hear: either may hang.
plan::RunPlan first_plan(const Inputs& inputs, const data::PrepareRequest& request, Job& job) {
  plan::DataFacts estimate;
  job.run_in_background(
      [&] { estimate = estimate_data(request); });  // reads all files, unless they were seen before
  plan::RunPlan plan;
  job.run_in_background([&] { plan = resolve_plan(inputs, estimate, ""); });
  return plan;
}

// Of the data as they are, and of where the run goes on; its notes.
std::vector<Diagnostic> plan_with_data(const Inputs& inputs, const data::PreparedData& prepared,
                                       ResumeDecision& decision, plan::RunPlan& plan, Job& job) {
  std::vector<Diagnostic> notes;
  job.run_in_background([&] {
    plan = resolve_plan(inputs, facts_of(prepared), "");
    check_same_data(inputs, plan, decision);
    if (!decision.from.empty()) plan = resolve_plan(inputs, facts_of(prepared), decision.from);
    plan.saving.same_run = goes_on_as_it_was(inputs, decision, plan);
    notes = notes_of_plan(inputs, plan);
  });
  return notes;
}

}  // namespace

ExitCode run_job(const CommandContext& context, const Inputs& inputs, Job& job, Stopwatch& stopwatch,
                 reporting::Console& console) {
  job.run_in_background([&] { storage::check_can_take(inputs.output_dir); });
  const data::PrepareRequest request = prepare_request(inputs);
  plan::RunPlan plan = first_plan(inputs, request, job);
  const std::optional<HubTarget> target = look_for_hub(inputs, plan.do_train, job, console);
  std::optional<StopFlag> stop;  // goes behind the folder, which moves an old run back
  std::optional<OutputFolder> output;
  take_folder(output, inputs, job, console);
  ResumeDecision decision;
  job.run_in_background([&] { decision = decide_resume(inputs, plan); });

  stopwatch.begin("prepare");
  const auto prepared = job.prepare(request);
  if (!prepared) {
    console.line("stopped while preparing data; nothing was trained");
    return ExitCode::kTerminatedUnsaved;
  }
  stopwatch.begin("plan");
  const std::vector<Diagnostic> notes = plan_with_data(inputs, *prepared, decision, plan, job);
  for (const std::string& notice : decision.notices) console.line(notice);
  show(notes, console);
  launcher::Rendezvous rendezvous =
      begin_run(context, inputs, *prepared, decision, *output, plan, job, stop, console);
  const bool as_it_was = plan.saving.same_run;
  const PlanMaker make_plan = [&](int64_t batch, const std::string& resume_from) {
    plan::RunPlan made = resolve_plan(inputs, facts_of(*prepared), resume_from, batch);
    made.saving.same_run = resume_from == decision.from ? as_it_was : !resume_from.empty();
    return made;
  };
  return run_workers(context, inputs, plan, output->place().value(), std::move(rendezvous), make_plan, target,
                     job, stopwatch, console);
}

}  // namespace hftrain::app
