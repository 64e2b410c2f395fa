// States of MT19937 as `random` of Python and numpy keep them after their seeding, for files that they read.
#pragma once

#include <array>
#include <cstdint>

namespace hftrain::interchange {

using TwisterWords = std::array<uint32_t, 624>;

// random.seed(seed) of Python: the reference's init_by_array of the seed's 32-bit words.
TwisterWords python_twister(uint64_t seed);
// numpy.random.seed(seed): the reference's init_genrand.
TwisterWords numpy_twister(uint32_t seed);

}  // namespace hftrain::interchange
