#include "hftrain/data/batch_rebalance.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace hftrain::data {
namespace {

constexpr double kAttentionWeight = 0.001;  // of the square of the length, against the length itself

double cost_of(int64_t size, int64_t longest) {
  const auto samples = static_cast<double>(size), tokens = static_cast<double>(longest);
  return samples * tokens + kAttentionWeight * samples * tokens * tokens;
}

// CPython's set of small whole numbers, as far as its order goes: where a number lies depends on its value and on
// what was there before. BatchRebalanceSampler fills groups in that order, so which samples end up where does too.
class NumberSet {
 public:
  void insert(size_t number) {
    put(number);
    ++size_;
    if (size_ * 5 < (table_.size() - 1) * 3) return;
    size_t room = 8;
    while (room <= size_ * 4) room *= 2;
    const std::vector<size_t> before = in_order();
    table_.assign(room, std::nullopt);
    for (const size_t one : before) put(one);
  }
  std::vector<size_t> in_order() const {
    std::vector<size_t> numbers;
    for (const std::optional<size_t>& place : table_) {
      if (place) numbers.push_back(*place);
    }
    return numbers;
  }

 private:
  void put(size_t number) {
    constexpr size_t kNeighbours = 9;
    const size_t mask = table_.size() - 1;
    size_t perturb = number, at = number & mask;
    while (true) {
      const size_t last = at + kNeighbours <= mask ? at + kNeighbours : at;
      for (size_t place = at; place <= last; ++place) {
        if (table_[place]) continue;
        table_[place] = number;
        return;
      }
      perturb >>= 5;
      at = (at * 5 + 1 + perturb) & mask;
    }
  }

  std::vector<std::optional<size_t>> table_ = std::vector<std::optional<size_t>>(8);
  size_t size_ = 0;
};

// The search for sizes of the groups. `lengths`: of the update's samples, from long to short.
class GroupSizes {
 public:
  GroupSizes(const std::vector<int64_t>& lengths, const RebalanceShape& shape)
      : lengths_(lengths),
        ranks_(static_cast<size_t>(shape.ranks)),
        moves_(std::max<int64_t>(shape.groups() * 30, shape.update_size)),
        frozen_(static_cast<size_t>(shape.groups()), false) {
    const auto samples = static_cast<int64_t>(lengths.size());
    for (int64_t i = 0; i < shape.groups(); ++i)
      sizes_.push_back(samples / shape.groups() + (i < samples % shape.groups() ? 1 : 0));
  }

  std::vector<int64_t> best() {
    std::vector<int64_t> best = sizes_;
    double smallest_spread = std::numeric_limits<double>::infinity();
    std::set<std::vector<int64_t>> seen;
    for (int64_t move = 0; move < moves_ && seen.insert(sizes_).second; ++move) {
      const std::vector<double> costs = all_costs();
      const std::vector<size_t> active = active_groups();
      if (active.size() <= 1) break;
      const size_t dearest = dearest_of(active, costs), cheapest = cheapest_of(active, costs);
      const double spread = costs[dearest] - costs[cheapest];
      if (spread < smallest_spread) {
        smallest_spread = spread;
        best = sizes_;
      }
      if (spread == 0) break;
      if (sizes_[dearest] > 1) {
        --sizes_[dearest];
        ++sizes_[cheapest];
      } else {
        fill_and_freeze(dearest, costs);
      }
    }
    return best;
  }

 private:
  size_t groups() const { return sizes_.size(); }

  std::vector<double> all_costs() const {
    std::vector<double> costs;
    size_t begin = 0;
    for (const int64_t size : sizes_) {
      costs.push_back(size == 0 ? 0 : cost_of(size, lengths_[begin]));
      begin += static_cast<size_t>(size);
    }
    return costs;
  }

  std::vector<size_t> active_groups() const {
    std::vector<size_t> active;
    for (size_t i = 0; i < groups(); ++i) {
      if (!frozen_[i]) active.push_back(i);
    }
    return active;
  }

  // Of equals the first, as Python's max and min.
  static size_t dearest_of(const std::vector<size_t>& among, const std::vector<double>& costs) {
    return *std::max_element(among.begin(), among.end(),
                             [&](size_t a, size_t b) { return costs[a] < costs[b]; });
  }
  static size_t cheapest_of(const std::vector<size_t>& among, const std::vector<double>& costs) {
    return *std::min_element(among.begin(), among.end(),
                             [&](size_t a, size_t b) { return costs[a] < costs[b]; });
  }

