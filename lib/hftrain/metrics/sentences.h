// Where sentences end: what ROUGE-Lsum needs, which compares texts sentence by sentence.
#pragma once

#include <string>
#include <string_view>

namespace hftrain::metrics {

// The text with a line feed in the place of the white space between its sentences, as the scripts join what nltk's
// sent_tokenize gives. A sentence ends at . ? or !, with the quotes and brackets that close it, before white space. A
// period does not end one behind an abbreviation or a single letter, an ellipsis only before a capital letter: Punkt's
// rules (Kiss and Strunk 2006), with a list of English abbreviations in the place of learned ones.
std::string sentences_on_lines(std::string_view text);

}  // namespace hftrain::metrics
