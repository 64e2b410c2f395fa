// hftrain tokenizer train | encode | decode
#include <CLI/CLI.hpp>
#include <charconv>
#include <fstream>
#include <functional>
#include <iostream>

#include "command.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/text.h"
#include "hftrain/tokenizer/bpe_trainer.h"
#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::app {
namespace {

using tokenizer::TokenId;
using tokenizer::Tokenizer;

// "-" and "_" are the same in the names of flags; what follows "=" or is not a flag stays as it is.
std::vector<std::string> with_underscores(std::vector<std::string> arguments) {
  for (std::string& argument : arguments) {
    if (argument == "--") break;
    if (!argument.starts_with("--")) continue;
    const size_t end = std::min(argument.find('='), argument.size());
    std::replace(argument.begin() + 2, argument.begin() + static_cast<long>(end), '-', '_');
  }
  return arguments;
}

ExitCode parse(CLI::App& app, std::vector<std::string> arguments, const CommandContext& context,
               bool& goes_on) {
  app.set_help_all_flag("--help-all,--help_all", "the same");
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
    goes_on = true;
  } catch (const CLI::CallForHelp&) {
    context.out << app.help();
  } catch (const CLI::CallForAllHelp&) {
    context.out << app.help();
  } catch (const CLI::ParseError& error) {
    throw Error(ExitCode::kUsage, error.what()).hint("see 'hftrain " + app.get_name() + " --help'");
  }
  return ExitCode::kDone;
}

struct TrainFlags {
  std::string kind = "bpe";
  std::string output;
  std::vector<std::string> files;
  tokenizer::BpeTrainingOptions options;
};

