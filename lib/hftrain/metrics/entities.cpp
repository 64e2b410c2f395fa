#include "hftrain/metrics/entities.h"

#include <algorithm>
#include <set>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/metrics/tag_patterns.h"

namespace hftrain::metrics {
namespace {

struct Tag {
  char letter = 'O';
  std::string type;
};

// Bytes of the first character: its lead and what continues it.
size_t first_character(std::string_view text) {
  size_t bytes = text.empty() ? 0 : 1;
  while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) ++bytes;
  return bytes;
}

Tag lenient_tag(std::string_view text, bool suffix) {
  if (text.empty()) return {'O', "_"};
  Tag tag;
  if (suffix) {
    tag.letter = text.back();
    text.remove_suffix(1);
    text = text.substr(0, text.rfind('-'));
  } else {
    tag.letter = text.front();
    text.remove_prefix(first_character(text));
    const size_t dash = text.find('-');
    if (dash != std::string_view::npos) text.remove_prefix(dash + 1);
  }
  tag.type = text.empty() ? "_" : std::string(text);
  return tag;
}

Tag strict_tag(std::string_view text, bool suffix) {
  Tag tag;
  tag.letter = text.empty() ? '\0' : suffix ? text.back() : text.front();
  if (!text.empty()) suffix ? text.remove_suffix(1) : text.remove_prefix(1);
  while (!text.empty() && text.front() == '-') text.remove_prefix(1);
  while (!text.empty() && text.back() == '-') text.remove_suffix(1);
  tag.type = text.empty() ? "_" : std::string(text);
  return tag;
}

bool is_one_of(char letter, std::string_view letters) {
  return letters.find(letter) != std::string_view::npos;
}

bool ends_before(const Tag& previous, const Tag& tag) {
  if (is_one_of(previous.letter, "ES")) return true;
  if (is_one_of(previous.letter, "BI") && is_one_of(tag.letter, "BSO")) return true;
  return !is_one_of(previous.letter, "O.") && previous.type != tag.type;
}

bool begins_at(const Tag& previous, const Tag& tag) {
  if (is_one_of(tag.letter, "BS")) return true;
  if (is_one_of(previous.letter, "ESO") && is_one_of(tag.letter, "EI")) return true;
  return !is_one_of(tag.letter, "O.") && previous.type != tag.type;
}

bool matches(std::span<const TagPattern> patterns, const Tag& previous, const Tag& tag) {
  for (const TagPattern& pattern : patterns) {
    const bool same = previous.type == tag.type;
    const bool types_match = pattern.types == TagTypes::kAny || same == (pattern.types == TagTypes::kSame);
    if (types_match && is_one_of(previous.letter, pattern.previous) &&
        is_one_of(tag.letter, pattern.letters)) {
      return true;
    }
  }
  return false;
}

std::vector<Tag> checked_tags(std::span<const std::string> texts, const TagPatterns& scheme, bool suffix) {
  std::vector<Tag> tags;
  for (const std::string& text : texts) {
    tags.push_back(strict_tag(text, suffix));
    if (is_one_of(tags.back().letter, scheme.letters)) continue;
    throw Error(ExitCode::kData, "'" + text + "' is no tag of " + std::string(scheme.name))
        .where("metrics")
        .why("its letters are " + std::string(scheme.letters))
        .hint("name the scheme that the labels follow, or none");
  }
  tags.push_back({'O', "_"});
  return tags;
}

std::vector<Entity> strict_entities(std::span<const std::string> texts, const TagPatterns& scheme,
                                    bool suffix) {
  const std::vector<Tag> tags = checked_tags(texts, scheme, suffix);
  std::vector<Entity> entities;
  const Tag outside{'O', "_"};
  for (size_t i = 0; i < tags.size();) {
    if (!matches(scheme.begins, i == 0 ? outside : tags[i - 1], tags[i])) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < tags.size() && matches(scheme.continues, tags[end - 1], tags[end])) ++end;
    if (end < tags.size() && matches(scheme.ends, tags[end - 1], tags[end])) {
      entities.push_back({tags[i].type, i, end});
    }
    i = end;
  }
  return entities;
}

}  // namespace

