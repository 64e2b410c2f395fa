#include "hftrain/tokenizer/tokenizer_training.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/tokenizer/bpe_trainer.h"
#include "hftrain/tokenizer/tokenizer_writer.h"
#include "hftrain/tokenizer/training_words.h"
#include "hftrain/tokenizer/unigram_trainer.h"
#include "hftrain/tokenizer/word_level_trainer.h"
#include "hftrain/tokenizer/word_piece_trainer.h"

namespace hftrain::tokenizer {
namespace {

constexpr std::pair<const char*, TokenizerKind> kTokenizerKinds[] = {{"bpe", TokenizerKind::kBpe},
                                                                     {"wordpiece", TokenizerKind::kWordPiece},
                                                                     {"wordlevel", TokenizerKind::kWordLevel},
                                                                     {"unigram", TokenizerKind::kUnigram}};
constexpr int64_t kUsualMinFrequency = 2;

std::string word_of(TokenizerKind kind) {
  for (const auto& [word, value] : kTokenizerKinds) {
    if (value == kind) return word;
  }
  return "";
}

void refuse_option(const TokenizerTraining& training, bool is_set, const char* flag, const std::string& why) {
  if (!is_set) return;
  throw Error(ExitCode::kUsage, "--kind " + word_of(training.kind) + " has no " + flag)
      .where(flag)
      .why(why)
      .hint(std::string("leave ") + flag + " out");
}

void check_special_tokens(const TokenizerTraining& training) {
  const std::vector<std::string>& tokens = training.special_tokens;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].empty()) {
      throw Error(ExitCode::kUsage, "a special token cannot be empty")
          .where("--special_tokens")
          .why("word " + std::to_string(i + 1) + " behind it is")
          .hint("leave it out");
    }
    if (std::count(tokens.begin(), tokens.end(), tokens[i]) > 1) {
      throw Error(ExitCode::kUsage, "'" + tokens[i] + "' is twice among the special tokens")
          .where("--special_tokens")
          .why("a token has one id")
          .hint("name it once");
    }
  }
  if (training.kind == TokenizerKind::kBpe || !unknown_among(tokens).empty()) return;
  throw Error(ExitCode::kUsage, "the special tokens have none for unknown text")
      .where("--special_tokens")
      .why("text that the vocabulary does not hold becomes [UNK] or <unk>, and neither is among them")
      .hint("add [UNK] or <unk> to --special_tokens");
}

void check_options(const TokenizerTraining& training) {
  const bool is_word_piece = training.kind == TokenizerKind::kWordPiece;
  refuse_option(training, training.kind == TokenizerKind::kUnigram && training.min_frequency,
                "--min_frequency", "what is kept depends on likelihood alone");
  refuse_option(training, !is_word_piece && training.limit_alphabet, "--limit_alphabet",
                "only wordpiece puts characters aside");
  refuse_option(training, !is_word_piece && training.lowercase, "--lowercase",
                "only wordpiece makes text lower case");
  check_special_tokens(training);
  const auto least = static_cast<int64_t>(training.special_tokens.size()) + 1;
  if (training.vocab_size >= least) return;
  throw Error(ExitCode::kUsage, "--vocab_size " + std::to_string(training.vocab_size) + " is too small")
      .where("--vocab_size")
      .why("the special tokens alone are " + std::to_string(least - 1))
      .hint("ask for more tokens than that");
}

// Training on the bytes of such a file would learn nothing and say nothing.
void refuse_no_text(std::string_view bytes, const std::string& file) {
  const bool gzip = bytes.starts_with("\x1F\x8B"), zstd = bytes.starts_with("\x28\xB5\x2F\xFD");
  if (bytes.starts_with("PAR1"))
    throw Error(ExitCode::kData, "a tokenizer cannot be trained on the bytes of a Parquet file")
        .where(file)
        .why("it begins with PAR1, and its name does not say what it is")
        .hint("call it .parquet: its column text, else the first one, is read then");
  if (!gzip && !zstd) return;
  throw Error(ExitCode::kData, "a tokenizer cannot be trained on a compressed file")
      .where(file)
      .why(std::string("it is packed with ") + (gzip ? "gzip" : "zstd"))
      .hint(std::string("unpack it first: ") + (gzip ? "gzip" : "zstd") + " --decompress --keep");
}

struct TrainingFiles {
  const std::vector<std::string>& paths;
  const RowTexts& read_rows;
};

template <typename Words>
void add_texts(const TrainingFiles& files, Words& words) {
  for (const std::string& file : files.paths) {
    if (files.read_rows && files.read_rows(file, [&](std::string_view text) { words.add_text(text); }))
      continue;
    const auto learn = [&](std::string_view text) {
      refuse_no_text(text, file);
      words.add_text(text);
    };
    if (std::filesystem::is_regular_file(file)) {
      learn(MappedFile(file).bytes());
    } else {  // a pipe has no bytes to map
      learn(read_file(file));
    }
  }
}

