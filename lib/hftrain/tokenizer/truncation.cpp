#include "hftrain/tokenizer/truncation.h"

#include <algorithm>
#include <string>
#include <utility>

namespace hftrain::tokenizer {
namespace {

// Tokens of all windows of one input together.
constexpr size_t kMostWindowTokens = size_t{1} << 24;

// The shorter of two texts stays whole unless both are longer than half of the room.
KeptLengths longest_first(size_t room, size_t first, size_t second) {
  size_t shorter = std::min(first, second);
  size_t longer = shorter > room ? shorter : std::max(shorter, room - shorter);
  if (shorter + longer > room) {
    shorter = room / 2;
    longer = shorter + room % 2;
  }
  return first > second ? KeptLengths{longer, shorter} : KeptLengths{shorter, longer};
}

size_t shortened(size_t length, size_t too_many, const char* which) {
  if (length > too_many) return length - too_many;
  throw CannotTruncate("only the " + std::string(which) + " text may be cut, which has " +
                           std::to_string(length) + " tokens, and " + std::to_string(too_many) +
                           " are too many",
                       "allow more tokens, or cut the longest text first");
}

// [begin, end) of each window, the first one first.
std::vector<std::pair<size_t, size_t>> windows_of(size_t size, size_t length, size_t step, bool from_left) {
  std::vector<std::pair<size_t, size_t>> windows;
  if (from_left) {
    for (size_t end = size;; end -= step) {
      const size_t begin = end < length ? 0 : end - length;
      windows.emplace_back(begin, end);
      if (begin == 0) return windows;
    }
  }
  for (size_t begin = 0;; begin += step) {
    const size_t end = std::min(begin + length, size);
    windows.emplace_back(begin, end);
    if (end == size) return windows;
  }
}

Encoding padding_of(const Padding& padding, size_t count) {
  Encoding pads;
  pads.ids.assign(count, padding.id);
  pads.tokens.assign(count, padding.token);
  pads.offsets.resize(count);
  pads.type_ids.assign(count, padding.type_id);
  pads.attention_mask.assign(count, 0);
  pads.special_tokens_mask.assign(count, 1);
  pads.word_ids.assign(count, kUnassigned);
  return pads;
}

void pad_to(Encoding& encoding, size_t length, const Padding& padding) {
  for (Encoding& window : encoding.overflowing) pad_to(window, length, padding);
  if (encoding.size() >= length) return;
  std::vector<Encoding> windows = std::move(encoding.overflowing);
  encoding.overflowing.clear();
  Encoding pads = padding_of(padding, length - encoding.size());
  if (padding.on_left) std::swap(pads, encoding);
  encoding.append(pads);
  encoding.overflowing = std::move(windows);
}

}  // namespace

CannotTruncate::CannotTruncate(std::string why, std::string hint)
    : Error(ExitCode::kData, "this text cannot be cut to its greatest length") {
  this->why(std::move(why)).hint(std::move(hint));
}

KeptLengths kept_lengths(const Truncation& truncation, size_t added, size_t first,
                         std::optional<size_t> second) {
  const auto most = static_cast<size_t>(std::max<int64_t>(0, truncation.max_length));
  const size_t both = first + second.value_or(0);
  if (most < added) {
    throw CannotTruncate("the tokenizer puts " + std::to_string(added) +
                             " special tokens around it, and only " + std::to_string(most) +
                             " tokens are allowed in all",
                         "allow more tokens, or leave out special tokens");
  }
  const size_t room = most - added;
  if (room == 0) return {0, 0};
  if (both <= room) return {first, second.value_or(0)};
  const size_t too_many = both - room;
  switch (truncation.strategy) {
    case TruncationStrategy::kOnlyFirst:
      return {shortened(first, too_many, "first"), second.value_or(0)};
    case TruncationStrategy::kOnlySecond:
      if (!second) {
        throw CannotTruncate("only a second text may be cut, and there is none",
                             "give a second text, or cut the longest text first");
      }
      return {first, shortened(*second, too_many, "second")};
    case TruncationStrategy::kLongestFirst:
      break;
  }
  return second ? longest_first(room, first, *second) : KeptLengths{room, 0};
}

void refuse_windows(size_t windows, size_t tokens) {
  if (windows == 0 || tokens <= kMostWindowTokens / windows) return;
  throw CannotTruncate(
      std::to_string(windows) + " windows of " + std::to_string(tokens) + " tokens are too many for one text",
      "allow more tokens in a window, or a smaller stride");
}

void refuse_stride(const Truncation& truncation, size_t length) {
  if (length == 0) return;  // a text that vanishes has no windows
  if (truncation.stride < 0 || static_cast<size_t>(truncation.stride) >= length) {
    throw CannotTruncate("windows of " + std::to_string(length) + " tokens cannot share " +
                             std::to_string(truncation.stride) + " with their neighbours",
                         "a stride must be less than what special tokens and the other text leave");
  }
}

void truncate(Encoding& encoding, size_t length, const Truncation& truncation, bool windows) {
  const size_t size = encoding.size();
  if (length >= size) return;
  if (length == 0) {
    Encoding nothing;
    if (windows) nothing.overflowing.push_back(std::move(encoding));
    encoding = std::move(nothing);
    return;
  }
  refuse_stride(truncation, length);
  const size_t step = length - static_cast<size_t>(truncation.stride);
  if (!windows) {
    encoding = truncation.from_left ? encoding.slice(size - length, size) : encoding.slice(0, length);
    return;
  }
  refuse_windows(size / step, length);
  const auto ranges = windows_of(size, length, step, truncation.from_left);
  Encoding first = encoding.slice(ranges[0].first, ranges[0].second);
  for (size_t i = 1; i < ranges.size(); ++i) {
    first.overflowing.push_back(encoding.slice(ranges[i].first, ranges[i].second));
  }
  encoding = std::move(first);
}

void pad(Encoding& encoding, const Padding& padding) {
  auto target = static_cast<size_t>(padding.fixed_length.value_or(static_cast<int64_t>(encoding.size())));
  const auto multiple = static_cast<size_t>(std::max<int64_t>(0, padding.multiple_of));
  if (multiple > 0 && target % multiple > 0) target += multiple - target % multiple;
  if (!encoding.overflowing.empty()) refuse_windows(encoding.overflowing.size() + 1, target);
  pad_to(encoding, target, padding);
}

}  // namespace hftrain::tokenizer
