// One rank's run: trains, evaluates, saves and finishes as its plan says.
//
//   Trainer trainer(plan, context, communicator, events);
//   RunOutcome outcome = trainer.run();
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/exit_code.h"
#include "hftrain/checkpoint/checkpointer.h"
#include "hftrain/checkpoint/model_exporter.h"
#include "hftrain/checkpoint/node_folders.h"
#include "hftrain/checkpoint/run_loader.h"
#include "hftrain/comm/communicator.h"
#include "hftrain/data/dataset.h"
#include "hftrain/runtime/worker_context.h"
#include "hftrain/storage/retention.h"
#include "hftrain/trainer/batch_loader.h"
#include "hftrain/trainer/callback.h"
#include "hftrain/trainer/evaluated_set.h"
#include "hftrain/trainer/evaluator.h"
#include "hftrain/trainer/event_channel.h"
#include "hftrain/trainer/extensions.h"
#include "hftrain/trainer/loss_accumulator.h"
#include "hftrain/trainer/memory_stage.h"
#include "hftrain/trainer/overflow_watch.h"
#include "hftrain/trainer/phase_clock.h"
#include "hftrain/trainer/profile.h"
#include "hftrain/trainer/run_card.h"
#include "hftrain/trainer/run_log.h"
#include "hftrain/trainer/step_clock.h"
#include "hftrain/trainer/step_sync.h"
#include "hftrain/trainer/stop_request.h"
#include "hftrain/trainer/throughput.h"
#include "hftrain/trainer/update.h"

namespace hftrain::trainer {

struct RunOutcome {
  ExitCode code = ExitCode::kDone;
  std::string reason;              // "finished", "early stopping", "terminated", …
  Json stats;                      // of this rank, for summary.json
  StopRequest::Stranger asked_by;  // of a rank that was stopped
};

// Built and used on the main thread of a worker. The constructor and run() are collective.
class Trainer {
 public:
  // Builds the model, loads weights and, when the plan resumes, everything else. References must outlive the
  // object. `extensions`: alike on all ranks.
  Trainer(const plan::RunPlan& plan, runtime::WorkerContext& context, comm::Communicator& communicator,
          EventChannel& events, Extensions extensions = {});
  ~Trainer();

  void add_callback(std::unique_ptr<Callback> callback) { callbacks_.push_back(std::move(callback)); }
  // All of what follows, in this order.
  RunOutcome run();
  // Each does what the plan asks for of it, and nothing once a stop was seen; finish() comes last. Collective.
  void train_as_planned();
  void evaluate_as_planned();
  void predict_as_planned();
  RunOutcome finish();
  // Where this rank's memory went, in a line; also after run() has thrown.
  std::string describe_memory() const;

 private:
  // That of the extensions, of which the card is told; not set where they have none.
  parallel::OptimizerMaker told_maker(const Extensions& extensions);
  void load();
  void load_weights_of(const std::string& folder);
  // Of all parameters, or those at these positions of the table.
  void draw_initial_weights(const std::optional<models::InitialWeights::Positions>& only);
  bool held_by_adapter(const std::string& name) const;
  void say_what_differs(const std::string& folder, const checkpoint::LoadedWeights& loaded);
  void resume(const std::string& checkpoint);
  void resume_all_of(const std::string& checkpoint);
  void resume_model_of(const std::string& checkpoint);
  void resume_trainers(const std::string& checkpoint);
  void take_progress_of(const std::string& checkpoint);
  // Of a checkpoint's training state: where in the data the run goes on.
  void resume_data(const Json& saved);
  void warn_of_other_data(const std::string& saved_stream);
  void warn_of_other_rate(const Json& schedule);
  void warn_of_missing_state(const std::vector<std::string>& parameters);
  void say_whose_streams_are_new(bool own_are_new, const std::string& more_to_do);
  void restore_random_streams(const runtime::RandomState& state, int64_t step, const std::string& more_to_do);
  void restore_callbacks(const Json& saved);
  void warn_of_early_end();

  void train();
  // What the run does every now and then, once before the first update, so that it fails now or not for want
  // of memory or room. Changes nothing of the run.
  void rehearse();
  void rehearse_evaluation();
  void rehearse_save();
  void rehearse_model();
  std::unique_ptr<BatchSource> open_training_data();
  std::unique_ptr<BatchLoader> open_planned_data();
  void begin_epoch_again(BatchSource& loader);
  // With use_seedable_sampler false: the order of the epoch that begins, the same on all ranks.
  void draw_order();
  std::optional<data::DrawnOrder> drawn_order() const;
  void train_epoch(BatchSource& loader);
  void end_before_last_step();
  // What all ranks know of the update that comes; nothing: the run is to stop before it.
  StepSync agree_on_step(const StepSync& local);
  std::optional<StepSync> begin_step(const std::vector<LoadedBatch>& group);
  // False when the run is to stop before the next one.
  bool train_step(const std::vector<LoadedBatch>& group, const StepSync& all, const BatchSource& loader);
  // Every --torch_empty_cache_steps updates, in each of their micro-batches.
  void empty_cache() const;
  double divisor_of(const StepSync& all) const;
  void after_step();
  void act_on_flags();
  // Of a plug-in that asks for what cannot be.
  void tell_of_no_validation();
  // Where callbacks may decide from what one rank alone knows: a flag that any rank has set is set on all. Collective.
  void agree_on_flags();
  // An update of which this rank has not heard yet how it went.
  struct Untold {
    int64_t step = 0, epoch = 0;
    std::vector<int64_t> samples;  // of this rank
  };
  void take_note(const UpdateResult& result);
  // Before anybody looks at the state: waits for the last update where the device is behind.
  void settle_update();
  void guard_against_divergence(const UpdateResult& result, const Untold& update);
  std::string samples_text(const std::vector<int64_t>& samples);

