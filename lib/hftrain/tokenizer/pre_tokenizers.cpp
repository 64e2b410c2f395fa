#include "hftrain/tokenizer/pre_tokenizers.h"

#include <algorithm>
#include <utility>

#include "hftrain/tokenizer/byte_level.h"
#include "hftrain/tokenizer/pattern.h"
#include "hftrain/tokenizer/pattern_part.h"
#include "hftrain/tokenizer/unicode/properties.h"
#include "hftrain/tokenizer/unicode/segments.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

using AlignedPieces = std::vector<AlignedText>;

void append_slices(const AlignedText& text, const std::vector<std::pair<size_t, size_t>>& ranges,
                   AlignedPieces& pieces) {
  for (const auto& [begin, end] : ranges) {
    if (begin < end) pieces.push_back(text.slice(begin, end));
  }
}

template <typename Cut>
void cut_each(AlignedPieces& pieces, Cut cut) {
  AlignedPieces parts;
  for (AlignedText& piece : pieces) cut(piece, parts);
  pieces = std::move(parts);
}

class ByteLevelPreTokenizer : public PreTokenizer {
 public:
  ByteLevelPreTokenizer(bool add_prefix_space, bool use_regex)
      : add_prefix_space_(add_prefix_space), use_regex_(use_regex) {}

  void cut(AlignedPieces& pieces) const override {
    cut_each(pieces, [this](AlignedText& piece, AlignedPieces& parts) {
      if (add_prefix_space_ && piece.text()[0] != ' ') piece.prepend(" ");
      if (!use_regex_) return parts.push_back(std::move(piece));
      split(KnownPattern::kGpt2, piece.text(), [&](const char* begin, const char* end) {
        const char* start = piece.text().data();
        parts.push_back(piece.slice(static_cast<size_t>(begin - start), static_cast<size_t>(end - start)));
      });
    });
    for (AlignedText& piece : pieces) piece.transform(byte_level_changes(piece.text()));
  }

  std::optional<ByteLevelSplit> byte_level_split() const override {
    return ByteLevelSplit{add_prefix_space_, use_regex_ ? std::optional(KnownPattern::kGpt2) : std::nullopt};
  }

 private:
  bool add_prefix_space_, use_regex_;
};

class SplitPreTokenizer : public PreTokenizer {
 public:
  SplitPreTokenizer(std::shared_ptr<const Pattern> pattern, DelimiterBehavior behavior, bool invert,
                    std::optional<KnownPattern> known)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert), known_(known) {}

  void cut(AlignedPieces& pieces) const override {
    cut_each(pieces, [this](const AlignedText& piece, AlignedPieces& parts) {
      std::vector<Stretch> stretches = pattern_->find(piece.text());
      if (invert_) {
        for (Stretch& stretch : stretches) stretch.is_match = !stretch.is_match;
      }
      append_slices(piece, split_at(stretches, behavior_), parts);
    });
  }

  std::optional<KnownPattern> isolated_pattern() const override {
    return behavior_ == DelimiterBehavior::kIsolated ? known_ : std::nullopt;
  }

 private:
  std::shared_ptr<const Pattern> pattern_;
  DelimiterBehavior behavior_;
  bool invert_;
  std::optional<KnownPattern> known_;
};

// Cuts at single characters of a kind.
class CharacterPreTokenizer : public PreTokenizer {
 public:
  CharacterPreTokenizer(bool (*is_delimiter)(char32_t), DelimiterBehavior behavior)
      : is_delimiter_(is_delimiter), behavior_(behavior) {}

  void cut(AlignedPieces& pieces) const override {
    cut_each(pieces, [this](const AlignedText& piece, AlignedPieces& parts) {
      append_slices(piece, split_at(find_characters(piece.text(), is_delimiter_), behavior_), parts);
    });
  }

  bool cuts_at_spaces() const override {
    return behavior_ == DelimiterBehavior::kRemoved && is_delimiter_ == unicode::is_white_space;
  }
  std::optional<PlainCut> plain_cut() const override {
    if (!cuts_at_spaces()) return std::nullopt;
    return PlainCut{.words = PlainCut::Words::kBetweenSpaces};
  }

 private:
  bool (*is_delimiter_)(char32_t);
  DelimiterBehavior behavior_;
};

