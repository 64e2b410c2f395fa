// Entities in a sequence of tags such as B-PER I-PER O, as the seqeval package finds them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace hftrain::metrics {

// lenient: as conlleval does, which takes an I without a B, or of another type, for the begin of an entity;
// B, I, E, S and O may be mixed. The others accept what their scheme defines and nothing else (seqeval's
// mode "strict").
enum class TagScheme { kLenient, kIob1, kIob2, kIoe1, kIoe2, kIobes, kBilou };

struct Entity {
  std::string type;  // "_" for a tag that is only a letter
  size_t begin = 0;  // position of the first tag
  size_t end = 0;    // one past the last one
  bool operator==(const Entity&) const = default;
  bool operator<(const Entity& other) const {
    return std::tie(type, begin, end) < std::tie(other.type, other.begin, other.end);
  }
};

// What a row of tags adds to those before it. seqeval reads all rows as one sequence with an O between them, so an
// entity can end that no tag of its row began: behind O, "," and ":" are both of type "_". It then begins where the
// last one before it did.
struct RowEntities {
  std::vector<Entity> entities;  // begun in the row
  std::vector<Entity> open;      // begun in a row before it; `begin` says nothing
  std::optional<size_t>
      last_begin;  // what an open one of the next rows begins with; nothing: as before this row
};

// The lenient scheme; no row stands before the first.
RowEntities entities_of_row(std::span<const std::string> tags, bool first, bool suffix = false);

// Whether a row of such tags can have open entities.
bool leaves_open(std::span<const std::string> tags);

// In order of their begins. With `suffix` the letter comes last (PER-B). A scheme that is not lenient throws
// kData for a tag with a letter that it does not have. Any text is a tag to kLenient; letters other than
// B I E S O neither begin nor end an entity.
std::vector<Entity> find_entities(std::span<const std::string> tags, TagScheme scheme, bool suffix = false);

// The type that find_entities would give the tag's entity.
std::string type_of_tag(std::string_view tag, TagScheme scheme, bool suffix = false);

// The scheme of a strict evaluation that names none: the one of IOB2, IOE2, IOBES and BILOU that has exactly
// the letters used; throws kData when none has.
TagScheme detect_scheme(std::span<const std::vector<std::string>> sequences, bool suffix = false);

// "IOB2" and so on; kUsage for another word.
TagScheme tag_scheme(std::string_view name);

}  // namespace hftrain::metrics
