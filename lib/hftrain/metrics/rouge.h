// ROUGE (Lin 2004) as the rouge-score package computes it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hftrain::metrics {

struct RougeScore {
  double precision = 0;
  double recall = 0;
  double f1 = 0;
};

// Runs of a-z and 0-9 of the lower-case text; with `use_stemmer`, those of more than three letters as their
// Porter stems.
std::vector<std::string> rouge_words(std::string_view text, bool use_stemmer);

// The kinds of ROUGE: rouge1 to rouge9 (n-grams), rougeL (longest common subsequence of the text) and
// rougeLsum (its union over sentences, which stand on lines of their own).
struct RougeKind {
  enum class Unit { kNgrams, kText, kSentences } unit = Unit::kNgrams;
  int order = 1;  // of kNgrams
};

// kUsage for a name of none.
RougeKind rouge_kind(std::string_view name);

// One score for each kind. Any bytes; n-grams take time linear in the words, the subsequences the product of
// the two texts' words, memory linear in them.
std::vector<RougeScore> rouge(std::string_view prediction, std::string_view reference,
                              std::span<const RougeKind> kinds, bool use_stemmer = false);

// For each kind the score of the reference with the highest F1 (the first of equals); zeros without
// references.
std::vector<RougeScore> rouge(std::string_view prediction, std::span<const std::string> references,
                              std::span<const RougeKind> kinds, bool use_stemmer = false);

}  // namespace hftrain::metrics