ExitCode train(const CommandContext& context, const std::vector<std::string>& arguments) {
  TrainFlags flags;
  CLI::App app("Learn a byte-level BPE vocabulary from text files", "tokenizer train");
  app.add_option("--kind", flags.kind, "bpe; wordpiece and unigram are not there yet")->default_str("bpe");
  app.add_option("--vocab_size", flags.options.vocab_size, "tokens, special ones and the 256 bytes included")
      ->default_val(flags.options.vocab_size);
  app.add_option("--files", flags.files, "text files")->required();
  app.add_option("--output", flags.output, "folder for tokenizer.json and tokenizer_config.json")->required();
  app.add_option("--min_frequency", flags.options.min_frequency, "how often a pair must occur to be merged")
      ->default_val(flags.options.min_frequency);
  app.add_option("--special_tokens", flags.options.special_tokens,
                 "tokens with the first ids, left out when decoding")
      ->default_str("<|endoftext|>");
  bool goes_on = false;
  if (parse(app, arguments, context, goes_on); !goes_on) return ExitCode::kDone;
  if (flags.kind == "wordpiece" || flags.kind == "unigram") {
    throw Error(ExitCode::kUsage, "--kind " + flags.kind + " is planned and not there yet")
        .hint("use --kind bpe");
  }
  if (flags.kind != "bpe") {
    throw Error(ExitCode::kUsage, "unknown --kind '" + flags.kind + "'")
        .why("the kinds are bpe, wordpiece and unigram");
  }
  tokenizer::BpeTrainer trainer(flags.options);
  for (const std::string& file : flags.files) trainer.add_text(MappedFile(file).bytes());
  const tokenizer::TrainedBpe trained = trainer.train();
  tokenizer::write_byte_level_tokenizer(trained, flags.options, flags.output);
  context.err << with_thousands(static_cast<int64_t>(trained.tokens.size())) << " tokens in " << flags.output
              << std::endl;
  if (static_cast<int64_t>(trained.tokens.size()) < flags.options.vocab_size) {
    context.err << "warning: the text has no more pairs that occur " << flags.options.min_frequency
                << " times" << std::endl;
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

void add_tokenizer_flag(CLI::App& app, CodingFlags& flags) {
  app.add_option("--tokenizer_name", flags.tokenizer_name, "folder with tokenizer.json, or the file itself")
      ->required();
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

// Every TEXT, every line of the file, or every line of standard input.
void for_each_line(const CodingFlags& flags, const std::function<void(const std::string&)>& use) {
  if (!flags.words.empty()) {
    for (const std::string& text : flags.words) use(text);
    return;
  }
  std::ifstream file;
  if (!flags.file.empty()) {
    file.open(flags.file);
    if (!file) throw Error(ExitCode::kData, "cannot read '" + flags.file + "'");
  }
  std::istream& lines = flags.file.empty() ? std::cin : file;
  for (std::string line; std::getline(lines, line);) use(line);
}

ExitCode encode(const CommandContext& context, const std::vector<std::string>& arguments) {
  CodingFlags flags;
  CLI::App app("Print the token ids of text, one line per text", "tokenizer encode");
  add_tokenizer_flag(app, flags);
  app.add_option("--file", flags.file, "a text per line; without it and without TEXT: standard input");
  app.add_option("text", flags.words, "texts");
  app.add_option("--add_special_tokens", flags.special_tokens, "special tokens around every text")
      ->default_str("true");
  app.add_flag("--json", flags.json,
               "one object per text: ids, tokens, offsets in characters, type_ids, attention_mask");
  bool goes_on = false;
  if (parse(app, arguments, context, goes_on); !goes_on) return ExitCode::kDone;
  if (!flags.file.empty() && !flags.words.empty()) {
    throw Error(ExitCode::kUsage, "--file and TEXT cannot be given together");
  }
  const auto tokenizer = Tokenizer::load(flags.tokenizer_name);
  for_each_line(flags, [&](const std::string& text) {
    const tokenizer::Encoding encoding = tokenizer->encode(text, flags.special_tokens);
    context.out << (flags.json ? dump_json(as_json(encoding), -1) : ids_as_text(encoding.ids)) << '\n';
  });
  context.out.flush();
  return ExitCode::kDone;
}

std::vector<TokenId> read_ids(const std::string& text) {
  std::vector<TokenId> ids;
  for (const std::string& word : split_words(text)) {
    TokenId id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size() || id < 0) {
      throw Error(ExitCode::kUsage, "'" + word + "' is not a token id").why("ids are whole numbers from 0");
    }
    ids.push_back(id);
  }
  return ids;
}

ExitCode decode(const CommandContext& context, const std::vector<std::string>& arguments) {
  CodingFlags flags;
  CLI::App app("Print the text of token ids, one line per list", "tokenizer decode");
  add_tokenizer_flag(app, flags);
  app.add_option("ids", flags.words, "ids of one text; without them: a list per line of standard input");
  app.add_option("--skip_special_tokens", flags.special_tokens, "leave special tokens out")
      ->default_str("true");
  bool goes_on = false;
  if (parse(app, arguments, context, goes_on); !goes_on) return ExitCode::kDone;
  if (!flags.words.empty()) flags.words = {join(flags.words, " ")};
  const auto tokenizer = Tokenizer::load(flags.tokenizer_name);
  for_each_line(flags, [&](const std::string& line) {
    context.out << tokenizer->decode(read_ids(line), flags.special_tokens) << '\n';
  });
  context.out.flush();
  return ExitCode::kDone;
}

constexpr const char* kUsage =
    "hftrain tokenizer train  --vocab_size N --files F… --output DIR   learn a vocabulary\n"
    "hftrain tokenizer encode --tokenizer_name DIR [--file F | TEXT…]  text to ids\n"
    "hftrain tokenizer decode --tokenizer_name DIR [IDS…]              ids to text\n"
    "Each takes --help.\n";

}  // namespace

ExitCode run_tokenizer(const CommandContext& context) {
  std::vector<std::string> arguments = with_underscores(context.arguments);
  if (arguments.empty()) throw Error(ExitCode::kUsage, "tokenizer train, encode or decode?").hint(kUsage);
  const std::string verb = arguments.front();
  arguments.erase(arguments.begin());
  if (verb == "train") return train(context, arguments);
  if (verb == "encode") return encode(context, arguments);
  if (verb == "decode") return decode(context, arguments);
  if (verb == "--help" || verb == "-h") {
    context.out << kUsage;
    return ExitCode::kDone;
  }
  throw Error(ExitCode::kUsage, "unknown command 'tokenizer " + verb + "'")
      .hint("it is train, encode or decode");
}

}  // namespace hftrain::app
