#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(DataPosition, epoch, batch, before, length_group, rows,
                                                row_samples, begun_again)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(State, global_step, epoch, position, last_logged_step,
                                                logged_loss_sum, unknown_losses, total_flos,
                                                input_tokens_seen, best_metric, best_step, best_checkpoint,
                                                best_checkpoint_step, skipped_updates, evaluation_pending,
                                                train_seconds, update_seconds, grad_norm, learning_rate,
                                                epoch_closed, order_seed, order_epoch)

DataPosition moved_to(const DataPosition& position, const DataPace& saved, const DataPace& pace) {
  if (saved.round == pace.round && (!pace.by_updates || saved.update == pace.update)) return position;
  DataPosition moved = position;
  moved.before = position.before + position.batch * saved.round;
  moved.batch = 0;
  if (moved.before % (pace.by_updates ? pace.update : pace.round) != 0) return moved;
  moved.batch = moved.before / pace.round;
  moved.before = 0;
  return moved;
}

Json to_json_value(const DataPosition& position) {
  return Json(position);
}
DataPosition position_from_json(const Json& value) {
  return value.get<DataPosition>();
}
Json to_json_value(const State& state) {
  return Json(state);
}
State state_from_json(const Json& value) {
  return value.get<State>();
}

}  // namespace hftrain::trainer
