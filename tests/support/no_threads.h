#pragma once

#include <pthread.h>

#include <cstddef>

#include "support/catch.h"

namespace hftrain::testing {

// While it lives, no thread can be started in this process: more than there is of addresses for the stack of one.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_t endless;
    REQUIRE(::pthread_getattr_default_np(&before_) == 0);
    REQUIRE(::pthread_attr_init(&endless) == 0);
    REQUIRE(::pthread_attr_setstacksize(&endless, size_t{1} << 48) == 0);
    REQUIRE(::pthread_setattr_default_np(&endless) == 0);
    ::pthread_attr_destroy(&endless);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;
  ~NoThreads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_;
};

}  // namespace hftrain::testing
