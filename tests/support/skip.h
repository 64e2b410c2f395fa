// Leaves a test that this machine cannot run. ctest counts the case as skipped and scripts/test shows the
// reason, which says what is missing ("no GPU", "python3 with transformers: set HFTRAIN_TEST_PYTHON").
#pragma once

#include <iostream>

#include "support/catch.h"

#define HFTRAIN_SKIP(reason)                           \
  do {                                                 \
    std::cout << "SKIPPED: " << (reason) << std::endl; \
    SUCCEED("skipped");                                \
    return;                                            \
  } while (false)
