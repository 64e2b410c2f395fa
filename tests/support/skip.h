// Leaves a test that this machine cannot run. ctest counts the case as skipped when nothing in it failed
// (catch_main.cpp), and scripts/test shows the reason, which says what is missing ("no GPU", "python3 with
// transformers: set HFTRAIN_TEST_PYTHON").
#pragma once

#include <iostream>

#include "support/catch.h"

namespace hftrain::testing {

// The exit status of a test that was skipped, as in scripts/cmake/DiscoverTests.cmake and tests/apps/runs.py.
inline constexpr int kSkipped = 77;

inline bool& is_skipped() {
  static bool skipped = false;
  return skipped;
}

}  // namespace hftrain::testing

#define HFTRAIN_SKIP(reason)                           \
  do {                                                 \
    std::cout << "SKIPPED: " << (reason) << std::endl; \
    hftrain::testing::is_skipped() = true;             \
    SUCCEED("skipped");                                \
    return;                                            \
  } while (false)
