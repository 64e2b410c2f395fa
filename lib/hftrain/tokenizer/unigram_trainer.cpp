#include "hftrain/tokenizer/unigram_trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/tokenizer/unicode/utf8.h"
#include "hftrain/tokenizer/unigram_lattice.h"

namespace hftrain::tokenizer {
namespace {

// The package's defaults.
constexpr size_t kLongestSeed = 16;  // characters
constexpr size_t kMostSeeds = 1'000'000;
constexpr int kFitsPerRound = 2;
constexpr double kKeptPerRound = 0.75;
constexpr double kLeastExpected = 0.5;
constexpr double kPenaltyStep = 0.0001;
constexpr const char* kUnknown = "<UNK>";  // of training alone

// The logarithmic derivative of the gamma function, by its series for large x (DLMF 5.11.2, at x - 1/2).
double digamma(double x) {
  double result = 0;
  for (; x < 7; x += 1) result -= 1 / x;
  x -= 0.5;
  const double x2 = 1 / x * (1 / x), x4 = x2 * x2;
  result += std::log(x) + (1.0 / 24.0) * x2 - 7.0 / 960.0 * x4 + (31.0 / 8064.0) * x4 * x2 -
            (127.0 / 30720.0) * x4 * x4;
  return result;
}

// One round of EM, with the digamma of counts in place of their logarithm: rare pieces get less (Liang and
// Klein 2007, variational Bayes with a sparse prior).
std::vector<ScoredPiece> fit(const PieceSet& pieces, const WordCounts& words) {
  std::vector<double> expected(pieces.size(), 0);
  UnigramLattice lattice(pieces);
  for (size_t i = 0; i < words.size(); ++i) {
    lattice.fill(words.word(i));
    lattice.add_expected(static_cast<double>(words.count(i)), expected);
  }
  std::vector<ScoredPiece> kept = {pieces.pieces().front()};
  double sum = 0;
  for (size_t i = 1; i < pieces.size(); ++i) {
    if (expected[i] < kLeastExpected) continue;
    kept.emplace_back(pieces.pieces()[i].first, expected[i]);
    sum += expected[i];
  }
  const double log_sum = digamma(sum);
  for (size_t i = 1; i < kept.size(); ++i) kept[i].second = digamma(kept[i].second) - log_sum;
  return kept;
}

// How often each piece is in the best spelling of a word.
std::vector<double> used_counts(const PieceSet& pieces, const WordCounts& words) {
  std::vector<double> counts(pieces.size(), 0);
  UnigramLattice lattice(pieces);
  for (size_t i = 0; i < words.size(); ++i) {
    lattice.fill(words.word(i));
    for (const TokenId id : lattice.best())
      counts[static_cast<size_t>(id)] += static_cast<double>(words.count(i));
  }
  return counts;
}

// Keeps at most about `target` pieces: those that cannot be spelled otherwise, then those whose loss lowers the
// likelihood of the words most, where each of their places is spelled the second best way instead.
std::vector<ScoredPiece> prune(const PieceSet& pieces, const WordCounts& words, size_t target) {
  const std::vector<double> used = used_counts(pieces, words);
  const double sum = std::accumulate(used.begin(), used.end(), 0.0), log_sum = std::log(sum);
  double all_words = 0;
  for (size_t i = 0; i < words.size(); ++i) all_words += static_cast<double>(words.count(i));
  std::vector<ScoredPiece> kept = {pieces.pieces().front()};
  std::vector<std::pair<double, size_t>> losses;
  UnigramLattice lattice(pieces);
  for (size_t id = 1; id < pieces.size(); ++id) {
    lattice.fill(pieces.pieces()[id].first);
    const auto ways = lattice.two_best();
    const bool splits = ways.size() > 1 && ways.front().size() > 1;
    if (used[id] == 0 && splits) continue;
    if (splits || ways.size() < 2) {
      kept.push_back(pieces.pieces()[id]);
      continue;
    }
    if (used[id] == 0) continue;
    const std::vector<TokenId>& instead = ways.back();
    // The package takes the number of all pieces here, where the paper has that of the parts; so do we.
    const double log_sum_instead = std::log(sum + used[id] * static_cast<double>(pieces.size() - 1));
    double log_instead = 0;
    for (const TokenId part : instead)
      log_instead += std::log(used[static_cast<size_t>(part)] + used[id]) - log_sum_instead;
    losses.emplace_back(used[id] / all_words * (std::log(used[id]) - log_sum - log_instead), id);
  }
  std::stable_sort(losses.begin(), losses.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [loss, id] : losses) {
    if (kept.size() >= target) break;
    kept.push_back(pieces.pieces()[id]);
  }
  return kept;
}

std::set<std::string> characters_in(const WordCounts& words) {
  std::set<std::string> characters;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words.word(i);
    for (size_t at = 0; at < word.size(); at += unicode::size_of(word[at]))
      characters.emplace(word.substr(at, unicode::size_of(word[at])));
  }
  return characters;
}

// All characters, those that were dropped with the lowest score and a little more, and the first other pieces
// up to `size`.
std::vector<ScoredPiece> finish(const PieceSet& pieces, const std::set<std::string>& characters,
                                size_t size) {
  std::unordered_map<std::string, double> scores(pieces.pieces().begin() + 1, pieces.pieces().end());
  std::unordered_set<std::string> taken(characters.begin(), characters.end());
  taken.insert(kUnknown);
  std::vector<ScoredPiece> result;
  double penalty = 0;
  for (const std::string& character : characters) {
    const auto known = scores.find(character);
    result.emplace_back(character, known != scores.end() ? known->second : pieces.lowest_score() + penalty);
    if (known == scores.end()) penalty += kPenaltyStep;
  }
  for (size_t i = 1; i < pieces.size() && result.size() < size; ++i) {
    if (taken.insert(pieces.pieces()[i].first).second) result.push_back(pieces.pieces()[i]);
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return result;
}

}  // namespace

std::vector<ScoredPiece> train_unigram(const WordCounts& words, const UnigramTrainingOptions& options) {
  const std::set<std::string> characters = characters_in(words);
  const auto size = static_cast<size_t>(options.vocab_size);
  const size_t least = characters.size() + options.special_tokens.size();
  if (size < least) {
    throw Error(ExitCode::kUsage, "--vocab_size " + std::to_string(size) + " is too small")
        .where("--vocab_size")
        .why("the special tokens and the characters of the text alone are " +
             with_thousands(static_cast<int64_t>(least)))
        .hint("ask for more tokens than that");
  }
  const size_t wanted = size * 11 / 10;
  std::vector<ScoredPiece> start = {{kUnknown, 0}};
  for (ScoredPiece& seed : substring_seeds(words, kLongestSeed, kMostSeeds)) start.push_back(std::move(seed));
  PieceSet pieces(std::move(start));
  while (words.size() > 0) {
    for (int i = 0; i < kFitsPerRound; ++i) pieces = PieceSet(fit(pieces, words));
    const size_t before = pieces.size();
    if (before <= wanted) break;
    const auto share = static_cast<size_t>(static_cast<double>(before) * kKeptPerRound);
    pieces = PieceSet(prune(pieces, words, std::max(wanted, share)));
    if (pieces.size() == before) break;  // all that is left has no other spelling
  }
  std::vector<ScoredPiece> result;
  for (const std::string& token : options.special_tokens) result.emplace_back(token, 0.0);
  for (ScoredPiece& piece : finish(pieces, characters, size - options.special_tokens.size())) {
    result.push_back(std::move(piece));
  }
  return result;
}

}  // namespace hftrain::tokenizer
