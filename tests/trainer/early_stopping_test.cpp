#include "hftrain/trainer/early_stopping.h"

#include <cmath>

#include "hftrain/trainer/best_model.h"
#include "support/catch.h"

namespace hftrain::trainer {
namespace {

TEST_CASE("training stops after `patience` evaluations without improvement") {
  EarlyStopping callback("eval_loss", /*greater_is_better=*/false, /*patience=*/2, /*threshold=*/0.0);
  State state;
  Control control;
  callback.on_evaluate(state, control, {{"eval_loss", 3.0}});
  state.best_metric = 3.0;
  callback.on_evaluate(state, control, {{"eval_loss", 3.1}});
  CHECK_FALSE(control.should_training_stop);
  callback.on_evaluate(state, control, {{"eval_loss", 3.0}});
  CHECK(control.should_training_stop);
}

TEST_CASE("an improvement smaller than the threshold does not count, a larger one resets") {
  EarlyStopping callback("eval_loss", false, 2, 0.5);
  State state;
  state.best_metric = 3.0;
  Control control;
  callback.on_evaluate(state, control, {{"eval_loss", 2.8}});
  callback.on_evaluate(state, control, {{"eval_loss", 2.0}});
  callback.on_evaluate(state, control, {{"eval_loss", 2.9}});
  CHECK_FALSE(control.should_training_stop);
}

TEST_CASE(
    "an evaluation that gives no number is never an improvement, but the first one is none to compare with") {
  EarlyStopping callback("eval_loss", false, 2, 0.0);
  State state;
  Control control;
  callback.on_evaluate(state, control, {{"eval_loss", NAN}});
  state.best_metric = worst_metric(false);
  callback.on_evaluate(state, control, {{"eval_loss", NAN}});
  callback.on_evaluate(state, control, {{"eval_loss", 3.0}});
  callback.on_evaluate(state, control, {{"eval_loss", NAN}});
  CHECK_FALSE(control.should_training_stop);
}

TEST_CASE("the counter survives a checkpoint") {
  EarlyStopping before("eval_loss", false, 2, 0.0), after("eval_loss", false, 2, 0.0);
  State state;
  state.best_metric = 1.0;
  Control control;
  before.on_evaluate(state, control, {{"eval_loss", 2.0}});
  after.load_state(before.save_state());
  after.on_evaluate(state, control, {{"eval_loss", 2.0}});
  CHECK(control.should_training_stop);
}

}  // namespace
}  // namespace hftrain::trainer
