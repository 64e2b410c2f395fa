// What a search chooses from: flags with the values that they may take.
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/json.h"

namespace hftrain::search {

// Whole numbers up to here are all doubles; so many steps are told apart.
inline constexpr double kMostExact = 0x1p53;

// One flag. Every value has a place in [0, 1]: of choices and of steps the middle of its share, of a range where it lies between the
// ends, by its logarithm where `log` (with a step, too).
struct Parameter {
  std::string flag;
  std::vector<Json> choices;  // empty: a range
  double low = 0, high = 0;   // both can be drawn
  bool log = false;
  double step = 0;     // from `low`; 0: any number between
  bool whole = false;  // low, high and step are whole numbers: so are the values

  // How many values there are; 0: a continuum.
  size_t count() const;
  // Of count() values, by ascending place.
  Json value_number(size_t number) const;
  // The value to whose share `place`, which is in [0, 1], belongs: choices and steps without `log` have equal ones.
  Json value_at(double place) const;
  double place_of(const Json& value) const;

 private:
  bool has_equal_shares() const;
};

using Space = std::vector<Parameter>;

// A text as the number or truth value that it spells; any other value as it is.
Json spelled_by(const Json& text);

// A value as a word of a command line.
std::string word_of(const Json& value);

}  // namespace hftrain::search
