#include "hftrain/tokenizer/post_processors.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "hftrain/tokenizer/byte_level.h"
#include "hftrain/tokenizer/unicode/properties.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

using Parts = std::vector<Encoding>;

struct SpecialToken {
  std::string text;
  TokenId id;
};

Encoding single(const SpecialToken& token, int32_t type_id) {
  Encoding encoding;
  encoding.add(token.id, token.text, {0, 0}, kUnassigned, true);
  encoding.type_ids[0] = type_id;
  return encoding;
}

bool is_blank(char32_t c) {
  return c == byte_level_code_point(' ') || unicode::is_white_space(c);
}

// Takes the spaces of a token out of its offsets.
void trim(const std::string& token, bool keeps_prefix_space, std::pair<int64_t, int64_t>& offsets) {
  int64_t leading = 0, trailing = 0;
  const char *begin = token.data(), *end = begin + token.size();
  for (const char* p = begin; p < end && is_blank(unicode::decode(p)); p += unicode::size_of(*p)) ++leading;
  for (const char* p = end; p > begin && is_blank(unicode::decode(unicode::previous(p)));
       p = unicode::previous(p))
    ++trailing;
  // A single space in front of the first word may be the one that was added: it has no place in the text.
  if (leading == 1 && keeps_prefix_space) leading = 0;
  if (leading > 0) offsets.first = std::min(offsets.first + leading, offsets.second);
  if (trailing > 0 && offsets.second >= trailing) {
    offsets.second = std::max(offsets.second - trailing, offsets.first);
  }
}

void trim_offsets(Encoding& encoding, bool add_prefix_space) {
  for (size_t i = 0; i < encoding.tokens.size(); ++i) {
    const bool is_first = i == 0 || encoding.offsets[i].first == 0;
    trim(encoding.tokens[i], is_first && add_prefix_space, encoding.offsets[i]);
  }
  for (Encoding& window : encoding.overflowing) trim_offsets(window, add_prefix_space);
}

class ByteLevelProcessor : public PostProcessor {
 public:
  ByteLevelProcessor(bool trims, bool add_prefix_space)
      : trims_(trims), add_prefix_space_(add_prefix_space) {}
  void process(Parts& parts, bool) const override {
    for (size_t i = 0; i < parts.size(); ++i) {
      if (trims_) trim_offsets(parts[i], add_prefix_space_);
      parts[i].set_sequence_id(static_cast<int32_t>(i));
    }
  }

 private:
  bool trims_, add_prefix_space_;
};

// <s> text </s>, and </s> text </s> for what follows; BERT leaves out the one in front of a second text.
class ClassifyProcessor : public PostProcessor {
 public:
  ClassifyProcessor(SpecialToken first, SpecialToken last, bool both_sides)
      : first_(std::move(first)), last_(std::move(last)), both_sides_(both_sides) {}

  size_t added_count(bool pair) const override { return pair ? (both_sides_ ? 4 : 3) : 2; }

  void process(Parts& parts, bool add_special_tokens) const override {
    if (!add_special_tokens) return;
    for (size_t i = 0; i < parts.size(); ++i) {
      Encoding around = surround(parts[i], i > 0);
      for (const Encoding& window : parts[i].overflowing)
        around.overflowing.push_back(surround(window, i > 0));
      parts[i] = std::move(around);
    }
  }

 private:
  // Forgets what was special in `part` before.
  Encoding surround(const Encoding& part, bool is_second) const {
    Encoding around;
    if (!is_second) around.append(single(first_, 0));
    if (is_second && both_sides_) around.append(single(last_, 0));
    const size_t begin = around.size();
    around.append(part.slice(0, part.size()));
    std::fill(around.special_tokens_mask.begin() + static_cast<long>(begin), around.special_tokens_mask.end(),
              0);
    around.sequence_ranges.assign(1, {is_second ? 1 : 0, begin, around.size()});
    around.append(single(last_, is_second && !both_sides_ ? 1 : 0));
    if (both_sides_) std::fill(around.type_ids.begin(), around.type_ids.end(), 0);
    return around;
  }

  SpecialToken first_, last_;
  bool both_sides_;
};

class RobertaProcessor : public PostProcessor {
 public:
  RobertaProcessor(ClassifyProcessor classify, bool trims, bool add_prefix_space)
      : classify_(std::move(classify)), trims_(trims), add_prefix_space_(add_prefix_space) {}

  size_t added_count(bool pair) const override { return classify_.added_count(pair); }

  void process(Parts& parts, bool add_special_tokens) const override {
    for (Encoding& part : parts) {
      if (trims_) trim_offsets(part, add_prefix_space_);
      std::fill(part.type_ids.begin(), part.type_ids.end(), 0);
    }
    classify_.process(parts, add_special_tokens);
  }

 private:
  ClassifyProcessor classify_;
  bool trims_, add_prefix_space_;
};

class TemplateProcessor : public PostProcessor {
 public:
  struct Piece {
    int sequence = -1;  // 0: the text, 1: a second text; -1: special tokens
    Encoding special;
    int32_t type_id = 0;
  };

  TemplateProcessor(std::vector<Piece> for_one, std::vector<Piece> for_two)
      : for_one_(std::move(for_one)), for_two_(std::move(for_two)) {
    for (const Piece& piece : for_one_) added_to_one_ += piece.special.size();
    for (const Piece& piece : for_two_) added_to_two_ += piece.special.size();
  }

  size_t added_count(bool pair) const override { return pair ? added_to_two_ : added_to_one_; }

