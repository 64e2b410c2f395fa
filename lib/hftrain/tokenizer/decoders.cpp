#include "hftrain/tokenizer/decoders.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "hftrain/tokenizer/byte_level.h"
#include "hftrain/tokenizer/metaspace.h"
#include "hftrain/tokenizer/pattern_part.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

using Tokens = std::vector<std::string>;

// As the package has it, an empty text stands before, between and behind all characters.
void replace_nothing(std::string& text, std::string_view to) {
  std::string result(to);
  for (size_t i = 0, size = 0; i < text.size(); i += size) {
    size = unicode::size_of(text[i]);
    result.append(text, i, size).append(to);
  }
  text = std::move(result);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return replace_nothing(text, to);
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

Error makes_too_much(size_t most) {
  return Error(ExitCode::kData, "the tokenizer makes far too much of its tokens")
      .why("its decoder turns them into more than " + std::to_string(most) + " bytes")
      .hint("look whether its file is damaged or made to harm");
}

void refuse_growth(const std::vector<std::string>& tokens, size_t most) {
  size_t bytes = 0;
  for (const std::string& token : tokens) bytes += token.size();
  if (bytes > most) throw makes_too_much(most);
}

class ByteLevelDecoder : public Decoder {
 public:
  void decode(Tokens& tokens, size_t) const override {
    std::string bytes;
    for (const std::string& token : tokens) append(token, bytes);
    if (!unicode::is_valid(bytes)) bytes = unicode::replace_invalid(bytes);
    tokens.assign(1, bytes);
  }

 private:
  // A token with a character outside the alphabet is its own text.
  static void append(const std::string& token, std::string& bytes) {
    const size_t before = bytes.size();
    for (const char* p = token.data(); p < token.data() + token.size(); p += unicode::size_of(*p)) {
      const auto byte = byte_of_character(unicode::decode(p));
      if (!byte) {
        bytes.resize(before);
        bytes += token;
        return;
      }
      bytes += static_cast<char>(*byte);
    }
  }
};

// Runs of <0xNN> become the character they spell, or one U+FFFD each.
class ByteFallbackDecoder : public Decoder {
 public:
  void decode(Tokens& tokens, size_t) const override {
    Tokens result;
    std::string bytes;
    for (std::string& token : tokens) {
      if (const auto byte = byte_of(token)) {
        bytes += static_cast<char>(*byte);
        continue;
      }
      flush(bytes, result);
      result.push_back(std::move(token));
    }
    flush(bytes, result);
    tokens = std::move(result);
  }

 private:
  static std::optional<uint8_t> byte_of(const std::string& token) {
    if (token.size() != 6 || token.compare(0, 3, "<0x") != 0 || token[5] != '>') return std::nullopt;
    const size_t sign = token[3] == '+' ? 1 : 0;  // "<0x+A>" parses in the package
    uint8_t byte = 0;
    const auto [end, error] = std::from_chars(token.data() + 3 + sign, token.data() + 5, byte, 16);
    if (error != std::errc() || end != token.data() + 5) return std::nullopt;
    return byte;
  }
  static void flush(std::string& bytes, Tokens& result) {
    if (bytes.empty()) return;
    if (unicode::is_valid(bytes)) {
      result.push_back(bytes);
    } else {
      result.insert(result.end(), bytes.size(), "\xEF\xBF\xBD");
    }
    bytes.clear();
  }
};

class FuseDecoder : public Decoder {
 public:
  void decode(Tokens& tokens, size_t) const override {
    std::string text;
    for (const std::string& token : tokens) text += token;
    tokens.assign(1, text);
  }
};

class MetaspaceDecoder : public Decoder {
 public:
  explicit MetaspaceDecoder(Metaspace metaspace) : metaspace_(std::move(metaspace)) {}
  void decode(Tokens& tokens, size_t) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      const bool drops = i == 0 && metaspace_.prepend != Metaspace::Prepend::kNever;
      replace_all(tokens[i], metaspace_.replacement, drops ? "" : " ");
    }
  }

 private:
  Metaspace metaspace_;
};

class ReplaceDecoder : public Decoder {
 public:
  ReplaceDecoder(std::shared_ptr<const Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void decode(Tokens& tokens, size_t most) const override {
    size_t written = 0;
    for (std::string& token : tokens) {
      std::string text;
      for (const Stretch& stretch : pattern_->find(token)) {
        text += stretch.is_match ? content_ : token.substr(stretch.begin, stretch.end - stretch.begin);
        if (written + text.size() > most) throw makes_too_much(most);
      }
      written += text.size();
      token = std::move(text);
    }
  }

 private:
  std::shared_ptr<const Pattern> pattern_;
  std::string content_;
};

// Takes up to so many of one character from both ends of every token.
class StripDecoder : public Decoder {
 public:
  StripDecoder(std::string content, int64_t start, int64_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  void decode(Tokens& tokens, size_t) const override {
    for (std::string& token : tokens) {
      size_t begin = 0, end = token.size();
      for (int64_t i = 0; i < start_ && token.compare(begin, content_.size(), content_) == 0; ++i)
        begin += content_.size();
      for (int64_t i = 0; i < stop_ && end >= begin + content_.size() &&
                          token.compare(end - content_.size(), content_.size(), content_) == 0;
           ++i) {
        end -= content_.size();
      }
      token = token.substr(begin, end - begin);
    }
  }

 private:
  std::string content_;
  int64_t start_, stop_;
};

// Takes spaces out that tokenizing English put in.
void clean_up(std::string& token) {
  static constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) replace_all(token, from, to);
}

class WordPieceDecoder : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  void decode(Tokens& tokens, size_t) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0) token = token.starts_with(prefix_) ? token.substr(prefix_.size()) : ' ' + token;
      if (cleanup_) clean_up(token);
    }
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

