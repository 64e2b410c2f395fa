// hftrain sample-data KIND OUT [--seed N] [--size N]: seeded example data with a known loss floor.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "command.h"
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
  uint64_t seed = 42;
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
  if (flags.out.ends_with(".txt")) {
    write_sample(flags.out, data::sample_text(flags.seed, flags.size), context);
  } else {
    write_sample(flags.out + "/train.txt", data::sample_text(flags.seed, flags.size), context);
    write_sample(flags.out + "/validation.txt",
                 data::sample_text(flags.seed ^ kOtherStream, flags.size / kValidationShare), context);
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
  CLI::App app("Write seeded example data with a known loss floor", "hftrain sample-data");
  app.add_option("KIND", flags.kind, "text; planned: " + join(kPlannedKinds, ", "))->required();
  app.add_option(
         "OUT", flags.out,
         "a file when it ends in .txt, else a folder that gets train.txt and validation.txt (a twentieth "
         "of the size)")
      ->required();
  app.add_option("--seed", flags.seed, "the same seed gives the same bytes on every machine")
      ->default_val(flags.seed);
  app.add_option("--size", flags.size, "bytes of training text; whole lines, so a little less")
      ->default_val(flags.size)
      ->check(CLI::PositiveNumber);
  std::vector<std::string> arguments = context.arguments;
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    context.out << app.help();
    return ExitCode::kDone;
  } catch (const CLI::ParseError& error) {
    throw Error(ExitCode::kUsage, error.what()).hint("see 'hftrain sample-data --help'");
  }
  if (std::find(kPlannedKinds.begin(), kPlannedKinds.end(), flags.kind) != kPlannedKinds.end()) {
    throw Error(ExitCode::kUsage, "sample data of the kind " + flags.kind + " is planned and not there yet")
        .hint("the kind that is there is text");
  }
  if (flags.kind != "text") {
    throw Error(ExitCode::kUsage, "unknown kind '" + flags.kind + "'")
        .why("the kind that is there is text; planned are " + join(kPlannedKinds, ", "));
  }
  if (flags.size < 1) throw Error(ExitCode::kUsage, "--size must be 1 or more");
  write_text(flags, context);
  return ExitCode::kDone;
}

}  // namespace hftrain::app
