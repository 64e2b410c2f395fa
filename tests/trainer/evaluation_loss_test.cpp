#include "hftrain/trainer/evaluation_loss.h"

#include "support/catch.h"

namespace hftrain::trainer {
namespace {

TEST_CASE("one rank: a short last batch counts its own samples only") {
  EvaluationLoss loss(/*samples=*/5, /*batch_size=*/4);
  loss.add({1.0f});
  loss.add({6.0f});
  CHECK(loss.mean() == Approx((4 * 1.0 + 1 * 6.0) / 5));
}

TEST_CASE("two ranks: duplicates that fill the last batch are cut in rank order") {
  EvaluationLoss loss(/*samples=*/7, /*batch_size=*/2);
  loss.add({1.0f, 2.0f});
  loss.add({3.0f, 10.0f});  // three samples left: two of rank 0, one of rank 1
  CHECK(loss.mean() == Approx((2 * 1.0 + 2 * 2.0 + 2 * 3.0 + 1 * 10.0) / 7));
}

TEST_CASE("samples without a loss do not count, and those behind them stay what they are") {
  EvaluationLoss loss(/*samples=*/7, /*batch_size=*/2);
  loss.add({std::nullopt, std::nullopt});
  loss.add({3.0f, 10.0f});  // as before: two samples, and one that does not fill a batch
  CHECK(loss.mean() == Approx((2 * 3.0 + 1 * 10.0) / 3));
}

TEST_CASE("the mean is NumPy's of float32, to the last bit") {
  // np.mean of 1 + (7919 i mod 1000) / 999 in float32, by numpy 2.4.6; in float64 they are others from the eighth digit on.
  const auto [samples, expected] = GENERATE(table<int, double>({{5, 1.6386387348175049},
                                                                {9, 1.565454363822937},
                                                                {130, 1.499076008796692},
                                                                {300, 1.501001000404358},
                                                                {1003, 1.500257968902588}}));
  CAPTURE(samples);
  EvaluationLoss loss(samples, /*batch_size=*/1);
  for (int i = 0; i < samples; ++i) loss.add({1.0f + static_cast<float>(i * 7919 % 1000) / 999.0f});
  CHECK(static_cast<double>(loss.mean()) == expected);
  EvaluationLoss equal(samples, /*batch_size=*/7);  // one value for all
  for (int i = 0; i < samples; i += 7) equal.add({1.5f});
  CHECK(equal.mean() == 1.5f);
}

TEST_CASE("nothing evaluated is zero, not NaN") {
  CHECK(EvaluationLoss(0, 4).mean() == 0.0f);
}

}  // namespace
}  // namespace hftrain::trainer
