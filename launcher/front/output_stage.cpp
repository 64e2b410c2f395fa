#include "launcher/front/output_stage.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/base/json_member.h"
#include "hftrain/base/named_path.h"
#include "hftrain/base/text.h"
#include "hftrain/interchange/deepspeed_folder.h"
#include "hftrain/interchange/trainer_folder.h"
#include "hftrain/plan/identity.h"
#include "hftrain/storage/file_system.h"
#include "hftrain/storage/model_folder.h"
#include "launcher/front/moved_inputs.h"
#include "launcher/front/resumed_adapter.h"
#include "launcher/front/run_differences.h"
#include "launcher/front/search_folder.h"

namespace hftrain::front {
namespace {

using storage::OutputKind;
using storage::OutputState;

constexpr const char* kWaysOut =
    "another --output_dir, --resume_from_checkpoint DIR, or --overwrite_output_dir, which moves the old run "
    "aside";

std::vector<std::string> skipped_lines(const storage::NewestCheckpoint& newest) {
  std::vector<std::string> lines;
  for (const storage::SkippedCheckpoint& skipped : newest.skipped) {
    lines.push_back("skipped " + skipped.path + ": " + skipped.reason);
  }
  return lines;
}

// From the newest that verified; `which` says whose it is.
ResumeDecision resume_from(const storage::NewestCheckpoint& newest, const std::string& which) {
  ResumeDecision decision{newest.checkpoint->path, skipped_lines(newest)};
  for (const storage::SkippedCheckpoint& skipped : newest.skipped) decision.skipped.push_back(skipped.path);
  decision.notices.push_back("resuming from " + newest.checkpoint->path + " at step " +
                             std::to_string(newest.checkpoint->step) + which);
  return decision;
}

// Another trainer's folder has no hashes to verify: its files are read, and the checksums in them compared.
ResumeDecision resume_from_trainers(const std::string& folder) {
  const interchange::TrainerFolder found = interchange::check_trainer_folder(folder);
  const bool adapter = path_exists(folder + '/' + architectures::kAdapterConfigName);
  if (!adapter || interchange::has_deepspeed(folder)) interchange::check_weights(folder);
  ResumeDecision decision{folder,
                          {"resuming from " + folder + " at step " + std::to_string(found.step) +
                           ", which transformers' Trainer wrote"}};
  for (const std::string& warning : found.warnings) decision.notices.push_back("warning: " + warning);
  return decision;
}

ResumeDecision resume_from_folder(const Inputs& inputs, const std::string& named) {
  const std::string folder = std::filesystem::absolute(named).lexically_normal().string();
  refuse_no_folder(folder, inputs.parsed.origins.describe("resume_from_checkpoint"));
  if (!path_exists(folder)) {
    throw Error(ExitCode::kData, "there is no checkpoint to resume from at " + folder)
        .where(inputs.parsed.origins.describe("resume_from_checkpoint"))
        .why("no such folder")
        .hint(
            "the folder of a checkpoint; --resume_from_checkpoint true takes the newest of the output "
            "folder");
  }
  // The output folder of a run, whose model has neither an optimizer nor random numbers beside it.
  if (!path_exists(folder + '/' + storage::kManifestName)) {
    const storage::NewestCheckpoint newest = storage::newest_verified_checkpoint(folder);
    if (newest.checkpoint) {
      ResumeDecision decision = resume_from(newest, ", the newest of that folder");
      std::error_code error;  // they are in nobody's way elsewhere
      if (!std::filesystem::equivalent(folder, inputs.output_dir, error)) decision.skipped.clear();
      return decision;
    }
    if (!storage::list_checkpoints(folder).empty()) {
      throw Error(ExitCode::kData, folder + " holds checkpoints, and none of them verifies")
          .where(inputs.parsed.origins.describe("resume_from_checkpoint"))
          .why(join(skipped_lines(newest), "; "))
          .hint("--model_name_or_path starts a new run from the weights alone");
    }
  }
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
    const std::vector<std::string> skipped = skipped_lines(state.newest);
    throw Error(ExitCode::kData, "there is no checkpoint to resume from in " + inputs.output_dir)
        .where(inputs.parsed.origins.describe("resume_from_checkpoint"))
        .why(skipped.empty() ? "no save was finished in it" : join(skipped, "; "))
        .hint(skipped.empty() ? "leave --resume_from_checkpoint out to start a new run" : kWaysOut);
  }
  return resume_from(state.newest, "");
}

void refuse_another_run(const Inputs& inputs, const std::string& checkpoint,
                        const storage::Manifest& manifest, const plan::RunPlan& plan) {
  const std::vector<std::string> different = run_differences(inputs, checkpoint, manifest, plan);
  if (different.empty()) return;
  throw Error(ExitCode::kUsage, inputs.output_dir + " holds another run")
      .where(inputs.parsed.origins.describe("output_dir"))
      .why("its checkpoint at step " + std::to_string(manifest.step) + " differs in " + join(different, "; "))
      .hint(kWaysOut);
}

// Asked before the data are prepared, where they lie in the cache, and once they are.
void note_other_evaluation(const storage::Manifest& manifest, const plan::RunPlan& plan,
                           ResumeDecision& decision) {
  const std::string note =
      "note: it was evaluated on other data before; what it found best so far is by those";
  if (decision.notices.back() == note ||
      !plan::evaluated_otherwise(manifest.identity, plan::run_identity(plan)))
    return;
  const std::string state = decision.from + "/trainer_state.json";
  if (path_exists(state) && !json_member(read_json_file(state), "best_metric").is_null())
    decision.notices.push_back(note);
}

// A new run would take their places one by one.
void refuse_damaged(const Inputs& inputs, const OutputState& state) {
  if (state.newest.checkpoint || state.newest.skipped.empty()) return;
  throw Error(ExitCode::kData, inputs.output_dir + " holds checkpoints, and none of them verifies")
      .where(inputs.parsed.origins.describe("output_dir"))
      .why(join(skipped_lines(state.newest), "; "))
      .hint(kWaysOut);
}

// The folder already holds checkpoints and the user said nothing about them.
ResumeDecision continue_or_refuse(const Inputs& inputs, const OutputState& state, const plan::RunPlan& plan) {
  refuse_damaged(inputs, state);
  refuse_another_run(inputs, state.newest.checkpoint->path, *state.manifest, plan);
  ResumeDecision decision = resume_from_newest(inputs, state);
  decision.same_run = true;
  decision.notices.back() += ", the newest of this run (--overwrite_output_dir starts anew)";
  note_other_evaluation(*state.manifest, plan, decision);
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

// A run that kept no checkpoints has left a model under the names that this one saves its own under.
std::string what_becomes_of_others(const std::string& output_dir, const OutputState& state) {
  const bool model = storage::has_model_weights(output_dir) || storage::holds_adapter_alone(output_dir);
  return output_dir + " is not empty (" + state.foreign_names.front() +
         (state.foreign_names.size() > 1 ? ", …" : "") + "): new files go beside what is there" +
         (model
              ? ", and the model there is replaced when this run saves its own (--overwrite_output_dir moves "
                "the folder aside first)"
              : "");
}

// What is there will have been moved aside.
ResumeDecision begin_anew(const Inputs& inputs) {
  const auto& asked = inputs.parsed.arguments.saving.resume_from_checkpoint;
  if (!asked || storage::list_checkpoints(inputs.output_dir).empty()) return {};
  return {"",
          {"--resume_from_checkpoint " + *asked + " takes none of the checkpoints in " + inputs.output_dir +
           ": --overwrite_output_dir begins anew"}};
}

ResumeDecision resume_as_asked(const plan::RunPlan& plan, ResumeDecision decision) {
  const std::string told = check_resumed_adapter(plan, decision.from);
  if (!told.empty()) decision.notices.push_back(told);
  return decision;
}

// Going back in a folder leaves what lies behind the checkpoint where it is.
void tell_what_lies_ahead(const Inputs& inputs, ResumeDecision& decision) {
  const std::vector<storage::CheckpointInfo> all = storage::list_checkpoints(inputs.output_dir);
  const auto from = std::ranges::find_if(all, [&](const storage::CheckpointInfo& one) {
    std::error_code error;
    return std::filesystem::equivalent(one.path, decision.from, error);
  });
  if (from == all.end() || from + 1 == all.end()) return;
  std::vector<std::string> ahead;
  const std::vector<std::string> skipped = names_of_skipped(decision);
  for (auto later = from + 1; later != all.end(); ++later) {
    const std::string name =
        std::filesystem::path(later->path).filename().string();  // a link may have led to the folder
    if (std::ranges::find(skipped, name) == skipped.end()) ahead.push_back(name);
  }
  if (ahead.empty()) return;
  decision.notices.push_back("warning: " + join(ahead, ", ") + (ahead.size() == 1 ? " stays" : " stay") +
                             ": a save of the same step replaces it, --save_total_limit counts it, and by "
                             "number the last one is the newest of this folder; move what you leave away");
}

// What the Trainer has written of its run that is the same on every node that saved it (its save_on_each_node): not which process
// it was, nor how long an evaluation took there. Losses are those of all ranks.
std::string trainers_course(const std::string& folder) {
  const Json state = read_json_file(folder + "/trainer_state.json");
  const auto log = state.find("log_history");
  std::string course;
  if (log == state.end() || !log->is_array()) return course;
  for (const Json& line : *log) {
    for (const char* key : {"step", "loss", "learning_rate"}) {
      if (line.is_object() && line.contains(key)) course += line.at(key).dump() + ' ';
    }
  }
  return course;
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

bool goes_on_as_it_was(const Inputs& inputs, const ResumeDecision& decision, const plan::RunPlan& plan) {
  const arguments::SavingArguments& saving = inputs.parsed.arguments.saving;
  const bool anew = inputs.parsed.origins.is_chosen("restore_callback_states_from_checkpoint") &&
                    !saving.restore_callback_states_from_checkpoint;
  if (anew || decision.from.empty()) return false;
  if (decision.same_run) return true;
  // "auto" leaves it open whether there is one; what it finds may be another run's.
  return saving.resume_from_checkpoint == "auto" &&
         path_exists(decision.from + '/' + storage::kManifestName) &&
         run_differences(inputs, decision.from, storage::read_manifest(decision.from), plan).empty();
}

void check_same_data(const Inputs& inputs, const plan::RunPlan& plan, ResumeDecision& decision) {
  if (!decision.same_run) return;
  const storage::Manifest manifest = storage::read_manifest(decision.from);
  refuse_another_run(inputs, decision.from, manifest, plan);
  note_other_evaluation(manifest, plan, decision);
}

OutputFolder::OutputFolder(const Inputs& inputs, std::function<void(const std::string&)> tell)
    : inputs_(inputs), tell_(std::move(tell)), lock_(inputs.output_dir) {
  storage::PosixFileSystem files;
  cleared_ = storage::clean_output_dir(files, inputs.output_dir);
}

OutputFolder::~OutputFolder() {
  if (!begun_) lock_.take_back();
  if (!moved_.empty()) move_back();
}

void OutputFolder::move_back() {
  bool back = false;
  try {
    back = storage::move_run_back(moved_, lock_);
  } catch (const Error&) {  // of a folder that cannot be listed any more
  }
  tell_(back ? "no run began: moved the old run back to " + inputs_.output_dir
             : "no run began; the old run stays in " + moved_ + ", for " + inputs_.output_dir +
                   " is not as this start has left it");
}

std::vector<std::string> OutputFolder::begin(const std::map<std::string, std::string>& prepared) {
  if (begun_) return {};
  std::vector<std::string> lines;
  if (inputs_.parsed.arguments.output.overwrite_output_dir && plan::wants_training(inputs_.parsed)) {
    refuse_what_moves_aside(inputs_, prepared);  // on a node with a folder of its own nobody has looked
    moved_ = storage::move_run_aside(inputs_.output_dir, lock_);
  }
  if (!moved_.empty()) lines.push_back("moved the old run to " + moved_);
  place_.emplace(inputs_.output_dir);
  begun_ = true;
  return lines;
}

std::vector<std::string> OutputFolder::move_aside(const std::vector<std::string>& checkpoints,
                                                  const std::string& why) {
  std::vector<std::string> lines;
  if (!moved_.empty()) return lines;
  for (const std::string& checkpoint : checkpoints)
    lines.push_back("moved " + checkpoint + ", " + why + ", to " +
                    storage::move_checkpoint_aside(checkpoint));
  return lines;
}

std::vector<std::string> checkpoints_named(const std::string& output_dir,
                                           const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const storage::CheckpointInfo& one : storage::list_checkpoints(output_dir)) {
    const std::string name = std::filesystem::path(one.path).filename().string();
    if (std::ranges::find(names, name) != names.end()) found.push_back(one.path);
  }
  return found;
}

std::vector<std::string> names_of_skipped(const ResumeDecision& decision) {
  std::vector<std::string> names;
  for (const std::string& path : decision.skipped)
    names.push_back(std::filesystem::path(path).filename().string());
  return names;
}

CheckpointMark checkpoint_mark(const std::string& folder) {
  if (folder.empty() || !path_exists(folder)) return {};
  if (interchange::is_of_trainer(folder))
    return {interchange::step_of_trainer(folder), hash_bytes(trainers_course(folder))};
  const storage::Manifest manifest = storage::read_manifest(folder);
  std::string files;
  for (const storage::FileRecord& file : manifest.files) files += file.path + ' ' + file.hash + '\n';
  return {manifest.step, hash_bytes(files)};
}

plan::RunPlan plan_for_own_folder(plan::RunPlan plan, const Inputs& inputs) {
  const std::string first = std::exchange(plan.output_dir, inputs.output_dir);
  std::string& from = plan.saving.resume_from;
  if (from.starts_with(first + '/')) {
    const std::string own = inputs.output_dir + from.substr(first.size());
    check_same_checkpoint(own, from);
    from = own;
  }
  // What is there will be moved aside.
  if (!plan.do_train || !from.empty() || inputs.parsed.arguments.output.overwrite_output_dir) return plan;
  refuse_others_checkpoints(inputs);
  const OutputState state = storage::inspect_output_dir(inputs.output_dir);
  // A checkpoint that node 0 did not commit any more, of this run, is replaced when the run comes to it.
  if (state.kind != OutputKind::kCheckpoints ||
      (state.newest.checkpoint &&
       run_differences(inputs, state.newest.checkpoint->path, *state.manifest, plan).empty()))
    return plan;
  throw Error(ExitCode::kUsage, inputs.output_dir + " holds another run on this node")
      .where(inputs.parsed.origins.describe("output_dir"))
      .why("node 0 begins anew")
      .hint("another --output_dir, or --overwrite_output_dir, which moves the old run aside");
}

ResumeDecision decide_resume(const Inputs& inputs, const plan::RunPlan& plan) {
  const bool moves_aside = plan.do_train && inputs.parsed.arguments.output.overwrite_output_dir;
  if (!moves_aside) refuse_folder_of_search(inputs);
  if (!plan.do_train) return {};
  if (inputs.parsed.arguments.output.overwrite_output_dir) refuse_what_moves_aside(inputs);
  const auto& asked = inputs.parsed.arguments.saving.resume_from_checkpoint;
  if (asked && *asked != "true" && *asked != "auto") {
    if (!inputs.parsed.arguments.output.overwrite_output_dir) refuse_others_checkpoints(inputs);
    ResumeDecision decision = resume_as_asked(plan, resume_from_folder(inputs, *asked));
    tell_what_lies_ahead(inputs, decision);
    return decision;
  }
  if (inputs.parsed.arguments.output.overwrite_output_dir) return begin_anew(inputs);
  refuse_others_checkpoints(inputs);
  const OutputState state = storage::inspect_output_dir(inputs.output_dir);
  if (asked == "auto") refuse_damaged(inputs, state);
  if (asked == "auto" && !state.newest.checkpoint) return {};
  if (asked) return resume_as_asked(plan, resume_from_newest(inputs, state));
  if (state.kind == OutputKind::kCheckpoints) return continue_or_refuse(inputs, state, plan);
  if (state.kind == OutputKind::kForeign) return {"", {what_becomes_of_others(inputs.output_dir, state)}};
  return {};
}

}  // namespace hftrain::front
