#include "hftrain/storage/retention.h"

#include <algorithm>
#include <random>
#include <set>

#include "support/catch.h"

namespace hftrain::storage {
namespace {

using Steps = std::vector<int64_t>;

TEST_CASE("the oldest unprotected checkpoints go first, by number", "[storage]") {
  CHECK(plan_retention({30, 100, 20, 10}, {}, 100, 2) == Steps{10, 20});
  CHECK(plan_retention({10, 20, 30}, 10, 30, 2) == Steps{20});
  CHECK(plan_retention({10, 20, 30, 40}, 20, 40, 3) == Steps{10});
  CHECK(plan_retention({10, 20}, {}, 20, 2).empty());
}

TEST_CASE("no limit, zero and less keep everything", "[storage]") {
  CHECK(plan_retention({1, 2, 3}, {}, 3, std::nullopt).empty());
  CHECK(plan_retention({1, 2, 3}, {}, 3, 0).empty());
  CHECK(plan_retention({1, 2, 3}, {}, 3, -1).empty());
  CHECK(plan_retention({}, {}, {}, 1).empty());
}

TEST_CASE("a limit of one keeps the best beside the newest until training ends", "[storage]") {
  CHECK(plan_retention({10, 20, 30}, 10, 30, 1) == Steps{20});
  CHECK(plan_retention({10, 30}, 10, 30, 1, RetentionMoment::kEndOfTraining) == Steps{30});
  CHECK(plan_retention({10, 30}, 30, 30, 1, RetentionMoment::kEndOfTraining) == Steps{10});
  // Without a best one, or with more room, the end changes nothing.
  CHECK(plan_retention({10, 30}, {}, 30, 1, RetentionMoment::kEndOfTraining) == Steps{10});
  CHECK(plan_retention({10, 30}, 99, 30, 1, RetentionMoment::kEndOfTraining) == Steps{10});
  CHECK(plan_retention({10, 30}, 10, 30, 2, RetentionMoment::kEndOfTraining).empty());
}

TEST_CASE("the newest verified one stays when newer ones are damaged", "[storage]") {
  CHECK(plan_retention({10, 20, 30}, {}, 10, 1) == Steps{20});
}

TEST_CASE("for any input: protected ones stay, order is ascending, no more go than must", "[storage]") {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    Steps steps;
    for (uint32_t i = random() % 8; i > 0; --i) steps.push_back(random() % 12);
    const auto maybe = [&]() -> std::optional<int64_t> {
      return random() % 3 == 0 ? std::nullopt : std::optional<int64_t>(random() % 12);
    };
    const auto best = maybe(), verified = maybe();
    const auto limit = std::optional<int64_t>(static_cast<int64_t>(random() % 7) - 1);
    const bool end = random() % 2 == 0;
    const Steps gone = plan_retention(steps, best, verified, limit,
                                      end ? RetentionMoment::kEndOfTraining : RetentionMoment::kAfterSave);

    const std::set<int64_t> have(steps.begin(), steps.end());
    std::set<int64_t> left = have;
    for (const int64_t step : gone) REQUIRE(left.erase(step) == 1);
    REQUIRE(std::is_sorted(gone.begin(), gone.end()));
    if (best && have.count(*best) > 0) REQUIRE(left.count(*best) == 1);
    const bool best_alone = end && limit == 1 && best && have.count(*best) > 0;
    if (!have.empty() && !best_alone) REQUIRE(left.count(*have.rbegin()) == 1);
    if (verified && have.count(*verified) > 0 && !best_alone) REQUIRE(left.count(*verified) == 1);
    if (*limit <= 0) REQUIRE(gone.empty());
    if (!gone.empty()) REQUIRE(left.size() >= static_cast<size_t>(*limit));
    if (*limit > 0) REQUIRE(left.size() <= std::max<size_t>(static_cast<size_t>(*limit), 3));
    // What is protected never displaces: every one left that is older than the newest deleted is protected.
    for (const int64_t step : left) {
      if (gone.empty() || step > gone.back()) continue;
      REQUIRE((step == best || step == verified || step == *have.rbegin()));
    }
  }
}

}  // namespace
}  // namespace hftrain::storage