  void process(Parts& parts, bool add_special_tokens) const override {
    Parts result;
    const std::vector<Piece>& pieces = parts.size() == 2 ? for_two_ : for_one_;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const Piece& piece = pieces[i];
      if (piece.sequence >= 0) {
        if (static_cast<size_t>(piece.sequence) >= parts.size()) {
          throw Error(ExitCode::kData, "the tokenizer's template asks for a second text")
              .where("tokenizer.json, post_processor")
              .why("there is one text, and its template for one names $B")
              .hint("correct its template \"single\", or take the tokenizer that the model came with");
        }
        Encoding& text = parts[static_cast<size_t>(piece.sequence)];
        const bool again = std::any_of(pieces.begin() + static_cast<long>(i) + 1, pieces.end(),
                                       [&](const Piece& later) { return later.sequence == piece.sequence; });
        Encoding part = again ? text : std::move(text);
        std::fill(part.type_ids.begin(), part.type_ids.end(), piece.type_id);  // windows keep theirs
        part.set_sequence_id(piece.sequence);
        result.push_back(std::move(part));
      } else if (add_special_tokens) {
        result.push_back(piece.special);
      }
    }
    parts = std::move(result);
  }

 private:
  std::vector<Piece> for_one_, for_two_;
  size_t added_to_one_ = 0, added_to_two_ = 0;
};

class ProcessorSequence : public PostProcessor {
 public:
  explicit ProcessorSequence(std::vector<std::shared_ptr<const PostProcessor>> parts)
      : parts_(std::move(parts)) {}

  size_t added_count(bool pair) const override {
    size_t count = 0;
    for (const auto& part : parts_) count += part->added_count(pair);
    return count;
  }
  void process(Parts& parts, bool add_special_tokens) const override {
    for (const auto& part : parts_) part->process(parts, add_special_tokens);
  }

 private:
  std::vector<std::shared_ptr<const PostProcessor>> parts_;
};

using ProcessorPointer = std::shared_ptr<const PostProcessor>;

SpecialToken read_pair(const JsonPart& part) {
  const std::vector<JsonPart> items = part.items();
  if (items.size() != 2) throw part.error("a token and its id are needed here");
  return {std::string(items[0].text()), items[1].small_integer()};
}

ProcessorPointer read_byte_level_processor(const JsonPart& part) {
  return std::make_shared<ByteLevelProcessor>(part.boolean("trim_offsets", true),
                                              part.boolean("add_prefix_space", true));
}

ProcessorPointer read_bert(const JsonPart& part) {
  return std::make_shared<ClassifyProcessor>(read_pair(part.at("cls")), read_pair(part.at("sep")), false);
}

ProcessorPointer read_roberta(const JsonPart& part) {
  // The package takes one that does not say all for BERT's.
  if (!part.has("trim_offsets") || !part.has("add_prefix_space")) return read_bert(part);
  ClassifyProcessor classify(read_pair(part.at("cls")), read_pair(part.at("sep")), true);
  return std::make_shared<RobertaProcessor>(std::move(classify), part.at("trim_offsets").boolean(),
                                            part.at("add_prefix_space").boolean());
}

Encoding read_special(const JsonPart& specials, const JsonPart& id, int32_t type_id) {
  const JsonPart special = specials.at(id.text());
  const std::vector<JsonPart> ids = special.at("ids").items(), tokens = special.at("tokens").items();
  if (ids.size() != tokens.size()) throw special.error("as many ids as tokens are needed here");
  Encoding encoding;
  for (size_t i = 0; i < ids.size(); ++i)
    encoding.add(ids[i].small_integer(), tokens[i].text(), {0, 0}, kUnassigned, true);
  encoding.type_ids.assign(encoding.size(), type_id);
  return encoding;
}

std::vector<TemplateProcessor::Piece> read_template(const JsonPart& part, const JsonPart& whole) {
  std::vector<TemplateProcessor::Piece> pieces;
  for (const JsonPart& item : part.items()) {
    TemplateProcessor::Piece piece;
    if (const auto sequence = item.find("Sequence")) {
      piece.sequence = sequence->text("id") == "A" ? 0 : 1;
      piece.type_id = sequence->at("type_id").small_integer();
    } else {
      const JsonPart special = item.at("SpecialToken");
      piece.type_id = special.at("type_id").small_integer();
      piece.special = read_special(whole.at("special_tokens"), special.at("id"), piece.type_id);
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

ProcessorPointer read_template_processing(const JsonPart& part) {
  return std::make_shared<TemplateProcessor>(read_template(part.at("single"), part),
                                             read_template(part.at("pair"), part));
}

ProcessorPointer read_sequence_processor(const JsonPart& part) {
  std::vector<ProcessorPointer> parts;
  for (const JsonPart& item : part.at("processors").items()) parts.push_back(read_post_processor(item));
  return std::make_shared<ProcessorSequence>(std::move(parts));
}

struct ProcessorKind {
  std::string_view type;
  ProcessorPointer (*read)(const JsonPart&);
};

constexpr ProcessorKind kProcessorKinds[] = {
    {"ByteLevel", read_byte_level_processor},
    {"TemplateProcessing", read_template_processing},
    {"BertProcessing", read_bert},
    {"RobertaProcessing", read_roberta},
    {"Sequence", read_sequence_processor},
};

}  // namespace

std::shared_ptr<const PostProcessor> read_post_processor(const JsonPart& part) {
  const std::string type =
      type_of(part, {{"RobertaProcessing", {"sep", "cls", "trim_offsets", "add_prefix_space"}},
                     {"BertProcessing", {"sep", "cls"}},
                     {"TemplateProcessing", {"single", "pair", "special_tokens"}}});
  for (const ProcessorKind& reader : kProcessorKinds) {
    if (reader.type == type) return reader.read(part);
  }
  throw part.unsupported("the post-processor '" + type + "' is not known here");
}

}  // namespace hftrain::tokenizer
