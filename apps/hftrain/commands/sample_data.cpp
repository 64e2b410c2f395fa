// hftrain sample-data KIND OUT [--seed N] [--size N]: seeded example data with a known loss floor.
#include <fmt/format.h>

#include <cmath>

#include "command.h"
#include "command_options.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/named_path.h"
#include "hftrain/base/text.h"
#include "hftrain/data/sample_classes.h"
#include "hftrain/data/sample_images.h"
#include "hftrain/data/sample_instructions.h"
#include "hftrain/data/sample_questions.h"
#include "hftrain/data/sample_sequences.h"
#include "hftrain/data/sample_tags.h"
#include "hftrain/data/sample_text.h"

namespace hftrain::app {
namespace {

constexpr const char* kImages = "images";  // the kind that is a folder of files
// The validation file of a folder: other rows of the same kind, and how much less of them.
constexpr uint64_t kOtherStream = 0x5DEECE66Dull << 20;
constexpr int64_t kValidationShare = 20;
constexpr int64_t kImageValidationShare = 5;  // of images there are fewer

std::string text_floor_line() {
  const double nats = data::sample_text_floor().nats_per_character();
  return fmt::format(
      "loss floor: {:.4f} nats ({:.4f} bits) per character; times the characters per token of a tokenizer it "
      "is "
      "the lowest loss per token",
      nats, nats / std::log(2.0));
}

std::string tags_floor_line() {
  const data::TagFloor floor = data::sample_tags_floor();
  return fmt::format("loss floor: {:.4f} nats per word, accuracy {:.4f}", floor.nats_per_word,
                     floor.accuracy);
}

std::string questions_floor_line() {
  return "loss floor: 0, exact match 100: every answer follows from its context";
}

std::string sequences_floor_line() {
  return "loss floor: 0: summaries and translations follow from what is read";
}

std::string class_floor_line(const data::ClassFloor& floor) {
  return fmt::format("loss floor: {:.4f} nats per row, accuracy {:.4f}", floor.nats_per_row, floor.accuracy);
}

std::string instructions_floor_line() {
  return "loss floor of the answers: 0: every one follows from its question";
}

struct SampleKind {
  std::string name;
  std::string extension;
  std::string (*make)(uint64_t seed, int64_t bytes);
  std::string (*floor_line)();  // what no model can undercut
};

const std::vector<SampleKind>& sample_kinds() {
  static const std::vector<SampleKind> kKinds = {
      {"text", ".txt", data::sample_text, text_floor_line},
      {"instructions", ".jsonl", data::sample_instructions, instructions_floor_line},
      {"classification", ".jsonl", data::sample_classes,
       [] { return class_floor_line(data::sample_classes_floor()); }},
      {"pairs", ".jsonl", data::sample_pairs, [] { return class_floor_line(data::sample_pairs_floor()); }},
      {"tags", ".jsonl", data::sample_tags, tags_floor_line},
      {"qa", ".jsonl", data::sample_questions, questions_floor_line},
      {"seq2seq", ".jsonl", data::sample_sequences, sequences_floor_line}};
  return kKinds;
}

std::string kind_names(const char* between) {
  std::vector<std::string> names;
  for (const SampleKind& kind : sample_kinds()) names.push_back(kind.name);
  names.push_back(kImages);
  return join(names, between);
}

const SampleKind& kind_named(const std::string& name) {
  for (const SampleKind& kind : sample_kinds()) {
    if (kind.name == name) return kind;
  }
  throw Error(ExitCode::kUsage, "unknown kind '" + name + "'")
      .where("KIND")
      .why("the kinds are " + kind_names(", "))
      .hint("hftrain sample-data text OUT, for example");
}

struct SampleFlags {
  std::string kind;
  std::string out;
  int64_t seed = 42;
  int64_t size = 1 << 20;
};

void put_sample(const std::string& path, const std::string& bytes) {
  std::error_code ignored;
  const bool holds_something = path_exists(path) && !std::filesystem::is_other(path, ignored);
  if (holds_something && read_file(path) != bytes) {
    throw Error(ExitCode::kUsage, "the file is there already and holds something else")
        .where(path)
        .why("nothing is written over")
        .hint("remove it, or name another place");
  }
  write_named_file(path, bytes);
}

void write_sample(const std::string& path, const std::string& text, const CommandContext& context) {
  put_sample(path, text);
  context.err << with_thousands(static_cast<int64_t>(text.size())) << " bytes of text in " << path << '\n';
}

void write_samples(const SampleKind& kind, const SampleFlags& flags, const CommandContext& context) {
  const auto seed = static_cast<uint64_t>(flags.seed);
  if (flags.out.ends_with(kind.extension)) {
    write_sample(flags.out, kind.make(seed, flags.size), context);
  } else {
    write_sample(flags.out + "/train" + kind.extension, kind.make(seed, flags.size), context);
    write_sample(flags.out + "/validation" + kind.extension,
                 kind.make(seed ^ kOtherStream, flags.size / kValidationShare), context);
  }
  context.err << kind.floor_line() << std::endl;
}

// OUT/train/CLASS/NUMBER.png and so on.
void write_images(const SampleFlags& flags, const CommandContext& context) {
  const auto seed = static_cast<uint64_t>(flags.seed);
  const auto write = [&](const char* split, uint64_t stream, int64_t bytes) {
    int64_t images = 0;
    data::sample_images(stream, bytes, [&](const data::SampleImage& image) {
      put_sample(flags.out + '/' + split + '/' + image.name, image.bytes);
      ++images;
    });
    context.err << with_thousands(images) << " images in " << flags.out << '/' << split << '\n';
  };
  write("train", seed, flags.size);
  write("validation", seed ^ kOtherStream, flags.size / kImageValidationShare);
  const data::ImageFloor floor = data::sample_images_floor();
  context.err << fmt::format("loss floor: {:.4f} nats per image; accuracy at most {:.4f}",
                             floor.nats_per_image, floor.accuracy)
              << std::endl;
}

}  // namespace

ExitCode run_sample_data(const CommandContext& context) {
  SampleFlags flags;
  CommandOptions options("hftrain sample-data", "Write seeded example data with a known loss floor");
  options.text("KIND", flags.kind, kind_names("|"), kind_names(", "), CommandOptions::Need::kRequired);
  options.path(
      "OUT", flags.out, "OUT",
      "a file when it ends in the kind's extension (.txt of text, .jsonl of the others), else a folder that "
      "gets train and validation files (a twentieth of the size); of images a folder that gets train and "
      "validation (a fifth), each with a folder for each class",
      CommandOptions::Need::kRequired);
  options.number("--seed", flags.seed, 0, "the same seed gives the same bytes on every machine");
  options.number("--size", flags.size, 1, "bytes of training data; of lines whole ones, so a little less");
  if (!options.read(context.arguments, context)) return ExitCode::kDone;
  if (flags.kind == kImages) {
    write_images(flags, context);
    return ExitCode::kDone;
  }
  write_samples(kind_named(flags.kind), flags, context);
  return ExitCode::kDone;
}

}  // namespace hftrain::app
