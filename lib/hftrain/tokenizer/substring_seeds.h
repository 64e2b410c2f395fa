// Where the training of a Unigram model begins: the characters of the words, and their substrings that are
// followed by at least two different characters (or ends of words), as a suffix tree has them for its inner
// nodes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hftrain/tokenizer/word_counts.h"

namespace hftrain::tokenizer {

// A token and the logarithm of its probability.
using ScoredPiece = std::pair<std::string, double>;

// Characters with their counts, then substrings of 2 to `longest` characters with how many places of the
// different words they are in, times their length; each group by falling weight, then by falling text; at most
// `most` pieces behind the characters' own. Weights become logarithms of shares of their sum.
std::vector<ScoredPiece> substring_seeds(const WordCounts& words, size_t longest, size_t most);

}  // namespace hftrain::tokenizer
