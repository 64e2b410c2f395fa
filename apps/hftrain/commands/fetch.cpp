// hftrain fetch NAME [--revision R] [--dataset] [--cache_dir DIR] [--json]
#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>
#include <string>

#include "command.h"
#include "command_options.h"
#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/base/secrets.h"
#include "hftrain/base/text.h"
#include "hftrain/hub/fetch.h"
#include "hftrain/plan/hub_cache.h"

namespace hftrain::app {
namespace {

constexpr double kSecondsBetweenLines = 5;

struct FetchOrder {
  std::string name, revision = "main", cache_dir;
  bool dataset = false, json = false;
};

Error no_name_of_the_hub(const std::string& name) {
  return Error(ExitCode::kUsage, "'" + name + "' is no name of the hub")
      .where("command line")
      .why("a name is ORGANISATION/NAME, or NAME alone, of letters, digits, -, _ and .")
      .hint("hftrain fetch ORGANISATION/NAME, with --dataset for a data set");
}

// A line for each file, and one now and then of a file that takes its time.
class ShownFetch {
 public:
  explicit ShownFetch(std::ostream& err) : err_(err) {}
  void has(const hub::RemoteFile& file, uint64_t bytes) {
    const double now = monotonic_seconds();
    if (bytes < file.size && now - last_ < kSecondsBetweenLines) return;
    last_ = now;
    err_ << file.path << ": " << (bytes < file.size ? format_bytes(bytes) + " of " : "")
         << format_bytes(file.size) << std::endl;
  }
  void waits(const hub::RemoteFile& file) {
    err_ << file.path << ": another program is fetching it, and is waited for" << std::endl;
  }

 private:
  std::ostream& err_;
  double last_ = monotonic_seconds();
};

void tell(const CommandContext& context, const FetchOrder& order, const hub::FetchResult& result) {
  if (order.json) {
    context.out << dump_json({{"schema", 1},
                              {"name", order.name},
                              {"commit", result.commit},
                              {"folder", result.snapshot},
                              {"files", result.files},
                              {"bytes", result.bytes},
                              {"received", result.received},
                              {"pickles_left_out", result.pickles},
                              {"others_left_out", result.others}})
                << '\n';
    return;
  }
  if (!result.pickles.empty())
    context.err << "left out, for pickles are never fetched: " << join(result.pickles, ", ") << '\n';
  if (!result.others.empty())
    context.err << "left out, weights of other frameworks: " << join(result.others, ", ") << '\n';
  context.err << result.files << (result.files == 1 ? " file, " : " files, ") << format_bytes(result.bytes)
              << (result.received == 0 ? ", all there already"
                                       : ", " + format_bytes(result.received) + " fetched")
              << std::endl;
  context.out << result.snapshot << '\n';
}

}  // namespace

ExitCode run_fetch(const CommandContext& context) {
  FetchOrder order;
  CommandOptions options(
      "hftrain fetch",
      "A model or a data set of the Hub into the local cache, where --model_name_or_path and "
      "--dataset_name, transformers and datasets find it",
      "What was interrupted is gone on from, and every file has the hash that the Hub says. Pickles "
      "are never fetched.\nThe token is HF_TOKEN, or what `hf auth login` has stored. "
      "HF_ENDPOINT names another Hub.");
  options.text("NAME", order.name, "ORG/NAME", "of the model or the data set",
               CommandOptions::Need::kRequired);
  options.text("--revision", order.revision, "REVISION", "a branch, a tag or a commit");
  options.flag("--dataset", order.dataset, "a data set, not a model");
  options.path("--cache_dir", order.cache_dir, "DIR", "unset: HF_HUB_CACHE, $HF_HOME/hub, …");
  options.flag("--json", order.json, "for machines");
  if (!options.read(context.arguments, context)) return ExitCode::kDone;
  if (!plan::is_hub_name(order.name)) throw no_name_of_the_hub(order.name);
  const std::optional<std::string> asked =
      order.cache_dir.empty() ? std::nullopt : std::optional(order.cache_dir);
  hub::FetchRequest request;
  request.repository = {order.name, order.dataset ? hub::Kind::kDataset : hub::Kind::kModel};
  request.revision = order.revision;
  request.cache = plan::hub_cache_folder(asked, context.environment);
  request.folder = plan::repository_folder(request.cache, order.name,
                                           order.dataset ? plan::HubKind::kDataset : plan::HubKind::kModel);
  hub::Access access = hub::read_access(context.environment, std::nullopt);
  access.quiet_seconds = access.stall_seconds;
  access.waits = [&context](double seconds, const std::string& why) {
    context.err << why << ": fetching goes on "
                << (seconds < 1 ? "at once" : "in " + std::to_string(std::lround(seconds)) + " s")
                << std::endl;
  };
  hub::Api api(std::move(access));
  context.err << "asking " << masked("HF_ENDPOINT", api.endpoint()) << " for " << request.repository.shown()
              << std::endl;
  ShownFetch shown(context.err);
  const hub::Progress progress = {
      .has = [&shown](const hub::RemoteFile& file, uint64_t bytes) { shown.has(file, bytes); },
      .waits = [&shown](const hub::RemoteFile& file) { shown.waits(file); }};
  tell(context, order, hub::fetch(api, request, progress));
  return ExitCode::kDone;
}

}  // namespace hftrain::app