  // Headers, and where this rank computes.
  void announce_start();
  void tell_of_end();
  void announce_section(const char* name);
  // Tokens a second and memory, for the live line.
  Json live_facts() const;
  // Of this attempt, without evaluations and saves.
  double training_seconds() const;
  // Of all attempts, with them.
  double whole_training_seconds() const;
  // To the log, with the tokens seen when they are counted; returns what was added to.
  Json record(Json metrics);
  // As callbacks get them.
  Json with_epoch(Json metrics) const;
  Json tokens_per_second(double seconds) const;
  void log_progress();
  void evaluate_and_track();
  void save_checkpoint();
  checkpoint::CheckpointContents checkpoint_contents();
  // At a step boundary: takes the save in the background on when every rank has done its part.
  void advance_save(const StepSync& all);
  void finish_save();
  void announce_checkpoint();
  std::optional<int64_t> best_checkpoint_step() const;
  void apply_retention(storage::RetentionMoment moment, int64_t newest_verified, std::optional<int64_t> best);
  Json training_state() const;  // collective
  Json places_in_own_files() const;
  DataPace data_pace() const;

  // What was logged up to the checkpoint this run goes on from; rank 0 alone keeps it.
  reporting::LogHistory logged_before() const;
  void finish_training();
  void find_best_model();
  // False when there is no best checkpoint, it is not sound, also of one whose model is, or nothing hangs on it. Collective.
  bool load_best_model();
  // What is wrong with the best checkpoint; empty: nothing. Collective.
  struct BestProblems {
    std::string model;  // why it cannot be loaded
    std::string rest;   // why no run can go on from it
  };
  BestProblems best_problems();
  // `writes`: what it says of the samples is to be written.
  EvaluationRequest evaluation_request(EvaluatedSet set, bool writes);
  // Metrics are null when a stop came in between.
  Evaluation evaluate_in_full(EvaluatedSet set);
  void evaluate_at_end();
  void evaluate_set(EvaluatedSet set);
  void predict_at_end();
  void predict_set(EvaluatedSet set);
  void write_card() const;
  // The results of the sets of a split stand in one file, their keys with `suffix`.
  void write_results(const std::string& split, Json metrics, int64_t samples, const char* suffix = "");
  // Files of predictions, and their names for share_results().
  void write_files(const tasks::Scorer* scorer, const std::string& prefix);
  // What only rank 0 has written beside the checkpoints goes to the other nodes' folders.
  void share_results();
  // Of one file, which stands in rank 0's; adds to what has failed.
  void share_file(const std::string& name, std::optional<Error>& failure);
  Json stats() const;

  template <typename Event, typename... Arguments>
  void notify(Event event, const Arguments&... arguments);
  std::shared_ptr<const data::Dataset> open_split(const plan::SplitPlan& split) const;
  bool speaks() const { return communicator_.rank() == 0; }
  bool keeps_folder() const { return nodes_.commits(communicator_.rank()); }

  const plan::RunPlan& plan_;
  runtime::WorkerContext& context_;
  comm::Communicator& communicator_;
  EventChannel& events_;
  const checkpoint::NodeFolders nodes_;
  storage::PosixFileSystem files_;
  PhaseClock clock_;
  StepClock step_clock_;
  MemoryStages memory_;

  std::unique_ptr<models::Model> model_;
  std::unique_ptr<parallel::Strategy> strategy_;
  std::unique_ptr<nn::UnitRunner> checkpointing_;  // null: units run as the strategy runs them
  std::unique_ptr<optim::Schedule> schedule_;
  optim::GradientScaler scaler_;
  std::unique_ptr<OverflowWatch> overflow_watch_;  // around the runners above; null: nobody looks
  std::unique_ptr<Update> update_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<checkpoint::RunLoader> loader_;
  std::unique_ptr<checkpoint::Checkpointer> checkpointer_;
  std::unique_ptr<checkpoint::ModelExporter> exporter_;

  State state_;
  Control control_;
  Control control_at_save_;  // as it was at the last one, which is what the Trainer's last file says, too
  Callbacks callbacks_;
  bool agrees_on_flags_ = false, told_of_no_validation_ = false;
  std::string others_;  // Extensions::whose
  MakersOfParts makers_;
  OwnMetrics own_metrics_;
  OwnLoaders own_loaders_;
  std::function<void(Json&)> edit_record_;
  LossAccumulator losses_;
  Throughput throughput_;
  Profile profile_;
  int64_t samples_trained_ = 0;   // in this attempt, of all ranks
  int64_t tokens_trained_ = 0;    // the same
  int64_t own_label_tokens_ = 0;  // of the update that comes
  std::unique_ptr<RunLog> log_;
  std::map<std::string, Json> results_;     // by split: what its file holds
  std::vector<std::string> written_files_;  // by rank 0 beside the results
  StopSignal stop_ = StopSignal::kNone;
  int non_finite_in_a_row_ = 0;
  std::deque<Untold> untold_;  // oldest first
  int64_t last_saved_step_ = -1;
  // The last save, which may be under way in the background.
  struct SaveTimes {
    double begin = 0;          // monotonic
    double stall_seconds = 0;  // the training thread's
    State state;               // as saved
  };
  SaveTimes save_;
  int64_t start_step_ = 0;                                       // where this attempt began
  double train_seconds_before_ = 0, update_seconds_before_ = 0;  // of earlier attempts
  double train_begin_ = 0;                                       // monotonic
  int64_t peak_host_bytes_loading_ = 0;
  double preparation_seconds_ = 0;  // of the loaded model
};

}  // namespace hftrain::trainer