class BpeDecoder : public Decoder {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  void decode(Tokens& tokens, size_t most) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
    refuse_growth(tokens, most);
  }

 private:
  std::string suffix_;
};

// What speech models spell: a token once for each frame that it lasts, with pads between.
class CtcDecoder : public Decoder {
 public:
  CtcDecoder(std::string pad, std::string delimiter, bool cleanup)
      : pad_(std::move(pad)), delimiter_(std::move(delimiter)), cleanup_(cleanup) {}
  void decode(Tokens& tokens, size_t most) const override {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    for (std::string& token : tokens) {
      replace_all(token, pad_, "");
      if (!cleanup_) continue;
      clean_up(token);
      replace_all(token, delimiter_, " ");
    }
    refuse_growth(tokens, most);
    std::erase(tokens, "");
  }

 private:
  std::string pad_, delimiter_;
  bool cleanup_;
};

class DecoderSequence : public Decoder {
 public:
  explicit DecoderSequence(std::vector<std::shared_ptr<const Decoder>> parts) : parts_(std::move(parts)) {}
  void decode(Tokens& tokens, size_t most) const override {
    for (const auto& part : parts_) part->decode(tokens, most);
  }

 private:
  std::vector<std::shared_ptr<const Decoder>> parts_;
};

using DecoderPointer = std::shared_ptr<const Decoder>;

template <typename Plain>
DecoderPointer read_plain_decoder(const JsonPart&) {
  return std::make_shared<Plain>();
}
DecoderPointer read_metaspace_decoder(const JsonPart& part) {
  return std::make_shared<MetaspaceDecoder>(read_metaspace(part));
}
DecoderPointer read_replace_decoder(const JsonPart& part) {
  return std::make_shared<ReplaceDecoder>(read_pattern(part.at("pattern")), part.text("content"));
}
DecoderPointer read_strip_decoder(const JsonPart& part) {
  const JsonPart content = part.at("content");
  const std::string_view character = content.text();
  if (character.empty() || unicode::size_of(character[0]) != character.size())
    throw content.error("one character is needed here");
  return std::make_shared<StripDecoder>(std::string(character), part.at("start").integer(0),
                                        part.at("stop").integer(0));
}
DecoderPointer read_word_piece_decoder(const JsonPart& part) {
  return std::make_shared<WordPieceDecoder>(part.text("prefix"), part.boolean("cleanup", true));
}
DecoderPointer read_bpe_decoder(const JsonPart& part) {
  return std::make_shared<BpeDecoder>(part.text("suffix"));
}
DecoderPointer read_ctc(const JsonPart& part) {
  return std::make_shared<CtcDecoder>(part.text("pad_token"), part.text("word_delimiter_token"),
                                      part.at("cleanup").boolean());
}
DecoderPointer read_sequence_decoder(const JsonPart& part) {
  std::vector<DecoderPointer> parts;
  for (const JsonPart& item : part.at("decoders").items()) parts.push_back(read_decoder(item));
  return std::make_shared<DecoderSequence>(std::move(parts));
}

struct DecoderKind {
  std::string_view type;
  DecoderPointer (*read)(const JsonPart&);
};

constexpr DecoderKind kDecoderKinds[] = {
    {"ByteLevel", read_plain_decoder<ByteLevelDecoder>},
    {"ByteFallback", read_plain_decoder<ByteFallbackDecoder>},
    {"Fuse", read_plain_decoder<FuseDecoder>},
    {"Metaspace", read_metaspace_decoder},
    {"Replace", read_replace_decoder},
    {"Strip", read_strip_decoder},
    {"WordPiece", read_word_piece_decoder},
    {"BPEDecoder", read_bpe_decoder},
    {"CTC", read_ctc},
    {"Sequence", read_sequence_decoder},
};

}  // namespace

std::shared_ptr<const Decoder> read_decoder(const JsonPart& part) {
  const std::string type = type_of(part, {{"BPEDecoder", {"suffix"}},
                                          {"WordPiece", {"prefix", "cleanup"}},
                                          {"CTC", {"pad_token", "word_delimiter_token", "cleanup"}},
                                          {"Replace", {"pattern", "content"}},
                                          {"Strip", {"content", "start", "stop"}}});
  for (const DecoderKind& reader : kDecoderKinds) {
    if (reader.type == type) return reader.read(part);
  }
  throw part.unsupported("the decoder '" + type + "' is not known here");
}

}  // namespace hftrain::tokenizer
