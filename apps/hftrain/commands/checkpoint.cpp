// hftrain checkpoint verify DIR | inspect DIR [--json] | export DIR OUT [--max_shard_size SIZE]
#include <algorithm>
#include <ostream>

#include "command.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "hftrain/storage/checkpoint_summary.h"
#include "hftrain/storage/model_export.h"
#include "hftrain/storage/model_folder.h"

namespace hftrain::app {
namespace {

constexpr int64_t kDefaultShardBytes = 50'000'000'000;  // as transformers 5

constexpr const char* kUsage =
    "usage: hftrain checkpoint verify DIR\n"
    "       hftrain checkpoint inspect DIR [--json]\n"
    "       hftrain checkpoint export DIR OUT [--max_shard_size SIZE]\n"
    "\n"
    "verify   hashes every file against the manifest; prints ok, or names the first bad file (exit code 4)\n"
    "inspect  step, plan, tensors, shapes, dtypes and shards of a checkpoint or model folder\n"
    "export   a plain transformers folder: config, tokenizer and weights, without optimizer and run state;\n"
    "         --max_shard_size (default 50GB) in KB, MB, GB or TB of 1000\n";

// The words behind the action: folders, and the flags of that action.
struct Request {
  std::vector<std::string> folders;
  bool json = false;
  int64_t max_shard_bytes = kDefaultShardBytes;
};

Error usage_error(const std::string& what) {
  return Error(ExitCode::kUsage, what).hint("hftrain checkpoint --help");
}

int64_t shard_size(const std::string& text) {
  if (const auto bytes = storage::parse_shard_size(text)) return *bytes;
  throw usage_error("'" + text + "' is not a size")
      .where("--max_shard_size")
      .why("a size is a number with KB, MB, GB or TB");
}

// A dash and an underscore are equal in flags.
std::string canonical(std::string flag) {
  std::replace(flag.begin() + 2, flag.end(), '-', '_');
  return flag;
}

Request parse(const std::string& action, const std::vector<std::string>& words) {
  Request request;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].rfind("--", 0) != 0) {
      request.folders.push_back(words[i]);
      continue;
    }
    const size_t equals = words[i].find('=');
    const std::string flag = canonical(words[i].substr(0, equals));
    if (flag == "--json" && action == "inspect" && equals == std::string::npos) {
      request.json = true;
    } else if (flag == "--max_shard_size" && action == "export") {
      if (equals == std::string::npos && ++i == words.size())
        throw usage_error("--max_shard_size needs a value");
      request.max_shard_bytes =
          shard_size(equals == std::string::npos ? words[i] : words[i].substr(equals + 1));
    } else {
      throw usage_error("checkpoint " + action + " does not know " + words[i]);
    }
  }
  const size_t wanted = action == "export" ? 2 : 1;
  if (request.folders.size() != wanted) {
    throw usage_error("checkpoint " + action + " takes " +
                      (wanted == 1 ? "one folder" : "two folders: DIR and OUT"));
  }
  return request;
}

// A folder that holds checkpoints is easily given in place of one of them.
std::string name_a_checkpoint(const std::string& folder) {
  const auto checkpoints = storage::list_checkpoints(folder);
  return checkpoints.empty() ? "" : "name one of the checkpoints in it: " + checkpoints.back().path;
}

ExitCode verify(const std::string& folder, std::ostream& out) {
  if (!path_exists(folder)) throw Error(ExitCode::kData, "no such folder").where(folder);
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

ExitCode inspect(const Request& request, std::ostream& out) {
  const storage::CheckpointSummary summary = storage::summarize_checkpoint(request.folders.front());
  out << (request.json ? dump_json(storage::summary_to_json(summary)) + '\n'
                       : storage::render_summary(summary));
  return ExitCode::kDone;
}

ExitCode export_folder(const Request& request, std::ostream& out) {
  storage::PosixFileSystem files;
  const storage::ExportResult result =
      storage::export_model(files, request.folders[0], request.folders[1], request.max_shard_bytes);
  out << request.folders[1] << ": " << result.tensors << " tensors, " << format_bytes(result.bytes) << " in "
      << result.files << " files\n";
  return ExitCode::kDone;
}

}  // namespace

ExitCode run_checkpoint(const CommandContext& context) {
  const std::vector<std::string>& words = context.arguments;
  if (words.empty()) throw usage_error("checkpoint needs an action: verify, inspect or export");
  const bool wants_help = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "--help" || word == "-h" || word == "--help-all" || word == "--help_all";
  });
  if (wants_help) {
    context.out << kUsage;
    return ExitCode::kDone;
  }
  const std::string& action = words.front();
  const bool known = action == "verify" || action == "inspect" || action == "export";
  if (!known) {
    throw usage_error("checkpoint does not know the action '" + action + "'")
        .why("the actions are verify, inspect and export");
  }
  const Request request = parse(action, {words.begin() + 1, words.end()});
  if (action == "verify") return verify(request.folders.front(), context.out);
  if (action == "inspect") return inspect(request, context.out);
  return export_folder(request, context.out);
}

}  // namespace hftrain::app