// \w+|[^\w\s]+
class WhitespacePreTokenizer : public PreTokenizer {
 public:
  void cut(AlignedPieces& pieces) const override {
    cut_each(pieces, [](const AlignedText& piece, AlignedPieces& parts) {
      const std::string& text = piece.text();
      enum Kind { kSpace, kWord, kOther };
      const auto kind_at = [&](size_t i) {
        const char32_t c = unicode::decode(text.data() + i);
        return unicode::is_word(c) ? kWord : unicode::is_white_space(c) ? kSpace : kOther;
      };
      for (size_t begin = 0, end; begin < text.size(); begin = end) {
        const Kind kind = kind_at(begin);
        end = begin;
        do end += unicode::size_of(text[end]);
        while (end < text.size() && kind_at(end) == kind);
        if (kind != kSpace) parts.push_back(piece.slice(begin, end));
      }
    });
  }

  bool cuts_at_spaces() const override { return true; }
  std::optional<PlainCut> plain_cut() const override {
    return PlainCut{.words = PlainCut::Words::kWordsAndOthers};
  }
};

// White space goes, punctuation stands alone.
class BertPreTokenizer : public PreTokenizer {
 public:
  void cut(AlignedPieces& pieces) const override {
    cut_each(pieces, [](const AlignedText& piece, AlignedPieces& parts) {
      const std::string& text = piece.text();
      size_t begin = 0;
      const auto end_word = [&](size_t end) {
        if (begin < end) parts.push_back(piece.slice(begin, end));
      };
      for (size_t i = 0; i < text.size();) {
        const char32_t c = unicode::decode(text.data() + i);
        const size_t next = i + unicode::size_of(text[i]);
        const bool space = unicode::is_white_space(c);
        if (space || unicode::is_punctuation(c)) {
          end_word(i);
          if (!space) parts.push_back(piece.slice(i, next));
          begin = next;
        }
        i = next;
      }
      end_word(text.size());
    });
  }
  bool cuts_at_spaces() const override { return true; }
  std::optional<PlainCut> plain_cut() const override { return PlainCut{.words = PlainCut::Words::kBert}; }
};

// Cuts at one character, which goes.
class DelimiterPreTokenizer : public PreTokenizer {
 public:
  explicit DelimiterPreTokenizer(std::string delimiter)
      : delimiter_(Pattern::literal(std::move(delimiter))) {}
  void cut(AlignedPieces& pieces) const override {
    cut_each(pieces, [this](const AlignedText& piece, AlignedPieces& parts) {
      append_slices(piece, split_at(delimiter_->find(piece.text()), DelimiterBehavior::kRemoved), parts);
    });
  }

 private:
  std::shared_ptr<const Pattern> delimiter_;
};

// Pieces of so many characters, the last one of what is left.
class FixedLengthPreTokenizer : public PreTokenizer {
 public:
  explicit FixedLengthPreTokenizer(int64_t length) : length_(length) {}
  void cut(AlignedPieces& pieces) const override {
    cut_each(pieces, [this](const AlignedText& piece, AlignedPieces& parts) {
      const std::string& text = piece.text();
      for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
        for (int64_t i = 0; i < length_ && end < text.size(); ++i) end += unicode::size_of(text[end]);
        parts.push_back(piece.slice(begin, end));
      }
    });
  }

 private:
  int64_t length_;
};

// Cuts where the script changes. Kana count as Han; what goes with any script stays with what is before it.
class ScriptsPreTokenizer : public PreTokenizer {
 public:
  void cut(AlignedPieces& pieces) const override {
    cut_each(pieces, [](const AlignedText& piece, AlignedPieces& parts) {
      const std::string& text = piece.text();
      // As in the package: what comes before the first character of a script is lost.
      std::optional<size_t> begin;
      uint8_t last = 0;
      for (size_t i = 0; i < text.size(); i += unicode::size_of(text[i])) {
        const uint8_t script = unicode::script_of(unicode::decode(text.data() + i));
        if (script == 0) continue;
        if (script != last) {
          if (begin) parts.push_back(piece.slice(*begin, i));
          begin = i;
        }
        last = script;
      }
      if (begin) parts.push_back(piece.slice(*begin, text.size()));
    });
  }
};

