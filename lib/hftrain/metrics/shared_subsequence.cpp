#include "hftrain/metrics/shared_subsequence.h"

#include <algorithm>

namespace hftrain::metrics {
namespace {

// Row i of the table of lengths: entry j is the length for the first i words of one and the first j of the
// other.
using LengthRow = std::vector<int>;

LengthRow next_row(const LengthRow& row, int word, std::span<const int> other) {
  LengthRow next(row.size());
  for (size_t j = 1; j < row.size(); ++j) {
    next[j] = other[j - 1] == word ? row[j - 1] + 1 : std::max(row[j], next[j - 1]);
  }
  return next;
}

// Walks back through the table without ever holding it: rows are made again from one in the middle.
class BackWalk {
 public:
  BackWalk(std::span<const int> reference, std::span<const int> candidate, std::vector<bool>& in_shared)
      : reference_(reference), candidate_(candidate), in_shared_(in_shared) {}

  // From row `end` and `column` up to row `begin`, whose lengths are `top`; returns the column reached there.
  size_t walk(size_t begin, size_t end, const LengthRow& top, size_t column) {
    constexpr size_t kFewRows = 32;
    if (end - begin <= kFewRows) return walk_rows(begin, end, top, column);
    const size_t middle = begin + (end - begin) / 2;
    LengthRow row(top.begin(), top.begin() + static_cast<std::ptrdiff_t>(column + 1));
    for (size_t i = begin; i < middle; ++i) row = next_row(row, reference_[i], candidate_);
    const size_t between = walk(middle, end, row, column);
    return walk(begin, middle, top, between);
  }

 private:
  size_t walk_rows(size_t begin, size_t end, const LengthRow& top, size_t column) {
    std::vector<LengthRow> rows{{top.begin(), top.begin() + static_cast<std::ptrdiff_t>(column + 1)}};
    for (size_t i = begin; i < end; ++i) rows.push_back(next_row(rows.back(), reference_[i], candidate_));
    for (size_t i = end; i > begin && column > 0;) {
      const LengthRow &row = rows[i - begin], &above = rows[i - begin - 1];
      if (reference_[i - 1] == candidate_[column - 1]) {
        in_shared_[--i] = true;
        --column;
      } else if (row[column - 1] > above[column]) {
        --column;
      } else {
        --i;
      }
    }
    return column;
  }

  std::span<const int> reference_;
  std::span<const int> candidate_;
  std::vector<bool>& in_shared_;
};

}  // namespace

size_t shared_subsequence_length(std::span<const int> a, std::span<const int> b) {
  if (a.size() < b.size()) std::swap(a, b);  // rows as long as the shorter text
  LengthRow row(b.size() + 1);
  for (const int word : a) {
    int diagonal = 0;  // the row above, one column to the left
    for (size_t j = 1; j < row.size(); ++j) {
      const int above = row[j];
      row[j] = b[j - 1] == word ? diagonal + 1 : std::max(above, row[j - 1]);
      diagonal = above;
    }
  }
  return static_cast<size_t>(row.back());
}

void mark_shared_subsequence(std::span<const int> reference, std::span<const int> candidate,
                             std::vector<bool>& in_shared) {
  BackWalk(reference, candidate, in_shared)
      .walk(0, reference.size(), LengthRow(candidate.size() + 1), candidate.size());
}

}  // namespace hftrain::metrics
