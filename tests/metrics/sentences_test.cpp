#include "hftrain/metrics/sentences.h"

#include "support/catch.h"

namespace hftrain::metrics {

// What nltk 3.10 splits with these abbreviations as its parameters; it has learned when an ellipsis ends a sentence.
TEST_CASE("sentences stand on lines of their own") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {"one", "one"},
      {"A fox. An owl.", "A fox.\nAn owl."},
      {"A fox.  \n An owl. ", "A fox.\nAn owl. "},
      {"Really? Yes! And no.", "Really?\nYes!\nAnd no."},
      {"Mr. Fox met Dr. Owl. They sang.", "Mr. Fox met Dr. Owl.\nThey sang."},
      {"J. S. Bach sang. So did A. Fox.", "J. S. Bach sang.\nSo did A. Fox."},
      {"He said \"yes.\" She left.", "He said \"yes.\"\nShe left."},
      {"He said \"no.\" She left.", "He said \"no.\" She left."},
      {"(It was late.) She left.", "(It was late.)\nShe left."},
      {"It costs 3.50 dollars. Cheap.", "It costs 3.50 dollars.\nCheap."},
      {"He waits... and sings... Then he sleeps.", "He waits... and sings...\nThen he sleeps."},
      {"It is e.g. a fox, i.e. red. Good.", "It is e.g. a fox, i.e. red.\nGood."},
      {"no end", "no end"},
  };
  for (const auto& [text, lines] : cases) CHECK(sentences_on_lines(text) == lines);
}

}  // namespace hftrain::metrics
