#include "hftrain/data/sample_order.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>

#include "hftrain/base/error.h"

namespace hftrain::data {
namespace {

using Order = std::vector<int64_t>;

constexpr int64_t kMostGroups = 50;  // of a piece that is sorted

// torch takes 32-bit draws below this size and pairs of them from it on.
constexpr int64_t kLargePermutation = std::numeric_limits<uint32_t>::max() / 20;

void shuffle_small(Order& order, std::mt19937& engine) {
  const auto n = static_cast<int64_t>(order.size());
  for (int64_t i = 0; i < n - 1; ++i)
    std::swap(order[i], order[i + static_cast<int64_t>(engine()) % (n - i)]);
}

void shuffle_large(Order& order, std::mt19937& engine) {
  for (size_t i = 0; i < order.size(); ++i) {
    const uint64_t high = engine();
    const uint64_t low = engine();
    const size_t other = (high << 32 | low) % (i + 1);
    order[i] = order[other];
    order[other] = static_cast<int64_t>(i);
  }
}

// torch.randperm(n) of a generator that goes on.
Order permutation_of(int64_t n, std::mt19937& engine) {
  Order order(static_cast<size_t>(n));
  if (n >= kLargePermutation) {
    shuffle_large(order, engine);
    return order;
  }
  std::iota(order.begin(), order.end(), int64_t{0});
  shuffle_small(order, engine);
  return order;
}

int32_t length_of(const std::vector<int32_t>& lengths, int64_t sample) {
  return lengths[static_cast<size_t>(sample)];
}

// As Python's sorted(…, reverse=True): of equals the first stays first.
void sort_from_long_to_short(std::span<int64_t> samples, const std::vector<int32_t>& lengths) {
  std::stable_sort(samples.begin(), samples.end(),
                   [&](int64_t a, int64_t b) { return length_of(lengths, a) > length_of(lengths, b); });
}

// Consecutive pieces of `size` samples; the last may be short.
std::vector<std::span<int64_t>> pieces_of(Order& order, int64_t size) {
  std::vector<std::span<int64_t>> pieces;
  const std::span<int64_t> all(order);
  for (size_t begin = 0; begin < all.size(); begin += static_cast<size_t>(size))
    pieces.push_back(all.subspan(begin, std::min(static_cast<size_t>(size), all.size() - begin)));
  return pieces;
}

// The piece that begins with the longest sample, of equals the first.
size_t piece_with_longest(const std::vector<std::span<int64_t>>& pieces,
                          const std::vector<int32_t>& lengths) {
  size_t longest = 0;
  for (size_t i = 1; i < pieces.size(); ++i) {
    if (length_of(lengths, pieces[i].front()) > length_of(lengths, pieces[longest].front())) longest = i;
  }
  return longest;
}

void append(Order& order, std::span<const int64_t> samples) {
  order.insert(order.end(), samples.begin(), samples.end());
}

}  // namespace

Sampling sampling_named(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Sampling>, 6> kNames = {{
      {"sequential", Sampling::kSequential},
      {"random", Sampling::kRandom},
      {"group_by_length", Sampling::kGroupByLength},
      {"batch_rebalance", Sampling::kBatchRebalance},
      {"sortish", Sampling::kSortish},
      {"longest_first", Sampling::kLongestFirst},
  }};
  for (const auto& [word, sampling] : kNames) {
    if (word == name) return sampling;
  }
  throw Error(ExitCode::kInternal, "there is no order of samples named '" + std::string(name) + "'");
}

Order random_permutation(int64_t n, uint64_t seed, int64_t before) {
  std::mt19937 engine(static_cast<uint32_t>(seed));
  for (int64_t i = 0; i < before; ++i) permutation_of(n, engine);
  return permutation_of(n, engine);
}

Order length_grouped_order(const std::vector<int32_t>& lengths, int64_t group, uint64_t seed,
                           int64_t before) {
  const auto n = static_cast<int64_t>(lengths.size());
  const int64_t groups = std::clamp<int64_t>(n / (group * 4), 1, kMostGroups);
  Order order = random_permutation(n, seed, before);
  const std::vector<std::span<int64_t>> pieces = pieces_of(order, groups * group);
  for (const std::span<int64_t>& piece : pieces) sort_from_long_to_short(piece, lengths);
  // So that memory that does not suffice is missed at once.
  if (!pieces.empty()) std::swap(pieces.front().front(), pieces[piece_with_longest(pieces, lengths)].front());
  return order;
}

Order sortish_order(const std::vector<int32_t>& lengths, int64_t group, uint64_t seed) {
  std::mt19937 engine(static_cast<uint32_t>(seed));
  Order sorted = permutation_of(static_cast<int64_t>(lengths.size()), engine);
  for (const std::span<int64_t>& piece : pieces_of(sorted, kMostGroups * group))
    sort_from_long_to_short(piece, lengths);
  std::vector<std::span<int64_t>> groups = pieces_of(sorted, group);
  Order order;
  if (groups.empty()) return order;
  std::swap(groups.front(), groups[piece_with_longest(groups, lengths)]);
  append(order, groups.front());
  for (const int64_t other : permutation_of(static_cast<int64_t>(groups.size()) - 1, engine))
    append(order, groups[static_cast<size_t>(other) + 1]);
  return order;
}

Order longest_first_order(const std::vector<int32_t>& lengths) {
  Order order(lengths.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  sort_from_long_to_short(order, lengths);
  return order;
}

}  // namespace hftrain::data
