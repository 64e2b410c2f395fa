// Fewer points that draw the same line.
#pragma once

#include "hftrain/report/run_log.h"

namespace hftrain::report {

// The first, lowest, highest and last point of each of `columns` equal ranges of steps, so that no peak is lost (M4: Jugel et
// al., VLDB 2014): at most 4 x columns points, in the order of steps. A series that has no more stays as it is. Points that are
// not finite are kept where a range has no other.
Series thinned(const Series& series, size_t columns);

}  // namespace hftrain::report
