#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(DataPosition, epoch, batch, before)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(State, global_step, epoch, position, last_logged_step,
                                                logged_loss_sum, total_flos, input_tokens_seen, best_metric,
                                                best_step, best_checkpoint, best_checkpoint_step,
                                                skipped_updates, evaluation_pending, train_seconds, grad_norm,
                                                learning_rate, epoch_closed)

DataPosition moved_to(const DataPosition& position, int64_t saved_round, int64_t round) {
  if (saved_round == round) return position;
  const int64_t used = position.before + position.batch * saved_round;
  if (used % round == 0) return {position.epoch, used / round, 0};
  return {position.epoch, 0, used};
}

Json to_json_value(const State& state) {
  return Json(state);
}
State state_from_json(const Json& value) {
  return value.get<State>();
}

}  // namespace hftrain::trainer
