// Seeded example rows of questions about a text, each with its answer in that text.
//
// A context tells of one find, between sentences of the weather: who found how much of what, where and when. The
// question asks for one of the five, all with equal chances, and the context has just one thing of that sort. So
// the answer follows from the row: the best loss is 0, the best exact match 100.
#pragma once

#include <cstdint>
#include <string>

namespace hftrain::data {

// JSON lines {"id", "question", "context", "answers": {"text": […], "answer_start": […]}} of at most `bytes`
// bytes in all (at least one line). The same seed gives the same bytes on every machine.
std::string sample_questions(uint64_t seed, int64_t bytes);

}  // namespace hftrain::data
