// hftrain tokenizer train | encode | decode
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>

#include "command.h"
#include "command_options.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"
#include "hftrain/data/line_reader.h"
#include "hftrain/data/row_format.h"
#include "hftrain/storage/model_folder.h"
#include "hftrain/tokenizer/tokenizer.h"
#include "hftrain/tokenizer/tokenizer_training.h"

namespace hftrain::app {
namespace {

using tokenizer::TokenId;
using tokenizer::Tokenizer;

struct TrainFlags {
  std::string kind = "bpe";
  std::string output;
  std::vector<std::string> files;
  tokenizer::TokenizerTraining training;
};

void declare_train_options(CommandOptions& options, TrainFlags& flags) {
  tokenizer::TokenizerTraining& training = flags.training;
  options.text(
      "--kind", flags.kind, "bpe|wordpiece|unigram|wordlevel",
      "bpe (byte-level), wordpiece (longest pieces first), unigram (likeliest pieces) or wordlevel (whole "
      "words)");
  options.number("--vocab_size", training.vocab_size, 1,
                 "tokens, special ones and single characters or bytes included");
  options.paths("--files", flags.files, "FILE",
                "text files, or .jsonl, .json, .csv, .tsv and .parquet with a column text",
                CommandOptions::Need::kRequired);
  options.path("--output", flags.output, "DIR", "folder for tokenizer.json and tokenizer_config.json",
               CommandOptions::Need::kRequired);
  options.number(
      "--min_frequency", training.min_frequency, 1,
      "how often a pair must occur to be merged, or a word to be a token: 2 unless set; not for unigram");
  options.texts(
      "--special_tokens", training.special_tokens, "TOKEN",
      "tokens with the first ids, left out when decoding; unless set <|endoftext|>, with wordpiece "
      "[PAD] [UNK] [CLS] [SEP] [MASK], with unigram <pad> </s> <unk>, with wordlevel <pad> <s> </s> <unk>");
  options.truth("--lowercase", training.lowercase, "wordpiece: lower case without accents; true unless set");
  options.number("--limit_alphabet", training.limit_alphabet, 1,
                 "wordpiece: keep this many of the most frequent characters; all unless set");
}

// The column of a file of records that training reads: text, else the first one, which is told.
data::RowOptions told_column(const std::string& path, std::ostream& told) {
  data::RowOptions options;
  options.columns.choose = [&told, path,
                            choose = options.columns.choose](const std::vector<std::string>& names) {
    const std::vector<std::string> chosen = choose(names);
    if (chosen.front() != "text")
      told << "note: of " << path << " the column '" << chosen.front()
           << "' is learnt: it has none called text" << std::endl;
    return chosen;
  };
  return options;
}

// Rows of a file of records; false: it is none, and its lines are text.
bool read_rows(const std::string& path, const std::function<void(std::string_view)>& take,
               std::ostream& told) {
  const std::optional<data::RowFormat> format = data::row_format(path);
  if (!format || format == data::RowFormat::kText || format == data::RowFormat::kLinePairs) return false;
  const auto rows = data::open_rows({{path, *format}}, told_column(path, told));
  data::Records records(1);
  for (; rows->next(records); records.clear()) {
    const data::Value value = records.value(0, 0);
    if (value.kind() == data::ValueKind::kText) take(value.text());
  }
  return true;
}

// Whose ids would stand for other texts from then on.
void refuse_folder_of_model(const std::string& folder) {
  if (!storage::has_model_weights(folder)) return;
  throw Error(ExitCode::kUsage, "the folder holds a model, whose tokenizer would be replaced")
      .where("--output " + folder)
      .why("its weights have learnt the tokens that are there")
      .hint("another folder; --tokenizer_name takes it for a run");
}

ExitCode train(const CommandContext& context, const std::vector<std::string>& words) {
  TrainFlags flags;
  CommandOptions options("hftrain tokenizer train", "Learn a vocabulary from text files");
  declare_train_options(options, flags);
  if (!options.read(words, context)) return ExitCode::kDone;
  flags.training.kind = tokenizer::tokenizer_kind(flags.kind);
  refuse_folder_of_model(flags.output);
  const auto rows = [&](const std::string& path, const std::function<void(std::string_view)>& take) {
    return read_rows(path, take, context.err);
  };
  const int64_t tokens = tokenizer::train_tokenizer(flags.training, flags.files, flags.output, rows);
  context.err << with_thousands(tokens) << " tokens in " << flags.output << std::endl;
  if (tokens < flags.training.vocab_size) {
    context.err << "warning: the text has too few repeated pieces to fill --vocab_size" << std::endl;
  }
  if (tokens > flags.training.vocab_size) {
    context.err << "warning: the characters of the text alone are more than --vocab_size; --limit_alphabet "
                   "keeps the most frequent"
                << std::endl;
  }
  return ExitCode::kDone;
}

struct CodingFlags {
  std::string tokenizer_name;
  std::string file;
  std::vector<std::string> words;
  bool special_tokens = true;
  bool json = false;
};

void add_tokenizer(CommandOptions& options, CodingFlags& flags) {
  options.path("--tokenizer_name", flags.tokenizer_name, "DIR",
               "folder with tokenizer.json, or the file itself", CommandOptions::Need::kRequired);
}

std::string ids_as_text(const std::vector<TokenId>& ids) {
  std::string text;
  for (const TokenId id : ids) {
    if (!text.empty()) text += ' ';
    text += std::to_string(id);
  }
  return text;
}

Json as_json(const tokenizer::Encoding& encoding) {
  Json offsets = Json::array();
  for (const auto& [begin, end] : encoding.offsets) offsets.push_back({begin, end});
  return {{"schema", 1},        {"ids", encoding.ids},           {"tokens", encoding.tokens},
          {"offsets", offsets}, {"type_ids", encoding.type_ids}, {"attention_mask", encoding.attention_mask}};
}

using UseLine = std::function<void(const std::string& line)>;

// As generate reads prompts and training its files: neither sees the "\r" of a line end.
void use_line(std::string& line, const UseLine& use) {
  if (line.ends_with('\r')) line.pop_back();
  use(line);
}

void for_each_line_of_file(const std::string& path, const UseLine& use) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error(ExitCode::kData, "cannot read '" + path + "'")
        .where("--file")
        .why("it is a folder")
        .hint("a file of texts, one per line");
  constexpr size_t kLongest = size_t{1} << 30;  // bytes
  data::LineReader lines(path, data::LineReader::Newlines::kUnix, kLongest);
  std::string line;
  while (lines.next(line) != data::LineReader::Ending::kNothingLeft) {
    use_line(line, use);
    line.clear();
  }
}

void for_each_line_of_input(const UseLine& use) {
  for (std::string line; std::getline(std::cin, line);) use_line(line, use);
  if (!std::cin.bad() && std::ferror(stdin) == 0) return;
  const int failure = errno;
  throw Error(ExitCode::kData, "reading ended with an error")
      .where("standard input")
      .why(std::strerror(failure))
      .hint("a file of texts, one per line, or a pipe");
}

// Every TEXT, every line of the file, or every line of standard input.
void for_each_text(const CodingFlags& flags, const UseLine& use) {
  int64_t number = 0;
  const auto use_at = [&](const std::string& place, const std::string& text) {
    ++number;
    try {
      use(text);
    } catch (Error& error) {
      if (error.diagnostics().front().where.empty()) error.where(place + std::to_string(number));
      throw;
    }
  };
  for (const std::string& text : flags.words) use_at("TEXT ", text);
  if (!flags.words.empty()) return;
  if (flags.file.empty())
    return for_each_line_of_input([&](const std::string& line) { use_at("standard input:", line); });
  for_each_line_of_file(flags.file, [&](const std::string& line) { use_at(flags.file + ':', line); });
}

ExitCode encode(const CommandContext& context, const std::vector<std::string>& words) {
  CodingFlags flags;
  CommandOptions options("hftrain tokenizer encode", "Print the token ids of text, one line per text");
  add_tokenizer(options, flags);
  options.path("--file", flags.file, "FILE",
               "a text per line, .gz and .zst too; without it and without TEXT: standard input");
  options.texts("TEXT", flags.words, "TEXT", "texts; after -- those that begin with a dash");
  options.truth("--add_special_tokens", flags.special_tokens, "special tokens around every text");
  options.flag("--json", flags.json,
               "one object per text: ids, tokens, offsets in characters, type_ids, attention_mask");
  if (!options.read(words, context)) return ExitCode::kDone;
  if (!flags.file.empty() && !flags.words.empty()) {
    throw Error(ExitCode::kUsage, "--file and TEXT cannot be given together")
        .where("--file")
        .why("texts come from one place: the file, the command line, or standard input")
        .hint("leave one of them out");
  }
  const auto tokenizer = Tokenizer::load(flags.tokenizer_name);
  for_each_text(flags, [&](const std::string& text) {
    const tokenizer::Encoding encoding = tokenizer->encode(text, flags.special_tokens);
    context.out << (flags.json ? dump_json(as_json(encoding), -1) : ids_as_text(encoding.ids)) << '\n';
  });
  context.out.flush();
  return ExitCode::kDone;
}

std::vector<TokenId> read_ids(const std::string& text) {
  std::vector<TokenId> ids;
  for (const std::string& word : split_words(text)) {
    const auto id = whole_number<TokenId>(word);
    if (!id)
      throw Error(ExitCode::kUsage, "'" + word + "' is not a token id")
          .where("IDS")
          .why("ids are whole numbers from 0 to 2147483647, with spaces between them")
          .hint("as 'hftrain tokenizer encode' prints them: 15496 995");
    ids.push_back(*id);
  }
  return ids;
}

ExitCode decode(const CommandContext& context, const std::vector<std::string>& words) {
  CodingFlags flags;
  CommandOptions options("hftrain tokenizer decode", "Print the text of token ids, one line per list");
  add_tokenizer(options, flags);
  options.texts("IDS", flags.words, "IDS",
                "ids of one text; without them: a list per line of standard input");
  options.truth("--skip_special_tokens", flags.special_tokens, "leave special tokens out");
  if (!options.read(words, context)) return ExitCode::kDone;
  if (!flags.words.empty()) flags.words = {join(flags.words, " ")};
  const auto tokenizer = Tokenizer::load(flags.tokenizer_name);
  for_each_text(flags, [&](const std::string& line) {
    context.out << tokenizer->decode(read_ids(line), flags.special_tokens) << '\n';
  });
  context.out.flush();
  return ExitCode::kDone;
}

constexpr const char* kTokenizerUsage =
    "usage: hftrain tokenizer train  [--kind K] --vocab_size N --files F... --output DIR   learn a "
    "vocabulary\n"
    "       hftrain tokenizer encode --tokenizer_name DIR [--file F | TEXT...]    text to ids\n"
    "       hftrain tokenizer decode --tokenizer_name DIR [IDS...]                ids to text\n"
    "\n"
    "Each takes --help.\n";

}  // namespace

ExitCode run_tokenizer(const CommandContext& context) {
  std::vector<std::string> words = context.arguments;
  const std::string action = words.empty() ? "" : words.front();
  if (!words.empty()) words.erase(words.begin());
  if (action == "train") return train(context, words);
  if (action == "encode") return encode(context, words);
  if (action == "decode") return decode(context, words);
  if (answered(context.arguments, kTokenizerUsage, context)) return ExitCode::kDone;
  throw_unknown_action("hftrain tokenizer", action, {"train", "encode", "decode"});
}

}  // namespace hftrain::app
