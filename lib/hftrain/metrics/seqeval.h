// Precision, recall and F1 over entities, and accuracy over tags: what the seqeval package and `evaluate`
// report of tag sequences. Counts only, so ranks and batches may be added in any order.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "hftrain/metrics/entities.h"

namespace hftrain::metrics {

// Entities of one type, or of all: right ones have type, begin and end of one that is there.
struct EntityCounts {
  int64_t right = 0;
  int64_t predicted = 0;
  int64_t actual = 0;
};

struct EntityScores {
  double precision = 0;
  double recall = 0;
  double f1 = 0;
  int64_t number = 0;  // entities that are there
};

// `zero_division` (0 or 1) is a precision without predictions and a recall without entities.
EntityScores entity_scores(const EntityCounts& counts, double zero_division = 0);

// What entities begun before a row depend on (RowEntities), of a row at `place` among all.
struct OpenRow {
  int64_t place = 0;
  int64_t predicted_begin = -1;  // of the row's last entity; -1: it begins none
  int64_t actual_begin = -1;
  std::vector<std::string> types;  // of open entities with one end: right where their begins are one
};

struct SeqevalCounts {
  std::map<std::string, EntityCounts> types;
  int64_t right_tags = 0;
  int64_t tags = 0;

  std::vector<OpenRow> open;  // in any order; of the lenient scheme

  // Two sequences of one length, those of the row at `place` (from 0) among all.
  void add(int64_t place, std::span<const std::string> predicted, std::span<const std::string> actual,
           TagScheme scheme = TagScheme::kLenient, bool suffix = false);
  // Counts the right ones of all open rows, which must be there; once, before results are read.
  void close();
  EntityCounts overall() const;
  double accuracy() const { return static_cast<double>(right_tags) / static_cast<double>(tags); }

 private:
  void count(std::span<const Entity> found, std::span<const Entity> there);
  void add_row(int64_t place, const RowEntities& found, const RowEntities& there);
};

}  // namespace hftrain::metrics
