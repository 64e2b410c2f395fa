#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(DataPosition, epoch, batch)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(State, global_step, epoch, position, last_logged_step,
                                                logged_loss_sum, total_flos, input_tokens_seen, best_metric,
                                                best_step, best_checkpoint, best_checkpoint_step,
                                                skipped_updates, train_seconds, log_history)

Json to_json_value(const State& state) {
  return Json(state);
}
State state_from_json(const Json& value) {
  return value.get<State>();
}

}  // namespace hftrain::trainer
