#include "hftrain/tokenizer/training_words.h"

#include <algorithm>

#include "hftrain/tokenizer/normalizers.h"
#include "hftrain/tokenizer/pre_tokenizers.h"
#include "hftrain/tokenizer/space_cuts.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

// Reads a part that this program wrote itself.
template <typename Part>
std::shared_ptr<const Part> read_own(const Json& json, std::shared_ptr<const Part> (*read)(const JsonPart&)) {
  if (json.is_null()) return nullptr;
  simdjson::dom::parser parser;
  const std::string file = "the new tokenizer.json";
  const simdjson::padded_string text(dump_json(json, -1));
  return read(JsonPart(parser.parse(text), file));
}

}  // namespace

TrainingWords::TrainingWords(const Json& normalizer, const Json& pre_tokenizer)
    : normalizer_(read_own<Normalizer>(normalizer, read_normalizer)),
      pre_tokenizer_(read_own<PreTokenizer>(pre_tokenizer, read_pre_tokenizer)) {
  cuts_at_spaces_ = (normalizer_ == nullptr || normalizer_->works_between_spaces()) &&
                    pre_tokenizer_ != nullptr && pre_tokenizer_->cuts_at_spaces();
}

void TrainingWords::add_text(std::string_view text) {
  for (size_t begin = 0, end; begin < text.size(); begin = end) {
    end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string_view line = text.substr(begin, end - begin);
    if (unicode::is_valid(line)) {
      add_line(line);
    } else {
      add_line(unicode::replace_invalid(line));
    }
  }
}

void TrainingWords::add_line(std::string_view line) {
  if (!cuts_at_spaces_) return stretches_.add(line);
  for (size_t begin = 0, end; begin < line.size(); begin = end) {
    end = next_cut(line, begin);
    stretches_.add(line.substr(begin, end - begin));
  }
}

WordCounts TrainingWords::count() const {
  WordCounts words;
  for (size_t i = 0; i < stretches_.size(); ++i) {
    std::vector<AlignedText> pieces;
    pieces.emplace_back(stretches_.word(i));
    if (normalizer_) normalizer_->normalize(pieces.front());
    if (pieces.front().empty()) continue;
    if (pre_tokenizer_) pre_tokenizer_->cut(pieces);
    for (const AlignedText& piece : pieces) {
      if (!piece.empty()) words.add(piece.text(), stretches_.count(i));
    }
  }
  return words;
}

}  // namespace hftrain::tokenizer
