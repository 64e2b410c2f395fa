// How sacrebleu cuts a text into words before it counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hftrain::metrics {

// 13a: mteval-v13a, for languages that put spaces between words. intl: mteval-v14, by Unicode's punctuation
// and symbols. char: every character that is not a space. none: at spaces.
enum class BleuTokenizer { k13a, kIntl, kChar, kNone };

// kUsage for another name; sacrebleu's zh, ja-mecab, ko-mecab and those of SentencePiece are not here.
BleuTokenizer bleu_tokenizer(std::string_view name);

// Any bytes; time linear in them.
std::vector<std::string> bleu_words(std::string_view text, BleuTokenizer tokenizer, bool lowercase = false);

}  // namespace hftrain::metrics