class MetaspacePreTokenizer : public PreTokenizer {
 public:
  explicit MetaspacePreTokenizer(Metaspace metaspace)
      : metaspace_(std::move(metaspace)), delimiter_(Pattern::literal(metaspace_.replacement)) {}

  void cut(AlignedPieces& pieces) const override {
    cut_each(pieces, [this](AlignedText& piece, AlignedPieces& parts) {
      piece.replace(space_->find(piece.text()), metaspace_.replacement);
      const bool wanted = metaspace_.prepend == Metaspace::Prepend::kAlways ||
                          (metaspace_.prepend == Metaspace::Prepend::kFirst && piece.original_begin() == 0);
      if (wanted && !piece.text().starts_with(metaspace_.replacement)) piece.prepend(metaspace_.replacement);
      if (!metaspace_.split) return parts.push_back(std::move(piece));
      append_slices(piece, split_at(delimiter_->find(piece.text()), DelimiterBehavior::kMergedWithNext),
                    parts);
    });
  }

  std::optional<Metaspace> metaspace() const override { return metaspace_; }
  bool cuts_at_spaces() const override { return metaspace_.split && works_piece_by_piece(); }
  std::optional<PlainCut> plain_cut() const override {
    if (!cuts_at_spaces()) return std::nullopt;
    const bool prepend = metaspace_.prepend == Metaspace::Prepend::kAlways;
    return PlainCut{.marks = PlainCut::Marks{metaspace_.replacement, prepend}};
  }
  bool works_piece_by_piece() const override { return metaspace_.prepend != Metaspace::Prepend::kFirst; }

 private:
  Metaspace metaspace_;
  std::shared_ptr<const Pattern> space_ = Pattern::literal(" ");
  std::shared_ptr<const Pattern> delimiter_;
};

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<std::shared_ptr<const PreTokenizer>> parts)
      : parts_(std::move(parts)) {}

  void cut(AlignedPieces& pieces) const override {
    for (const auto& part : parts_) part->cut(pieces);
  }

  std::optional<ByteLevelSplit> byte_level_split() const override {
    if (parts_.size() == 1) return parts_[0]->byte_level_split();
    if (parts_.size() != 2) return std::nullopt;
    const auto pattern = parts_[0]->isolated_pattern();
    const auto bytes = parts_[1]->byte_level_split();
    // A second cut, or a space before every piece, is another matter.
    if (!pattern || !bytes || bytes->pattern || bytes->add_prefix_space) return std::nullopt;
    return ByteLevelSplit{false, pattern};
  }

  bool cuts_at_spaces() const override {
    return !parts_.empty() && parts_.front()->cuts_at_spaces() && works_piece_by_piece();
  }
  // One alone, or words and marks in them.
  std::optional<PlainCut> plain_cut() const override {
    if (parts_.empty() || parts_.size() > 2) return std::nullopt;
    std::optional<PlainCut> cut = parts_.front()->plain_cut();
    if (!cut || parts_.size() == 1) return cut;
    const std::optional<PlainCut> last = parts_.back()->plain_cut();
    if (cut->marks || !last || last->words != PlainCut::Words::kWhole) return std::nullopt;
    cut->marks = last->marks;
    return cut;
  }
  bool works_piece_by_piece() const override {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](const auto& part) { return part->works_piece_by_piece(); });
  }

 private:
  std::vector<std::shared_ptr<const PreTokenizer>> parts_;
};

DelimiterBehavior behavior_of(const JsonPart& part) {
  constexpr std::pair<std::string_view, DelimiterBehavior> kBehaviors[] = {
      {"Removed", DelimiterBehavior::kRemoved},
      {"Isolated", DelimiterBehavior::kIsolated},
      {"MergedWithPrevious", DelimiterBehavior::kMergedWithPrevious},
      {"MergedWithNext", DelimiterBehavior::kMergedWithNext},
      {"Contiguous", DelimiterBehavior::kContiguous}};
  for (const auto& [name, behavior] : kBehaviors) {
    if (part.text() == name) return behavior;
  }
  throw part.unsupported("the behavior '" + std::string(part.text()) + "' is not known here");
}

