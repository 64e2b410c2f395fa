// hftrain sample-data KIND OUT [--seed N] [--size N]: seeded example data with a known loss floor.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "command.h"
#include "command_options.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/data/sample_text.h"

namespace hftrain::app {
namespace {

const std::vector<std::string> kPlannedKinds = {"instructions", "classification", "pairs", "tags",
                                                "qa",           "seq2seq",        "images"};
// The validation file of a folder: other text of the same kind, and how much less of it.
constexpr uint64_t kOtherStream = 0x5DEECE66Dull << 20;
constexpr int64_t kValidationShare = 20;

struct SampleFlags {
  std::string kind;
  std::string out;
  int64_t seed = 42;
  int64_t size = 1 << 20;
};

void write_sample(const std::string& path, const std::string& text, const CommandContext& context) {
  if (path_exists(path) && read_file(path) != text) {
    throw Error(ExitCode::kUsage, "the file is there already and holds something else")
        .where(path)
        .hint("remove it, or name another place");
  }
  write_file_atomically(path, text);
  context.err << with_thousands(static_cast<int64_t>(text.size())) << " bytes of text in " << path << '\n';
}

void write_text(const SampleFlags& flags, const CommandContext& context) {
  const auto seed = static_cast<uint64_t>(flags.seed);
  if (flags.out.ends_with(".txt")) {
    write_sample(flags.out, data::sample_text(seed, flags.size), context);
  } else {
    write_sample(flags.out + "/train.txt", data::sample_text(seed, flags.size), context);
    write_sample(flags.out + "/validation.txt",
                 data::sample_text(seed ^ kOtherStream, flags.size / kValidationShare), context);
  }
  const data::TextFloor floor = data::sample_text_floor();
  const double nats = floor.nats_per_character();
  context.err
      << fmt::format(
             "loss floor: {:.4f} nats ({:.4f} bits) per character; times the characters per token of a "
             "tokenizer it is the lowest loss per token",
             nats, nats / std::log(2.0))
      << std::endl;
}

}  // namespace

ExitCode run_sample_data(const CommandContext& context) {
  SampleFlags flags;
  CommandOptions options("hftrain sample-data", "Write seeded example data with a known loss floor");
  options.text("KIND", flags.kind, "KIND", "text; planned: " + join(kPlannedKinds, ", "),
               CommandOptions::Need::kRequired);
  options.text(
      "OUT", flags.out, "OUT",
      "a file when it ends in .txt, else a folder that gets train.txt and validation.txt (a twentieth "
      "of the size)",
      CommandOptions::Need::kRequired);
  options.number("--seed", flags.seed, 0, "the same seed gives the same bytes on every machine");
  options.number("--size", flags.size, 1, "bytes of training text; whole lines, so a little less");
  if (!options.read(context.arguments, context)) return ExitCode::kDone;
  if (std::find(kPlannedKinds.begin(), kPlannedKinds.end(), flags.kind) != kPlannedKinds.end()) {
    throw Error(ExitCode::kUsage, "sample data of the kind " + flags.kind + " is planned and not there yet")
        .hint("the kind that is there is text");
  }
  if (flags.kind != "text") {
    throw Error(ExitCode::kUsage, "unknown kind '" + flags.kind + "'")
        .why("the kind that is there is text; planned are " + join(kPlannedKinds, ", "));
  }
  write_text(flags, context);
  return ExitCode::kDone;
}

}  // namespace hftrain::app
