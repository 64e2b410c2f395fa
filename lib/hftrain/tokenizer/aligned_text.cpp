#include "hftrain/tokenizer/aligned_text.h"

#include <algorithm>
#include <optional>

#include "hftrain/base/error.h"
#include "hftrain/tokenizer/unicode/properties.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {

using unicode::Change;

AlignedText::AlignedText(std::string_view original, size_t begin)
    : text_(original), original_begin_(begin), original_size_(original.size()) {
  origins_.reserve(original.size());
  for (size_t i = 0; i < original.size();) {
    const size_t size = unicode::size_of(original[i]);
    origins_.insert(origins_.end(), size, {static_cast<uint32_t>(i), static_cast<uint32_t>(i + size)});
    i += size;
  }
}

std::pair<size_t, size_t> AlignedText::original_of(size_t begin, size_t end) const {
  if (begin >= end) return {original_begin_ + begin, original_begin_ + end};
  if (end > origins_.size())
    return {begin, end};  // decorated characters can make tokens longer than the text
  return {original_begin_ + origins_[begin].begin, original_begin_ + origins_[end - 1].end};
}

AlignedText AlignedText::slice(size_t begin, size_t end) const {
  const auto [original_begin, original_end] = original_of(begin, end);
  AlignedText part;
  part.text_ = text_.substr(begin, end - begin);
  part.original_begin_ = original_begin;
  part.original_size_ = original_end - original_begin;
  const auto shift = static_cast<uint32_t>(original_begin - original_begin_);
  part.origins_.reserve(end - begin);
  for (size_t i = begin; i < end; ++i) {
    part.origins_.push_back({origins_[i].begin - shift, origins_[i].end - shift});
  }
  return part;
}

// Bytes of the text that come from the original, from the first that has a width: a character that was put in
// front of everything has none and is left alone by whole-text transformations.
std::pair<size_t, size_t> AlignedText::touched_by_original() const {
  if (original_size_ == 0) return {0, 0};
  std::optional<size_t> begin;
  size_t end = 0;
  for (size_t i = 0; i < origins_.size() && origins_[i].end <= original_size_; ++i) {
    if (!begin && origins_[i].begin != origins_[i].end) begin = i;
    end = i + 1;
  }
  return {begin.value_or(end), end};
}

bool AlignedText::is_plain_ascii() const {
  return unicode::is_ascii(text_) && touched_by_original() == std::pair(size_t{0}, text_.size());
}

void AlignedText::transform(const std::vector<Change>& changes, size_t removed) {
  const auto [begin, end] = touched_by_original();
  const bool whole = begin == 0 && end == text_.size();
  if (whole && removed == 0 && is_text(changes)) return;  // most steps leave most words as they are
  is_skewed_ = is_skewed_ || !whole;
  transform_range(begin, end, changes, removed);
}

bool AlignedText::is_text(const std::vector<Change>& changes) const {
  size_t at = 0;
  for (const Change& change : changes) {
    if (at >= text_.size() || change.change != 0 || unicode::decode(text_.data() + at) != change.character)
      return false;
    at += unicode::size_of(text_[at]);
  }
  return at == text_.size();
}

void AlignedText::refuse_growth(size_t size) const {
  if (size <= most_bytes_from(original_size_)) return;
  throw Error(ExitCode::kData, "the tokenizer makes far too much of a text")
      .why("its normalizers and pre-tokenizers turn " + std::to_string(original_size_) +
           " bytes into more than " + std::to_string(most_bytes_from(original_size_)))
      .hint("look whether its file is damaged or made to harm");
}

void AlignedText::transform_range(size_t begin, size_t end, const std::vector<Change>& changes,
                                  size_t removed) {
  size_t replaced = begin;  // the next character of the range that a change replaces
  bool too_many = false;
  const auto pass = [&](int characters) {
    for (; characters > 0 && replaced < end; --characters) replaced += unicode::size_of(text_[replaced]);
    too_many = too_many || characters > 0;
  };
  pass(static_cast<int>(removed));
  std::string text;
  std::vector<Origin> origins;
  text.reserve(changes.size());
  origins.reserve(changes.size());
  for (const Change& change : changes) {
    const Origin origin =
        change.change > 0 ? origin_before(replaced) : origins_[std::min(replaced, origins_.size() - 1)];
    if (change.change <= 0) pass(1 - change.change);
    unicode::append(change.character, text);
    origins.resize(text.size(), origin);
  }
  is_skewed_ = is_skewed_ || (!changes.empty() && (too_many || replaced != end));
  refuse_growth(text_.size() - (end - begin) + text.size());
  text_.replace(begin, end - begin, text);
  const auto at = origins_.begin() + static_cast<long>(begin);
  const auto kept = origins_.erase(at, at + static_cast<long>(end - begin));
  origins_.insert(kept, origins.begin(), origins.end());
}

