// Where a text may be cut so that normalizers and pre-tokenizers that keep to what stands between spaces make
// the same of its stretches as of the whole (Normalizer::works_between_spaces, PreTokenizer::cuts_at_spaces).
#pragma once

#include <cstddef>
#include <string_view>

namespace hftrain::tokenizer {

// Behind `from`, which is less than the text's size, the next space between two characters that combine with
// nothing, of which the first may be a space; or the end of the text. With `around_han` also the next place
// before or behind a Chinese character, where a normalizer puts spaces (Normalizer::surrounds_han). Valid UTF-8.
size_t next_cut(std::string_view text, size_t from, bool around_han = false);

}  // namespace hftrain::tokenizer