WordCounts count_words(const PipelineDraft& pipeline, const TrainingFiles& files) {
  TrainingWords words(pipeline.normalizer, pipeline.pre_tokenizer);
  add_texts(files, words);
  return words.count();
}

size_t make_bpe(const TokenizerTraining& training, const TrainingFiles& files, const std::string& folder) {
  BpeTrainer trainer({.vocab_size = training.vocab_size,
                      .min_frequency = training.min_frequency.value_or(kUsualMinFrequency),
                      .special_tokens = training.special_tokens});
  add_texts(files, trainer);
  const LearnedMerges learned = trainer.train();
  write_tokenizer(byte_level_draft(), byte_level_model(learned), training.special_tokens, true, folder);
  return learned.tokens.size();
}

size_t make_word_piece(const TokenizerTraining& training, const TrainingFiles& files,
                       const std::string& folder) {
  const PipelineDraft pipeline = bert_draft(training.lowercase.value_or(true), training.special_tokens);
  const std::vector<std::string> tokens = train_word_piece(
      count_words(pipeline, files), {.vocab_size = training.vocab_size,
                                     .min_frequency = training.min_frequency.value_or(kUsualMinFrequency),
                                     .limit_alphabet = training.limit_alphabet.value_or(0),
                                     .special_tokens = training.special_tokens});
  write_tokenizer(pipeline, word_piece_model(tokens, unknown_among(training.special_tokens)),
                  training.special_tokens, false, folder);
  return tokens.size();
}

size_t make_word_level(const TokenizerTraining& training, const TrainingFiles& files,
                       const std::string& folder) {
  const PipelineDraft pipeline = plain_words_draft();
  const std::vector<std::string> tokens = train_word_level(
      count_words(pipeline, files), {.vocab_size = training.vocab_size,
                                     .min_frequency = training.min_frequency.value_or(kUsualMinFrequency),
                                     .special_tokens = training.special_tokens});
  write_tokenizer(pipeline, word_level_model(tokens, unknown_among(training.special_tokens)),
                  training.special_tokens, false, folder);
  return tokens.size();
}

size_t make_unigram(const TokenizerTraining& training, const TrainingFiles& files,
                    const std::string& folder) {
  const PipelineDraft pipeline = t5_draft(training.special_tokens);
  const std::vector<ScoredPiece> pieces =
      train_unigram(count_words(pipeline, files),
                    {.vocab_size = training.vocab_size, .special_tokens = training.special_tokens});
  const std::vector<std::string>& special = training.special_tokens;
  const auto unknown = std::find(special.begin(), special.end(), unknown_among(special)) - special.begin();
  write_tokenizer(pipeline, unigram_model(pieces, static_cast<size_t>(unknown)), special, false, folder);
  return pieces.size();
}

}  // namespace

TokenizerKind tokenizer_kind(const std::string& word) {
  for (const auto& [name, kind] : kTokenizerKinds) {
    if (word == name) return kind;
  }
  throw Error(ExitCode::kUsage, "unknown --kind '" + word + "'")
      .where("--kind")
      .why("the kinds are bpe, wordpiece, wordlevel and unigram")
      .hint("--kind unigram for a vocabulary as SentencePiece makes by default");
}

std::vector<std::string> usual_special_tokens(TokenizerKind kind) {
  switch (kind) {
    case TokenizerKind::kBpe:
      return {"<|endoftext|>"};
    case TokenizerKind::kWordPiece:
      return {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    case TokenizerKind::kWordLevel:
      return {"<pad>", "<s>", "</s>", "<unk>"};
    case TokenizerKind::kUnigram:
      return {"<pad>", "</s>", "<unk>"};
  }
  return {};
}

int64_t train_tokenizer(const TokenizerTraining& asked, const std::vector<std::string>& files,
                        const std::string& folder, const RowTexts& read_rows) {
  TokenizerTraining training = asked;
  if (training.special_tokens.empty()) training.special_tokens = usual_special_tokens(training.kind);
  check_options(training);
  const auto train = [&] {
    switch (training.kind) {
      case TokenizerKind::kBpe:
        return make_bpe;
      case TokenizerKind::kWordPiece:
        return make_word_piece;
      case TokenizerKind::kWordLevel:
        return make_word_level;
      case TokenizerKind::kUnigram:
        break;
    }
    return make_unigram;
  };
  return static_cast<int64_t>(train()(training, {files, read_rows}, folder));
}

}  // namespace hftrain::tokenizer
