#include "launcher/front/output_stage.h"

#include <filesystem>
#include <utility>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/interchange/trainer_folder.h"
#include "hftrain/plan/identity.h"
#include "hftrain/storage/file_system.h"

namespace hftrain::front {
namespace {

using storage::OutputKind;
using storage::OutputState;

constexpr const char* kWaysOut =
    "another --output_dir, --resume_from_checkpoint DIR, or --overwrite_output_dir, which moves the old run "
    "aside";

std::vector<std::string> skipped_lines(const OutputState& state) {
  std::vector<std::string> lines;
  for (const storage::SkippedCheckpoint& skipped : state.newest.skipped) {
    lines.push_back("skipped " + skipped.path + ": " + skipped.reason);
  }
  return lines;
}

// Another trainer's folder has no hashes to verify: its files are read, and the checksums in them compared.
ResumeDecision resume_from_trainers(const std::string& folder) {
  const interchange::TrainerFolder found = interchange::check_trainer_folder(folder);
  if (!path_exists(folder + '/' + architectures::kAdapterConfigName)) interchange::check_weights(folder);
  return {folder,
          {"resuming from " + folder + " at step " + std::to_string(found.step) +
           ", which transformers' Trainer wrote"}};
}

ResumeDecision resume_from_folder(const Inputs& inputs, const std::string& named) {
  const std::string folder = std::filesystem::absolute(named).lexically_normal().string();
  if (interchange::is_of_trainer(folder)) return resume_from_trainers(folder);
  const storage::Verification verified = storage::verify_checkpoint(folder);
  if (verified.ok) return {folder, {"resuming from " + folder + " at step " + std::to_string(verified.step)}};
  throw Error(ExitCode::kData, "cannot resume from " + folder)
      .where(inputs.parsed.origins.describe("resume_from_checkpoint"))
      .why((verified.file.empty() ? "it" : verified.file) + ' ' + verified.reason)
      .hint(
          "--resume_from_checkpoint true takes the newest checkpoint of the output folder that verifies; "
          "--model_name_or_path starts a new run from the weights alone");
}

ResumeDecision resume_from_newest(const Inputs& inputs, const OutputState& state) {
  if (!state.newest.checkpoint) {
    throw Error(ExitCode::kData, "there is no checkpoint to resume from in " + inputs.output_dir)
        .where(inputs.parsed.origins.describe("resume_from_checkpoint"))
        .why(join(skipped_lines(state), "; "))
        .hint("leave --resume_from_checkpoint out to start a new run");
  }
  const storage::CheckpointInfo& newest = *state.newest.checkpoint;
  ResumeDecision decision{newest.path, skipped_lines(state)};
  decision.notices.push_back("resuming from " + newest.path + " at step " + std::to_string(newest.step));
  return decision;
}

std::vector<std::string> differences(const OutputState& state, const plan::RunPlan& plan) {
  Json saved = state.manifest->identity, present = plan::run_identity(plan);
  if (plan.data.train && !plan.data.train->exact && !plan.data.stream)
    present.erase("data");  // known only when prepared
  return plan::identity_differences(saved, present);
}

// The folder already holds checkpoints and the user said nothing about them.
ResumeDecision continue_or_refuse(const Inputs& inputs, const OutputState& state, const plan::RunPlan& plan) {
  if (!state.newest.checkpoint) {
    throw Error(ExitCode::kData, inputs.output_dir + " holds checkpoints, and none of them verifies")
        .where(inputs.parsed.origins.describe("output_dir"))
        .why(join(skipped_lines(state), "; "))
        .hint(kWaysOut);
  }
  const std::vector<std::string> different = differences(state, plan);
  if (!different.empty()) {
    throw Error(ExitCode::kUsage, inputs.output_dir + " holds another run")
        .where(inputs.parsed.origins.describe("output_dir"))
        .why("its checkpoint at step " + std::to_string(state.newest.checkpoint->step) + " differs in " +
             join(different, "; "))
        .hint(kWaysOut);
  }
  ResumeDecision decision = resume_from_newest(inputs, state);
  decision.notices.back() += ", the newest of this run (--overwrite_output_dir starts anew)";
  return decision;
}

// Nothing says what they are to this run, and it would replace those at its own steps.
void refuse_others_checkpoints(const Inputs& inputs) {
  const std::vector<std::string> files = storage::files_in_the_way(inputs.output_dir);
  if (!files.empty())
    throw Error(ExitCode::kUsage, inputs.output_dir + " holds files with names of checkpoints")
        .where(inputs.parsed.origins.describe("output_dir"))
        .why(join(files, ", ") + (files.size() == 1 ? " is no folder" : " are no folders") +
             ", and a save at the same step would take the place of it")
        .hint(
            "move what is there away, another --output_dir, or --overwrite_output_dir, which moves the "
            "folder aside");
  const std::vector<std::string> others = storage::others_checkpoints(inputs.output_dir);
  if (others.empty()) return;
  throw Error(ExitCode::kUsage, inputs.output_dir + " holds checkpoints that hftrain did not write")
      .where(inputs.parsed.origins.describe("output_dir"))
      .why(join(others, ", ") + (others.size() == 1 ? " has no manifest.json" : " have no manifest.json") +
           ", and a save at the same step would take the place of it")
      .hint("another --output_dir, with --resume_from_checkpoint " + inputs.output_dir + '/' + others.back() +
            " to go on from it; or --overwrite_output_dir, which moves the folder aside");
}

// A run goes on with the adapter that it was trained with: its numbers mean something else under another alpha. Everything
// else may be changed by who names a checkpoint.
void check_adapter(const plan::RunPlan& plan, const std::string& checkpoint) {
  const std::string path = checkpoint + '/' + architectures::kAdapterConfigName;
  if (!path_exists(path) && plan.model.adapter) {
    throw Error(ExitCode::kUsage, "the checkpoint holds no adapter")
        .where(checkpoint)
        .why("this run trains one")
        .hint("leave --use_peft out; or --model_name_or_path " + checkpoint +
              " begins an adapter beside its weights");
  }
  if (!path_exists(path)) return;
  std::vector<std::string> different = {"it holds an adapter, and this run trains none"};
  if (plan.model.adapter) {
    const auto identity = [&](const Json& config) {
      return plan::adapter_identity(architectures::adapter_from_json(config, path));
    };
    different = plan::identity_differences(identity(read_json_file(path)),
                                           identity(parse_json(plan.model.adapter->config, "the plan")));
  }
  if (different.empty()) return;
  throw Error(ExitCode::kUsage, "the checkpoint's adapter is not that of this run")
      .where(path)
      .why(join(different, "; "))
      .hint("give the lora_* flags that it was trained with; --model_name_or_path " + checkpoint +
            " --use_peft begins a new run from it");
}

ResumeDecision resume_as_asked(const plan::RunPlan& plan, ResumeDecision decision) {
  check_adapter(plan, decision.from);
  return decision;
}

void check_same_checkpoint(const std::string& own, const std::string& first) {
  const storage::Verification verified = storage::verify_checkpoint(own);
  if (verified.ok) return;
  throw Error(ExitCode::kData, "this node does not have the checkpoint that the run goes on from")
      .where(own)
      .why((verified.file.empty() ? "it" : verified.file) + ' ' + verified.reason + "; node 0 has " + first)
      .hint("copy it from node 0, or let the run begin anew with --overwrite_output_dir");
}

}  // namespace

TakenFolder take_output_folder(const Inputs& inputs) {
  std::vector<std::string> lines;
  if (inputs.parsed.arguments.output.overwrite_output_dir && plan::wants_training(inputs.parsed)) {
    const std::string moved = storage::move_run_aside(inputs.output_dir);
    if (!moved.empty()) lines.push_back("moved the old run to " + moved);
  }
  storage::RunLock lock(inputs.output_dir);
  storage::PosixFileSystem files;
  for (std::string& line : storage::clean_output_dir(files, inputs.output_dir))
    lines.push_back(std::move(line));
  return {std::move(lock), std::move(lines)};
}

plan::RunPlan plan_for_own_folder(plan::RunPlan plan, const Inputs& inputs) {
  const std::string first = std::exchange(plan.output_dir, inputs.output_dir);
  std::string& from = plan.saving.resume_from;
  if (from.starts_with(first + '/')) {
    const std::string own = inputs.output_dir + from.substr(first.size());
    check_same_checkpoint(own, from);
    from = own;
  }
  if (!plan.do_train || !from.empty()) return plan;
  if (!inputs.parsed.arguments.output.overwrite_output_dir) refuse_others_checkpoints(inputs);
  const OutputState state = storage::inspect_output_dir(inputs.output_dir);
  // A checkpoint that node 0 did not commit any more, of this run, is replaced when the run comes to it.
  if (state.kind != OutputKind::kCheckpoints || (state.newest.checkpoint && differences(state, plan).empty()))
    return plan;
  throw Error(ExitCode::kUsage, inputs.output_dir + " holds another run on this node")
      .where(inputs.parsed.origins.describe("output_dir"))
      .why("node 0 begins anew")
      .hint("another --output_dir, or --overwrite_output_dir, which moves the old run aside");
}

ResumeDecision decide_resume(const Inputs& inputs, const plan::RunPlan& plan) {
  if (!plan.do_train) return {};
  const auto& asked = inputs.parsed.arguments.saving.resume_from_checkpoint;
  if (asked && *asked != "true" && *asked != "auto") {
    if (!inputs.parsed.arguments.output.overwrite_output_dir) refuse_others_checkpoints(inputs);
    return resume_as_asked(plan, resume_from_folder(inputs, *asked));
  }
  // What is there will have been moved aside.
  if (inputs.parsed.arguments.output.overwrite_output_dir) return {};
  refuse_others_checkpoints(inputs);
  const OutputState state = storage::inspect_output_dir(inputs.output_dir);
  if (asked == "auto" && !state.newest.checkpoint) return {"", skipped_lines(state)};
  if (asked) return resume_as_asked(plan, resume_from_newest(inputs, state));
  if (state.kind == OutputKind::kCheckpoints) return continue_or_refuse(inputs, state, plan);
  if (state.kind == OutputKind::kForeign) {
    return {"",
            {inputs.output_dir + " is not empty (" + state.foreign_names.front() +
             (state.foreign_names.size() > 1 ? ", …" : "") + "): new files go beside what is there"}};
  }
  return {};
}

}  // namespace hftrain::front
