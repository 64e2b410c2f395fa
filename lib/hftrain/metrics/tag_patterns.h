// What defines a scheme of entity tags: between which two neighbours an entity begins, goes on and ends.
#pragma once

#include <span>
#include <string_view>

#include "hftrain/metrics/entities.h"

namespace hftrain::metrics {

enum class TagTypes { kAny, kSame, kDifferent };

// Matches a tag after another one by their letters and whether their types are equal.
struct TagPattern {
  std::string_view previous;
  std::string_view letters;
  TagTypes types;
};

struct TagPatterns {
  std::string_view name;
  std::string_view letters;
  std::span<const TagPattern> begins, continues, ends;
};

// Not of kLenient.
const TagPatterns& patterns_of(TagScheme scheme);

}  // namespace hftrain::metrics