RowEntities entities_of_row(std::span<const std::string> tags, bool first, bool suffix) {
  RowEntities found;
  if (first) found.last_begin = 0;
  Tag previous{'O', "_"};
  for (size_t i = 0; i <= tags.size(); ++i) {
    Tag tag = lenient_tag(i < tags.size() ? std::string_view(tags[i]) : "O", suffix);
    if (ends_before(previous, tag)) {
      (found.last_begin ? found.entities : found.open)
          .push_back({previous.type, found.last_begin.value_or(0), i});
    }
    if (begins_at(previous, tag)) found.last_begin = i;
    previous = std::move(tag);
  }
  return found;
}

// A tag begins nothing where its letter does not and the one before it is of its type: the O between rows, or an O
// or "." with a type.
bool leaves_open(std::span<const std::string> tags) {
  std::set<std::string> outside{"_"};
  for (const std::string& text : tags) {
    const Tag tag = lenient_tag(text, false);
    if (is_one_of(tag.letter, "O.")) outside.insert(tag.type);
  }
  return std::any_of(tags.begin(), tags.end(), [&](const std::string& text) {
    const Tag tag = lenient_tag(text, false);
    return !is_one_of(tag.letter, "BIESO") && outside.contains(tag.type);
  });
}

std::vector<Entity> find_entities(std::span<const std::string> tags, TagScheme scheme, bool suffix) {
  if (scheme == TagScheme::kLenient) return entities_of_row(tags, true, suffix).entities;
  return strict_entities(tags, patterns_of(scheme), suffix);
}

std::string type_of_tag(std::string_view tag, TagScheme scheme, bool suffix) {
  return scheme == TagScheme::kLenient ? lenient_tag(tag, suffix).type : strict_tag(tag, suffix).type;
}

TagScheme detect_scheme(std::span<const std::vector<std::string>> sequences, bool suffix) {
  std::string letters;
  for (const auto& tags : sequences) {
    for (const std::string& tag : tags) {
      const char letter = strict_tag(tag, suffix).letter;
      if (!is_one_of(letter, letters)) letters += letter;
    }
  }
  const auto has = [&](char letter) { return is_one_of(letter, letters); };
  const auto only = [&](std::string_view allowed) {
    return letters.find_first_not_of(allowed) == std::string::npos;
  };
  if (only("IOB") && has('B')) return TagScheme::kIob2;
  if (only("IOE") && has('E')) return TagScheme::kIoe2;
  if (only("IOBES") && ((has('B') && has('E')) || letters == "S")) return TagScheme::kIobes;
  if (only("IOBLU") && ((has('B') && has('L')) || letters == "U")) return TagScheme::kBilou;
  throw Error(ExitCode::kData, "no scheme of tags is known that has just these letters: '" + letters + "'")
      .where("metrics")
      .why("tags are compared strictly and no scheme was named")
      .hint("name one of IOB1, IOB2, IOE1, IOE2, IOBES and BILOU");
}

TagScheme tag_scheme(std::string_view name) {
  for (const TagScheme scheme : {TagScheme::kIob1, TagScheme::kIob2, TagScheme::kIoe1, TagScheme::kIoe2,
                                 TagScheme::kIobes, TagScheme::kBilou}) {
    if (patterns_of(scheme).name == name) return scheme;
  }
  throw Error(ExitCode::kUsage, "unknown scheme of tags '" + std::string(name) + "'")
      .where("metrics")
      .why("entities are found by the rules of a scheme")
      .hint("one of IOB1, IOB2, IOE1, IOE2, IOBES and BILOU");
}

}  // namespace hftrain::metrics
