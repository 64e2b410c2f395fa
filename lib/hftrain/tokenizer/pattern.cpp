#include "hftrain/tokenizer/pattern.h"

#include <algorithm>

#include "hftrain/tokenizer/regex_pattern.h"
#include "hftrain/tokenizer/splitters.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

class LiteralPattern : public Pattern {
 public:
  explicit LiteralPattern(std::string text) : text_(std::move(text)) {}

  std::vector<Stretch> find(std::string_view text) const override {
    std::vector<Stretch> stretches;
    size_t previous = 0;
    while (!text_.empty()) {
      const size_t at = text.find(text_, previous);
      if (at == std::string_view::npos) break;
      if (at > previous) stretches.push_back({previous, at, false});
      previous = at + text_.size();
      stretches.push_back({at, previous, true});
    }
    if (previous < text.size()) stretches.push_back({previous, text.size(), false});
    return stretches;
  }

 private:
  std::string text_;
};

// The well-known patterns match everything.
class KnownSplitPattern : public Pattern {
 public:
  explicit KnownSplitPattern(KnownPattern pattern) : pattern_(pattern) {}

  std::vector<Stretch> find(std::string_view text) const override {
    std::vector<Stretch> stretches;
    split(pattern_, text, [&](const char* begin, const char* end) {
      stretches.push_back(
          {static_cast<size_t>(begin - text.data()), static_cast<size_t>(end - text.data()), true});
    });
    return stretches;
  }

 private:
  KnownPattern pattern_;
};

using Ranges = std::vector<std::pair<size_t, size_t>>;

// A match joins the piece before it unless that is the end of a match already.
Ranges merge_with_previous(const std::vector<Stretch>& stretches) {
  Ranges pieces;
  bool after_match = false;
  for (const Stretch& stretch : stretches) {
    if (stretch.is_match && !after_match && !pieces.empty()) {
      pieces.back().second = stretch.end;
    } else {
      pieces.emplace_back(stretch.begin, stretch.end);
    }
    after_match = stretch.is_match;
  }
  return pieces;
}

Ranges merge_with_next(const std::vector<Stretch>& stretches) {
  Ranges pieces;
  bool before_match = false;
  for (auto stretch = stretches.rbegin(); stretch != stretches.rend(); ++stretch) {
    if (stretch->is_match && !before_match && !pieces.empty()) {
      pieces.back().first = stretch->begin;
    } else {
      pieces.emplace_back(stretch->begin, stretch->end);
    }
    before_match = stretch->is_match;
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

// Neighbours of the same kind become one.
Ranges contiguous(const std::vector<Stretch>& stretches) {
  Ranges pieces;
  bool previous = false;
  for (const Stretch& stretch : stretches) {
    if (stretch.is_match == previous && !pieces.empty()) {
      pieces.back().second = stretch.end;
    } else {
      pieces.emplace_back(stretch.begin, stretch.end);
    }
    previous = stretch.is_match;
  }
  return pieces;
}

}  // namespace

std::shared_ptr<const Pattern> Pattern::literal(std::string text) {
  return std::make_shared<LiteralPattern>(std::move(text));
}

std::shared_ptr<const Pattern> Pattern::regex(const std::string& expression) {
  if (const auto known = known_pattern(expression)) return std::make_shared<KnownSplitPattern>(*known);
  return std::make_shared<RegexPattern>(expression);
}

std::vector<Stretch> find_characters(std::string_view text, bool (*is)(char32_t)) {
  std::vector<Stretch> stretches;
  size_t previous = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t size = unicode::size_of(text[i]);
    if (is(unicode::decode(text.data() + i))) {
      if (i > previous) stretches.push_back({previous, i, false});
      previous = i + size;
      stretches.push_back({i, previous, true});
    }
    i += size;
  }
  if (previous < text.size()) stretches.push_back({previous, text.size(), false});
  return stretches;
}

Ranges split_at(const std::vector<Stretch>& stretches, DelimiterBehavior behavior) {
  Ranges pieces;
  switch (behavior) {
    case DelimiterBehavior::kMergedWithPrevious:
      return merge_with_previous(stretches);
    case DelimiterBehavior::kMergedWithNext:
      return merge_with_next(stretches);
    case DelimiterBehavior::kContiguous:
      return contiguous(stretches);
    case DelimiterBehavior::kIsolated:
    case DelimiterBehavior::kRemoved:
      for (const Stretch& stretch : stretches) {
        if (stretch.is_match && behavior == DelimiterBehavior::kRemoved) continue;
        pieces.emplace_back(stretch.begin, stretch.end);
      }
  }
  return pieces;
}

}  // namespace hftrain::tokenizer
