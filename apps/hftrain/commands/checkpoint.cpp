// hftrain checkpoint verify DIR | inspect DIR [--json] | export DIR OUT | merge DIR OUT
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>

#include "command.h"
#include "command_options.h"
#include "hftrain/architectures/adapter_config.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/named_path.h"
#include "hftrain/base/text.h"
#include "hftrain/interchange/fsdp_folder.h"
#include "hftrain/interchange/others_summary.h"
#include "hftrain/interchange/trainer_folder.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "hftrain/storage/checkpoint_summary.h"
#include "hftrain/storage/model_export.h"
#include "hftrain/storage/model_folder.h"
#include "hftrain/storage/stored_weights.h"
#include "launcher/front/adapter_merge.h"
#include "launcher/front/stop_flag.h"
#include "launcher/front/stoppable_lines.h"

namespace hftrain::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCheckpointUsage =
    "usage: hftrain checkpoint verify DIR\n"
    "       hftrain checkpoint inspect DIR [--json]\n"
    "       hftrain checkpoint export DIR OUT [--max_shard_size SIZE] [--model_name_or_path MODEL]\n"
    "       hftrain checkpoint merge DIR OUT [--max_shard_size SIZE] [--model_revision NAME] [--cache_dir "
    "DIR]\n"
    "\n"
    "verify   hashes every file against the manifest; prints ok, or names the first bad file (exit code 4)\n"
    "inspect  step, plan, tensors, shapes, dtypes and shards of a checkpoint or model folder, others' too\n"
    "export   a plain transformers folder: config, tokenizer and weights, without optimizer and run state\n"
    "merge    an adapter and its base model in one plain transformers folder\n"
    "\n"
    "--max_shard_size      of export and merge, in KB, MB, GB or TB of 1000 (50GB)\n"
    "--model_name_or_path  of export: whose configuration and tokenizer, where the checkpoint has none\n"
    "--model_revision      of merge: branch, tag or commit of a base in the hub cache, instead of the "
    "adapter's\n"
    "--cache_dir           of merge: the hub cache that holds the base\n";

// The words behind the action.
struct CheckpointRequest {
  std::string folder, out;
  bool json = false;
  std::string max_shard_size = "50GB";  // as transformers 5
  std::string model;                    // a folder
  std::string revision;                 // of an adapter's base; empty: the adapter says it
  std::string cache_dir;                // of that base; empty: the environment says it
};

int64_t shard_size(const std::string& text) {
  if (const auto bytes = storage::parse_shard_size(text)) return *bytes;
  throw Error(ExitCode::kUsage, "'" + text + "' is not a size")
      .where("--max_shard_size")
      .why("a size is a number with KB, MB, GB or TB")
      .hint("--max_shard_size 5GB");
}

CommandOptions checkpoint_options(const std::string& action, CheckpointRequest& request) {
  using Need = CommandOptions::Need;
  const std::map<std::string, std::string> summaries = {
      {"verify", "Hash every file against the manifest; print ok, or name the first bad file (exit code 4)"},
      {"inspect", "Print step, plan, tensors, shapes, dtypes and shards of a checkpoint or model folder"},
      {"export", "Write a plain transformers folder, tensor by tensor, without optimizer and run state"},
      {"merge", "Write an adapter and its base model as one plain transformers folder"}};
  CommandOptions options("hftrain checkpoint " + action, summaries.at(action));
  options.path("DIR", request.folder, "DIR", action == "merge" ? "the adapter's folder" : "the checkpoint",
               Need::kRequired);
  if (action == "inspect") options.flag("--json", request.json, "for machines");
  if (action != "export" && action != "merge") return options;
  options.path("OUT", request.out, "OUT", "the folder to write", Need::kRequired);
  options.text("--max_shard_size", request.max_shard_size, "SIZE", "in KB, MB, GB or TB of 1000");
  if (action == "export")
    options.path("--model_name_or_path", request.model, "MODEL",
                 "folder whose configuration and tokenizer it gets, where the checkpoint has none");
  if (action == "merge") {
    options.text("--model_revision", request.revision, "NAME",
                 "branch, tag or commit of a base in the hub cache, instead of the adapter's");
    options.path("--cache_dir", request.cache_dir, "DIR", "the hub cache that holds the base");
  }
  return options;
}

// A folder that holds checkpoints is easily given in place of one of them.
std::string name_a_checkpoint(const std::string& folder, const std::string& place = "in it") {
  const auto checkpoints = storage::list_checkpoints(folder);
  return checkpoints.empty() ? "" : "name one of the checkpoints " + place + ": " + checkpoints.back().path;
}

// What to name in the place of a folder that is not there.
std::string what_is_beside(const std::string& folder) {
  std::error_code unknown;
  fs::path whole = folder.empty() ? fs::path() : fs::absolute(folder, unknown).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();  // a slash at its end
  const std::string parent = whole.parent_path().string();
  const std::string there = !unknown && is_folder(parent) ? name_a_checkpoint(parent, "beside it") : "";
  return there.empty() ? "hftrain checkpoint verify OUTPUT_DIR/checkpoint-N" : there;
}

