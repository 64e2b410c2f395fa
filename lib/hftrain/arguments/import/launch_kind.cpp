// What --multi_gpu and --mixed_precision of a launch mean, by flags or by an Accelerate file.
#include <array>

#include "hftrain/arguments/import/accelerate.h"
#include "hftrain/arguments/import/launch.h"
#include "hftrain/arguments/merge.h"

namespace hftrain::arguments {
namespace {

bool on(const ParseOutcome& outcome, const char* flag) {
  const auto found = outcome.unread.find(flag);
  return found != outcome.unread.end() && found->second == true;
}

// Rule L2 of --cpu, the launcher's word, beside its other flags; the Trainer's, --use_cpu, goes with every kind of run, and a
// file of any kind runs on the CPU.
void check_cpu(const ParseOutcome& outcome, Diagnostics& problems) {
  if (!outcome.arguments.device.use_cpu || outcome.origins.of("use_cpu") != "--cpu") return;
  for (const char* other : {"use_deepspeed", "use_fsdp"}) {
    if (!on(outcome, other) || !outcome.origins.of(other).starts_with("--")) continue;
    problems.push_back({.what = std::string("cpu and ") + other + " exclude each other",
                        .where = outcome.origins.describe("use_cpu") + ", " + outcome.origins.describe(other),
                        .why = "a launch is of one kind",
                        .hint = "--use_cpu instead of --cpu, to shard on the CPU"});
  }
}

// Rules L2 and L3: a run is of one kind, and multi_gpu is for several ranks.
void check_kind(const ParseOutcome& outcome, Diagnostics& problems) {
  check_cpu(outcome, problems);
  if (!on(outcome, "multi_gpu")) return;
  const auto refuse = [&](const char* other, const std::string& what) {
    problems.push_back(
        {.what = what,
         .where = outcome.origins.describe("multi_gpu") + ", " + outcome.origins.describe(other),
         .why = values_of(std::array<std::string_view, 2>{"multi_gpu", other}, outcome),
         .hint = "leave one of them out"});
  };
  for (const char* other : {"use_deepspeed", "use_fsdp"}) {
    if (on(outcome, other)) refuse(other, std::string("multi_gpu and ") + other + " exclude each other");
  }
  if (outcome.arguments.device.use_cpu) refuse("use_cpu", "multi_gpu and use_cpu exclude each other");
  if (outcome.arguments.launch.nproc_per_node == "1" && machines_of(outcome.arguments.launch.nnodes) == 1)
    refuse("nproc_per_node", "multi_gpu needs 2 ranks or more");
}

constexpr const char* kFlagsWin = "the flags fp16 and bf16 win";

// On the command line it is a word against other files' fp16 and bf16, as --bf16 false is.
void decline_both(ParseOutcome& outcome) {
  const std::string& origin = outcome.origins.of("mixed_precision");
  if (!origin.starts_with("--")) return;
  const PrecisionArguments& precision = outcome.arguments.precision;
  if (precision.fp16 || precision.bf16)
    outcome.notes.push_back({.severity = Diagnostic::Severity::kNote,
                             .what = std::string(kFlagsWin) + " over mixed_precision no",
                             .where = place(origin),
                             .why = "",
                             .hint = ""});
  for (const char* flag : {"fp16", "bf16"}) {
    if (!outcome.origins.is_given(flag)) outcome.origins.set(flag, origin);
  }
}

void import_mixed_precision(ParseOutcome& outcome, Diagnostics& problems) {
  const auto found = outcome.unread.find("mixed_precision");
  if (found == outcome.unread.end() || found->second.is_null()) return;
  if (found->second == "no") return decline_both(outcome);
  const auto word = found->second.get<std::string>();
  const std::string& origin = outcome.origins.of("mixed_precision");
  if (word == "fp8") {
    problems.push_back({.what = "mixed_precision fp8 is not supported",
                        .where = outcome.origins.describe("mixed_precision"),
                        .why = "there is no 8-bit floating point training",
                        .hint = "use bf16"});
    return;
  }
  PrecisionArguments& precision = outcome.arguments.precision;
  // Switched off by somebody, other than by a file that repeats the default.
  const bool refused = outcome.origins.is_given(word) && outcome.origins.is_chosen(word);
  if (!precision.fp16 && !precision.bf16 && !refused) {
    (word == "fp16" ? precision.fp16 : precision.bf16) = true;
    return outcome.origins.set(word, origin);
  }
  if (word == "fp16" ? precision.fp16 : precision.bf16) return;
  const bool variable = origin.starts_with(kEnvironmentOrigin);
  const std::string win = kFlagsWin;
  outcome.notes.push_back({.severity = Diagnostic::Severity::kNote,
                           .what = variable ? origin.substr(kEnvironmentOrigin.size()) + '=' + word +
                                                  " of the environment has no effect"
                                            : win + " over mixed_precision " + word,
                           .where = place(origin),
                           .why = variable ? win : "",
                           .hint = ""});
  if (precision.fp16 || precision.bf16) return;
  // A file that --print_config writes says false of both as it says every default, and the word would win there.
  found->second = "no";
  outcome.origins.set("mixed_precision", outcome.origins.of(word));
}

}  // namespace

void import_launch(ParseOutcome& outcome, Diagnostics& unrunnable) {
  check_kind(outcome, unrunnable);
  import_mixed_precision(outcome, unrunnable);
}

}  // namespace hftrain::arguments
