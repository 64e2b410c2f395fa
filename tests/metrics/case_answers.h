// What we make of each kind of case, in the shape in which the packages' answer was written.
#pragma once

#include "hftrain/base/json.h"

namespace hftrain::metrics {

Json answer_classes(const Json& in);
Json answer_numbers(const Json& in);
Json answer_tags(const Json& in);
Json answer_scheme(const Json& in);
Json answer_stems(const Json& in);
Json answer_rouge(const Json& in);
Json answer_rouge_set(const Json& in);
Json answer_bleu(const Json& in);
Json answer_bleu_words(const Json& in);
Json answer_python(const Json& in);
Json answer_rounded(const Json& in);
Json answer_metric(const Json& in);
Json answer_exact_match(const Json& in);
Json answer_perplexity(const Json& in);
Json answer_questions(const Json& in);
Json answer_answer(const Json& in);

}  // namespace hftrain::metrics