ExitCode verify(const std::string& folder, std::ostream& out) {
  refuse_no_folder(folder, folder);
  if (!is_folder(folder))
    throw Error(ExitCode::kData, "no such folder")
        .where(folder.empty() ? "DIR" : folder)
        .why("a checkpoint is verified by the manifest in its folder")
        .hint(what_is_beside(folder));
  const storage::Verification result = storage::verify_checkpoint(folder);
  if (result.ok) {
    out << "ok: step " << result.step << ", " << result.files << " files, " << format_bytes(result.bytes)
        << '\n';
    return ExitCode::kDone;
  }
  out << "bad: " << result.file << std::endl;
  Error error(ExitCode::kData, "the checkpoint does not verify");
  error.where(folder + '/' + result.file).why("it " + result.reason);
  const std::string hint = name_a_checkpoint(folder);
  throw error.hint(hint.empty() ? "resuming takes the newest checkpoint that verifies" : hint);
}

ExitCode inspect(const CheckpointRequest& request, std::ostream& out) {
  const std::optional<storage::CheckpointSummary> others = interchange::summarize_others(request.folder);
  const storage::CheckpointSummary summary = others ? *others : storage::summarize_checkpoint(request.folder);
  out << (request.json ? dump_json(storage::summary_to_json(summary)) + '\n'
                       : storage::render_summary(summary));
  return ExitCode::kDone;
}

// What was written is removed then.
void end_if_stopped(const front::StopFlag& stop, const std::string& out) {
  if (stop.is_set()) throw front::stopped_by(front::first_stop_signal(), "writing " + out);
}

ExitCode export_folder(const CheckpointRequest& request, std::ostream& out) {
  storage::PosixFileSystem files;
  const int64_t most = shard_size(request.max_shard_size);
  const bool described = request.model.empty() || path_exists(request.folder + "/config.json");
  std::optional<storage::StoredWeights> parts;
  front::refuse_adapter_in_parts(request.folder);
  if (interchange::is_in_parts(request.folder) && !storage::holds_adapter_alone(request.folder))
    parts.emplace(interchange::open_saved_weights(request.folder));
  else if (interchange::is_dcp_folder(request.folder))
    parts.emplace(interchange::open_dcp_model(request.folder, interchange::Checksums::kCompared));
  const front::StopFlag stop;
  const storage::ExportResult result =
      storage::export_model(files, request.folder, request.out,
                            {.max_shard_bytes = most,
                             .over = described ? "" : request.model,
                             .weights = parts ? &*parts : nullptr,
                             .between = [&] { end_if_stopped(stop, request.out); }});
  out << request.out << ": " << result.tensors << " tensors, " << format_bytes(result.bytes) << " in "
      << result.files << " files\n";
  return ExitCode::kDone;
}

ExitCode merge(const CheckpointRequest& request, const CommandContext& context) {
  const auto said = [](const std::string& text) { return text.empty() ? std::nullopt : std::optional(text); };
  const front::BaseChoice choice{.revision = said(request.revision), .cache_dir = said(request.cache_dir)};
  const front::StopFlag stop;
  const storage::ExportResult result =
      front::merge_adapter(request.folder, request.out, shard_size(request.max_shard_size), choice,
                           context.environment, [&] { end_if_stopped(stop, request.out); });
  context.out << request.out << ": " << result.tensors << " tensors, " << format_bytes(result.bytes) << " in "
              << result.files << " files\n";
  if (choice.cache_dir && front::stands_beside_folder(request.folder))
    context.err << "note: --cache_dir has no effect: the base model is a folder" << std::endl;
  for (const std::string& key : front::unknown_keys_of_adapter(request.folder))
    context.err << "note: " << key << " of " << request.folder << '/' << architectures::kAdapterConfigName
                << " has no effect: " << architectures::kUnknownToPeft << std::endl;
  return ExitCode::kDone;
}

}  // namespace

ExitCode run_checkpoint(const CommandContext& context) {
  const std::vector<std::string>& words = context.arguments;
  const std::string action = words.empty() ? "" : words.front();
  const std::vector<std::string> actions = {"verify", "inspect", "export", "merge"};
  if (std::find(actions.begin(), actions.end(), action) == actions.end()) {
    if (answered(words, kCheckpointUsage, context)) return ExitCode::kDone;
    throw_unknown_action("hftrain checkpoint", action, actions);
  }
  CheckpointRequest request;
  if (!checkpoint_options(action, request).read({words.begin() + 1, words.end()}, context))
    return ExitCode::kDone;
  if (action == "verify") return verify(request.folder, context.out);
  if (action == "inspect") return inspect(request, context.out);
  return action == "merge" ? merge(request, context) : export_folder(request, context.out);
}

}  // namespace hftrain::app