  // The groups that would be computed at the same time as `pivot`: its block of ranks in the order of costs.
  std::vector<size_t> neighbours_of(size_t pivot, const std::vector<double>& costs) const {
    std::vector<size_t> ranking(groups());
    std::iota(ranking.begin(), ranking.end(), size_t{0});
    std::stable_sort(ranking.begin(), ranking.end(), [&](size_t a, size_t b) { return costs[a] > costs[b]; });
    const auto place =
        static_cast<size_t>(std::find(ranking.begin(), ranking.end(), pivot) - ranking.begin());
    const size_t begin = place / ranks_ * ranks_;
    NumberSet members;
    for (size_t i = begin; i < std::min(begin + ranks_, groups()); ++i) members.insert(ranking[i]);
    return members.in_order();
  }

  // `pivot` is one sample, so its cost is as low as it can be: what is computed beside it may cost as much, and then
  // stays as it is.
  void fill_and_freeze(size_t pivot, const std::vector<double>& costs) {
    const std::vector<size_t> members = neighbours_of(pivot, costs);
    for (const size_t group : members) {
      if (!frozen_[group] && group != pivot) fill(group, members, costs[pivot]);
    }
    for (const size_t group : members) frozen_[group] = true;
  }

  void fill(size_t group, const std::vector<size_t>& members, double limit) {
    while (true) {
      const auto begin =
          std::accumulate(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(group), int64_t{0});
      if (cost_of(sizes_[group] + 1, lengths_[static_cast<size_t>(begin)]) > limit) return;
      std::vector<size_t> donors;
      for (const size_t other : active_groups()) {
        const bool member = std::find(members.begin(), members.end(), other) != members.end();
        if (!member && sizes_[other] > 1) donors.push_back(other);
      }
      if (donors.empty()) return;
      --sizes_[cheapest_of(donors, all_costs())];
      ++sizes_[group];
    }
  }

  const std::vector<int64_t>& lengths_;
  size_t ranks_;
  int64_t moves_;
  std::vector<int64_t> sizes_;
  std::vector<bool> frozen_;
};

}  // namespace

std::vector<std::vector<int64_t>> rebalanced_groups(const std::vector<int64_t>& samples,
                                                    const std::vector<int32_t>& lengths,
                                                    const RebalanceShape& shape) {
  std::vector<int64_t> sorted = samples, tokens;
  std::stable_sort(sorted.begin(), sorted.end(), [&](int64_t a, int64_t b) {
    return lengths[static_cast<size_t>(a)] > lengths[static_cast<size_t>(b)];
  });
  for (const int64_t sample : sorted) tokens.push_back(lengths[static_cast<size_t>(sample)]);
  struct Group {
    double cost;
    std::vector<int64_t> samples;
  };
  std::vector<Group> groups;
  int64_t begin = 0;
  for (const int64_t size : GroupSizes(tokens, shape).best()) {
    groups.push_back({cost_of(size, tokens[static_cast<size_t>(begin)]),
                      {sorted.begin() + begin, sorted.begin() + begin + size}});
    begin += size;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.cost > b.cost; });
  std::vector<std::vector<int64_t>> result;
  for (Group& group : groups) result.push_back(std::move(group.samples));
  return result;
}

std::vector<std::vector<int64_t>> rebalanced_batches(const std::vector<int64_t>& order,
                                                     const std::vector<int32_t>& lengths,
                                                     const RebalanceShape& shape, int rank, bool drop_last) {
  const auto samples = static_cast<int64_t>(order.size());
  std::vector<std::vector<int64_t>> batches;
  for (int64_t begin = 0; begin < samples; begin += shape.update_size) {
    const int64_t end = std::min(begin + shape.update_size, samples);
    if (drop_last && end - begin < shape.update_size) break;
    std::vector<int64_t> update(order.begin() + begin, order.begin() + end);
    for (int64_t i = 0; static_cast<int64_t>(update.size()) < shape.groups(); ++i)
      update.push_back(order[static_cast<size_t>(i % samples)]);
    const auto groups = rebalanced_groups(update, lengths, shape);
    for (int64_t slot = 0; slot < shape.micro_batches; ++slot)
      batches.push_back(groups[static_cast<size_t>(slot * shape.ranks + rank)]);
  }
  return batches;
}

}  // namespace hftrain::data