void AlignedText::prepend(std::string_view text) {
  if (text_.empty()) return;
  std::vector<Change> changes;
  for (const char* p = text.data(); p < text.data() + text.size(); p += unicode::size_of(*p)) {
    changes.push_back({unicode::decode(p), changes.empty() ? 0 : 1});
  }
  changes.push_back({unicode::decode(text_.data()), 1});
  transform_range(0, unicode::size_of(text_[0]), changes, 0);
}

void AlignedText::replace(const std::vector<Stretch>& stretches, std::string_view content) {
  if (stretches.size() == 1 && !stretches.front().is_match) return;
  std::string text;
  std::vector<Origin> origins;
  text.reserve(text_.size());
  origins.reserve(origins_.size());
  for (const Stretch& stretch : stretches) {
    if (stretch.is_match) {
      refuse_growth(text.size() + content.size());
      text += content;
      origins.resize(text.size(), origin_before(stretch.end));
    } else {
      text.append(text_, stretch.begin, stretch.end - stretch.begin);
      origins.insert(origins.end(), origins_.begin() + static_cast<long>(stretch.begin),
                     origins_.begin() + static_cast<long>(stretch.end));
    }
  }
  text_ = std::move(text);
  origins_ = std::move(origins);
}

void AlignedText::filter(bool (*keep)(char32_t)) {
  const auto kept = [keep](char c) { return keep(static_cast<char32_t>(c)); };
  if (is_plain_ascii() && std::all_of(text_.begin(), text_.end(), kept)) return;
  std::vector<Change> changes;
  size_t removed_first = 0;
  int removed = 0;
  for (const char* p = text_.data(); p < text_.data() + text_.size(); p += unicode::size_of(*p)) {
    const char32_t c = unicode::decode(p);
    if (!keep(c)) {
      ++removed;
      continue;
    }
    if (changes.empty()) {
      removed_first = static_cast<size_t>(removed);
    } else {
      changes.back().change = -removed;
    }
    changes.push_back({c, 0});
    removed = 0;
  }
  if (!changes.empty()) changes.back().change = -removed;
  transform(changes, removed_first);
}

// Characters of ASCII keep their size and so their origins.
bool AlignedText::map_ascii(char32_t (*change)(char32_t)) {
  if (!is_plain_ascii()) return false;
  for (char& c : text_) c = static_cast<char>(change(static_cast<char32_t>(c)));
  return true;
}

void AlignedText::map(char32_t (*change)(char32_t)) {
  if (map_ascii(change)) return;
  std::vector<Change> changes;
  changes.reserve(text_.size());
  for (const char* p = text_.data(); p < text_.data() + text_.size(); p += unicode::size_of(*p)) {
    changes.push_back({change(unicode::decode(p)), 0});
  }
  transform(changes);
}

void AlignedText::lowercase() {
  if (!map_ascii(unicode::lowercase_of)) transform(unicode::lowercase(text_));
}

void AlignedText::strip(bool left, bool right) {
  std::vector<char32_t> characters;
  for (const char* p = text_.data(); p < text_.data() + text_.size(); p += unicode::size_of(*p)) {
    characters.push_back(unicode::decode(p));
  }
  size_t begin = 0, end = characters.size();
  while (left && begin < characters.size() && unicode::is_white_space(characters[begin])) ++begin;
  while (right && end > 0 && unicode::is_white_space(characters[end - 1])) --end;
  if (begin == 0 && end == characters.size()) return;
  const size_t trailing = characters.size() - end;
  // The package compares a count of characters with one of bytes here; the character that is told of the
  // removed ones is therefore the last one only in text whose characters are single bytes.
  const size_t teller = text_.size() - trailing - 1;
  std::vector<Change> changes;
  for (size_t i = begin; i < end; ++i) {
    changes.push_back({characters[i], i == teller ? -static_cast<int>(trailing) : 0});
  }
  transform(changes, begin);
}

}  // namespace hftrain::tokenizer
