#include "hftrain/trainer/throughput.h"

#include "support/catch.h"

namespace hftrain::trainer {
namespace {

TEST_CASE("the rate of the live line is that of the last few seconds", "[trainer]") {
  Throughput rate;
  CHECK_FALSE(rate.tokens_per_second());
  rate.add(100, 5.0);  // the first update, with all that is made for it
  CHECK_FALSE(rate.tokens_per_second());
  int64_t tokens = 100;
  double seconds = 5;
  for (int i = 0; i < 1000; ++i) rate.add(tokens += 10, seconds += 0.1);
  CHECK(rate.tokens_per_second().value() == Approx(100));
  // Twice as fast from here on: after two spans nothing of before is left in it.
  for (int i = 0; i < 140; ++i) rate.add(tokens += 10, seconds += 0.05);
  CHECK(rate.tokens_per_second().value() == Approx(200));
}

}  // namespace
}  // namespace hftrain::trainer
