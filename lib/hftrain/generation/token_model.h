// What a search asks of a language model. Above the line, so that searches are tested without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

namespace hftrain::generation {

// Rows are texts that are being written, numbered from 0 in each call. Used by one thread.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Scores of a row (logits, before softmax).
  virtual int64_t vocabulary() const = 0;
  // Reads the prompts; scores of what follows each, [prompts × vocabulary], valid until the next call.
  virtual std::span<const float> start() = 0;
  // One more token for every row: row i goes on where row parents[i] of the call before stood, and reads tokens[i]. A
  // row that is nobody's parent ends; one may have several children. Scores as above, [tokens × vocabulary].
  virtual std::span<const float> next(std::span<const int64_t> tokens, std::span<const int64_t> parents) = 0;
  // How many tokens next_of() takes.
  virtual size_t ahead() const { return 1; }
  // Of the one text that is left: reads `tokens`, one behind the other, where row `parent` of the call before stood. Row i of the
  // scores, and of the next call's parents, stands behind tokens[i]: what a parent has not read is forgotten.
  virtual std::span<const float> next_of(std::span<const int64_t> tokens, int64_t parent) {
    return next(tokens, std::span(&parent, 1));
  }
  // Whether draft() is worth a call for a text of `written` tokens of which `room` may still come: always, where the time that it takes
  // is seen to be worth it, or never.
  enum class Foresees { kNever, kWhereItSavesTime, kAlways };
  virtual Foresees foresees(size_t /*written*/, size_t /*room*/) const { return Foresees::kNever; }
  // Of the one text that is left: reads `token` behind row `parent` of the call before, or behind what draft() has read since
  // (`parent` 0), in less time and less exactly; scores that are near those of next(), [vocabulary]. The next call of next() or
  // next_of() goes on from row 0, as if nothing had been drafted. Of a model that never foresees a std::logic_error.
  virtual std::span<const float> draft(int64_t /*token*/, int64_t /*parent*/) {
    throw std::logic_error("this model drafts nothing");
  }
};

}  // namespace hftrain::generation
