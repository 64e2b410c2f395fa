// Seeded example conversations: a question of the user and the assistant's answer, which follows from it. So the best loss
// of the answers is 0.
#pragma once

#include <cstdint>
#include <string>

namespace hftrain::data {

// JSON lines {"messages": [{"role": "user", "content"}, {"role": "assistant", "content"}]} of at most `bytes` bytes in all
// (at least one line). The same seed gives the same bytes on every machine.
std::string sample_instructions(uint64_t seed, int64_t bytes);

}  // namespace hftrain::data
