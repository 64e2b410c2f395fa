// Porter's suffix stripping (Program 14.3, 1980) with the changes of NLTK, which rouge-score stems with.
#pragma once

#include <string>
#include <string_view>

namespace hftrain::metrics {

// The stem of a lower-case word; words of one or two letters are their own. Time linear in the length.
std::string porter_stem(std::string_view word);

}  // namespace hftrain::metrics
