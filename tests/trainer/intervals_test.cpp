#include "hftrain/trainer/intervals.h"

#include "support/catch.h"

namespace hftrain::trainer {
namespace {

plan::RunPlan plan_with(const char* strategy, int64_t steps) {
  plan::RunPlan plan;
  plan.steps.max_steps = 10;
  plan.logging.interval = plan.evaluation.interval = plan.saving.interval = {strategy, steps};
  return plan;
}

TEST_CASE("intervals in steps act on multiples only") {
  const plan::RunPlan plan = plan_with("steps", 3);
  Control at_two, at_three;
  set_flags_at_step_end(plan, 2, 0.2, at_two);
  set_flags_at_step_end(plan, 3, 0.3, at_three);
  CHECK_FALSE((at_two.should_log || at_two.should_evaluate || at_two.should_save));
  CHECK((at_three.should_log && at_three.should_evaluate && at_three.should_save));
}

TEST_CASE("the last step stops, evaluates and saves even off a multiple, but does not log") {
  Control control;
  set_flags_at_step_end(plan_with("steps", 3), 10, 1.0, control);
  CHECK((control.should_training_stop && control.should_evaluate && control.should_save));
  CHECK_FALSE(control.should_log);
}

TEST_CASE("the last step asks for nothing that its number has asked for, nor for an end") {
  Control multiple, other, without;
  set_flags_at_last_step(plan_with("steps", 3), 6, multiple);
  set_flags_at_last_step(plan_with("steps", 3), 7, other);
  set_flags_at_last_step(plan_with("no", 3), 7, without);
  CHECK_FALSE(multiple.should_evaluate);
  CHECK((other.should_evaluate && other.should_save));
  CHECK_FALSE(
      (other.should_log || other.should_training_stop || without.should_evaluate || without.should_save));
}

TEST_CASE("the first step is logged when asked") {
  plan::RunPlan plan = plan_with("steps", 5);
  plan.logging.first_step = true;
  Control control;
  set_flags_at_step_end(plan, 1, 0.1, control);
  CHECK(control.should_log);
}

TEST_CASE("eval_delay counts updates under steps and epochs under epoch") {
  plan::RunPlan plan = plan_with("steps", 3);
  plan.evaluation.delay = 5;
  Control early, late;
  set_flags_at_step_end(plan, 3, 0.3, early);
  set_flags_at_step_end(plan, 6, 0.6, late);
  CHECK_FALSE(early.should_evaluate);
  CHECK(late.should_evaluate);

  plan = plan_with("epoch", 0);
  plan.evaluation.delay = 2;
  Control first, second;
  set_flags_at_epoch_end(plan, 1.0, first);
  set_flags_at_epoch_end(plan, 2.0, second);
  CHECK_FALSE(first.should_evaluate);
  CHECK(second.should_evaluate);
}

TEST_CASE("older releases evaluate and save the last step in their own ways") {
  const auto at_the_end = [](const char* strategy, int64_t release) {
    plan::RunPlan plan = plan_with(strategy, 3);
    plan.release = release;
    Control control;
    set_flags_at_step_end(plan, 10, 1.0, control);
    return std::pair(control.should_evaluate, control.should_save);
  };
  CHECK(at_the_end("steps", 50500) == std::pair(true, true));
  CHECK(at_the_end("steps", 50200) == std::pair(false, true));
  CHECK(at_the_end("best", 50200) == std::pair(false, false));
  CHECK(at_the_end("epoch", 45700) == std::pair(false, false));
  CHECK(at_the_end("epoch", 45504) == std::pair(false, false));  // its epoch ends behind it
  CHECK(at_the_end("best", 45504) == std::pair(false, false));
  CHECK(at_the_end("best", 44603) == std::pair(false, true));
  CHECK(at_the_end("no", 44603) == std::pair(false, false));
}

TEST_CASE("the strategy epoch acts at the end of epochs only, the strategy no never") {
  Control step, epoch, never;
  set_flags_at_step_end(plan_with("epoch", 0), 3, 0.3, step);
  set_flags_at_epoch_end(plan_with("epoch", 0), 1.0, epoch);
  set_flags_at_step_end(plan_with("no", 0), 3, 0.3, never);
  set_flags_at_epoch_end(plan_with("no", 0), 1.0, never);
  CHECK_FALSE((step.should_log || step.should_evaluate || step.should_save));
  CHECK((epoch.should_log && epoch.should_evaluate && epoch.should_save));
  CHECK_FALSE((never.should_log || never.should_evaluate || never.should_save));
}

}  // namespace
}  // namespace hftrain::trainer
