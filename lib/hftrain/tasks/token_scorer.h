// The share of tokens that are predicted right, as the language-modelling scripts report it.
#pragma once

#include <memory>

#include "hftrain/tasks/scorer.h"

namespace hftrain::tasks {

enum class Predicts { kSameToken, kNextToken };

// kBestIds of every place of a sample against its labels, or against those of the next place; labels of -100
// do not count. Gives accuracy and keeps two numbers.
Scoring token_scoring();
std::unique_ptr<Scorer> make_token_scorer(Predicts predicts);

}  // namespace hftrain::tasks
