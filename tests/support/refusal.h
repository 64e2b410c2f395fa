// CHECK_REFUSED(expression, "words"): it throws an Error, and these words stand in the message that a user would read.
// CHECK_THROWS_AS(…, Error) takes any error, that of an earlier check or of the test's own mistake as well.
#pragma once

#include <string>

#include "hftrain/base/error.h"
#include "support/catch.h"

namespace hftrain::testing {

inline auto says(const std::string& words) {
  return Catch::Predicate<Error>(
      [words](const Error& error) { return error.render().find(words) != std::string::npos; },
      "says '" + words + "'");
}

}  // namespace hftrain::testing

#define CHECK_REFUSED(expression, words) \
  CHECK_THROWS_MATCHES(expression, ::hftrain::Error, ::hftrain::testing::says(words))
