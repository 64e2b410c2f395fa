// Guesses of how a text goes on, copied from what it said before: a model that is limited by memory reads several tokens in
// hardly more time than one, so that whatever was guessed rightly is nearly free (prompt lookup; Saxena 2023). A guess decides
// nothing: each of its tokens counts only where the search has chosen the same.
#pragma once

#include <cstddef>
#include <span>

#include "hftrain/generation/generation_config.h"

namespace hftrain::generation {

inline constexpr size_t kLongestMatch = 3;  // where nobody says another

// What may follow `ids`, at most `most` tokens: what followed where its last `longest` tokens stood last, else fewer of them,
// down to two (one, where `longest` is 1). A copy that reaches the end of the text goes on with itself, as a text that goes round
// does. Empty: they stood nowhere.
Ids looked_up(std::span<const int64_t> ids, size_t most, size_t longest = kLongestMatch);

// Drafts of one text, as long as they have been right lately: after misses they are short and rare, so that a text that only
// seems to repeat itself loses little.
class Drafts {
 public:
  // `most` tokens at a time; 0: none. `longest`: as looked_up() has it.
  explicit Drafts(size_t most, size_t longest = kLongestMatch)
      : longest_(longest), most_(most), size_(most < kFirst ? most : kFirst) {}
  // For the text so far, at most `room` tokens; often none.
  Ids next(std::span<const int64_t> ids, size_t room);
  // The search has chosen `taken` of the `offered` tokens of a draft that next() gave.
  void learn(size_t offered, size_t taken);

 private:
  static constexpr size_t kFirst = 4;

  size_t longest_, most_, size_;
  size_t misses_ = 0;  // drafts in a row of which nothing was right
  size_t rest_ = 0;    // texts to come for which none is made
};

// In the time of a token that is written by itself, a step of the model and its choice: a token that is foreseen and chosen, one that a
// step reads beside its first, and a choice alone.
struct DraftCosts {
  // About what GPT-2 124M shows greedily with two threads: 0.28 to 0.36, 0.03 to 0.12, and 0.002 to 0.004.
  double draft = 0.32, row = 0.06, choice = 0.003;
};

// The same as they are seen, in the seconds of any clock. The first draft, which may make the copies, does not count.
class SeenCosts {
 public:
  void step(size_t rows, double seconds);
  void draft(double seconds, double choice);
  // Whether enough steps of one row were seen for the costs of drafts to be compared with.
  bool knows_steps() const { return steps_ >= 3; }
  // What was not seen is as in DraftCosts.
  DraftCosts costs() const;

 private:
  double step_ = 0, row_ = 0, draft_ = 0, choice_ = 0;
  size_t steps_ = 0, rows_ = 0, drafts_ = 0, choices_ = 0;  // that were seen
  bool first_ = true;
};

// How many tokens a reading that is quicker and less exact is asked to foresee at a time: as many as promise the most tokens for the
// time, by how often it was right lately. As above, none of them decides anything (self-speculative decoding; Zhang et al. 2023, with
// 8-bit weights in the place of fewer layers).
class Foresight {
 public:
  // At most `most` tokens at a time.
  explicit Foresight(size_t most) : most_(most) {}
  // For a text that has room for that many; 0: none for now.
  size_t next(size_t room, const DraftCosts& costs = {});
  // The search has chosen `taken` of the `offered` tokens.
  void learn(size_t offered, size_t taken);

 private:
  size_t most_;
  double right_ = 0.8;  // of the tokens that were looked at; nothing is known yet
  size_t rest_ = 0;     // tokens to come for which none is foreseen
};

}  // namespace hftrain::generation