std::shared_ptr<const PreTokenizer> read_byte_level_pre_tokenizer(const JsonPart& part) {
  return std::make_shared<ByteLevelPreTokenizer>(part.at("add_prefix_space").boolean(),
                                                 part.boolean("use_regex", true));
}

std::shared_ptr<const PreTokenizer> read_split(const JsonPart& part) {
  const JsonPart pattern = part.at("pattern");
  const bool invert = part.boolean("invert", false);
  std::optional<KnownPattern> known;
  if (pattern.has("Regex")) known = known_pattern(pattern.at("Regex").text());
  return std::make_shared<SplitPreTokenizer>(read_pattern(pattern), behavior_of(part.at("behavior")), invert,
                                             known);
}

std::shared_ptr<const PreTokenizer> read_metaspace_pre_tokenizer(const JsonPart& part) {
  return std::make_shared<MetaspacePreTokenizer>(read_metaspace(part));
}

std::shared_ptr<const PreTokenizer> read_whitespace_split(const JsonPart&) {
  return std::make_shared<CharacterPreTokenizer>(unicode::is_white_space, DelimiterBehavior::kRemoved);
}

std::shared_ptr<const PreTokenizer> read_digits(const JsonPart& part) {
  const bool individual = part.boolean("individual_digits", false);
  return std::make_shared<CharacterPreTokenizer>(
      unicode::is_numeric, individual ? DelimiterBehavior::kIsolated : DelimiterBehavior::kContiguous);
}

std::shared_ptr<const PreTokenizer> read_punctuation(const JsonPart& part) {
  const auto behavior = part.find("behavior");
  return std::make_shared<CharacterPreTokenizer>(
      unicode::is_punctuation, behavior ? behavior_of(*behavior) : DelimiterBehavior::kIsolated);
}

template <typename Plain>
std::shared_ptr<const PreTokenizer> read_plain_pre_tokenizer(const JsonPart&) {
  return std::make_shared<Plain>();
}

std::shared_ptr<const PreTokenizer> read_delimiter(const JsonPart& part) {
  const JsonPart delimiter = part.at("delimiter");
  const std::string_view character = delimiter.text();
  if (character.empty() || unicode::size_of(character[0]) != character.size())
    throw delimiter.error("one character is needed here");
  return std::make_shared<DelimiterPreTokenizer>(std::string(character));
}

std::shared_ptr<const PreTokenizer> read_fixed_length(const JsonPart& part) {
  const auto length = part.find("length");
  return std::make_shared<FixedLengthPreTokenizer>(length ? length->integer(1) : 5);
}

std::shared_ptr<const PreTokenizer> read_sequence_pre_tokenizer(const JsonPart& part) {
  std::vector<std::shared_ptr<const PreTokenizer>> parts;
  for (const JsonPart& item : part.at("pretokenizers").items()) parts.push_back(read_pre_tokenizer(item));
  return std::make_shared<PreTokenizerSequence>(std::move(parts));
}

struct PreTokenizerKind {
  std::string_view type;
  std::shared_ptr<const PreTokenizer> (*read)(const JsonPart&);
};

constexpr PreTokenizerKind kPreTokenizerKinds[] = {
    {"ByteLevel", read_byte_level_pre_tokenizer},
    {"Split", read_split},
    {"Metaspace", read_metaspace_pre_tokenizer},
    {"Whitespace", read_plain_pre_tokenizer<WhitespacePreTokenizer>},
    {"Digits", read_digits},
    {"WhitespaceSplit", read_whitespace_split},
    {"Sequence", read_sequence_pre_tokenizer},
    {"Punctuation", read_punctuation},
    {"BertPreTokenizer", read_plain_pre_tokenizer<BertPreTokenizer>},
    {"CharDelimiterSplit", read_delimiter},
    {"FixedLength", read_fixed_length},
    {"UnicodeScripts", read_plain_pre_tokenizer<ScriptsPreTokenizer>},
};

}  // namespace

std::shared_ptr<const PreTokenizer> read_pre_tokenizer(const JsonPart& part) {
  const std::string type = part.text("type");
  for (const PreTokenizerKind& reader : kPreTokenizerKinds) {
    if (reader.type == type) return reader.read(part);
  }
  throw part.unsupported("the pre-tokenizer '" + type + "' is not known here");
}

}  // namespace hftrain::tokenizer
