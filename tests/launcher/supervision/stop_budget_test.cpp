#include "launcher/supervision/stop_budget.h"

#include <cmath>

#include "support/catch.h"
#include "worker_event.h"

namespace hftrain::launcher {
namespace {

using testing::event;
using Kind = plan::WorkerEvent::Kind;

}  // namespace

TEST_CASE("a job is stopped early enough for two of its longest saves and updates") {
  StopBudget budget(0, 10'000);
  CHECK(std::isinf(budget.stop_at()));  // nothing to save yet
  budget.heard(event(Kind::kStep), 100);
  CHECK(budget.stop_at() == 10'000 - StopBudget::kMarginSeconds - StopBudget::kUnknownSaveSeconds);
  budget.heard(event(Kind::kStep), 107);
  budget.heard(event(Kind::kStep), 110);
  budget.heard(event(Kind::kCheckpoint, 0, {{"seconds", 20.0}}), 130);
  budget.heard(event(Kind::kStep), 133);  // the save is no part of this update
  CHECK(budget.stop_at() == 10'000 - StopBudget::kMarginSeconds - 2 * 20 - 2 * 7);
}

TEST_CASE("time in which the job was suspended is no update's") {
  StopBudget budget(0, 10'000);
  for (const double now : {100.0, 107.0}) budget.heard(event(Kind::kStep), now);
  budget.skip(3600);
  budget.heard(event(Kind::kStep), 107 + 3600 + 5);
  CHECK(budget.stop_at() == 10'000 - StopBudget::kMarginSeconds - StopBudget::kUnknownSaveSeconds - 2 * 7);
}

TEST_CASE("of a short time only a part is kept back for a save that was not measured") {
  StopBudget budget(1000, 1100);
  budget.heard(event(Kind::kStep), 1001);
  CHECK(budget.stop_at() == 1100 - 5 - 20);
  budget.heard(event(Kind::kCheckpoint, 0, {{"seconds", 30.0}}), 1040);
  CHECK(budget.stop_at() == 1100 - 5 - 60);
}

TEST_CASE("without an end of time nothing is stopped") {
  StopBudget budget(0, std::nullopt);
  budget.heard(event(Kind::kStep), 100);
  CHECK(std::isinf(budget.stop_at()));
}

TEST_CASE("only rank 0 is measured") {
  StopBudget budget(0, 1000);
  budget.heard(event(Kind::kStep, 1), 100);
  CHECK(std::isinf(budget.stop_at()));
}

TEST_CASE("a job that does not train is stopped in time without an update, and keeps no save back") {
  CHECK(StopBudget(0, 10'000, /*trains=*/false).stop_at() == 10'000 - StopBudget::kMarginSeconds);
  CHECK(StopBudget(0, 100, /*trains=*/false).stop_at() == 95);
}

}  // namespace hftrain::launcher
