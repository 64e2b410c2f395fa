// Trainer: the end of training, the best model, evaluation and prediction after it, and what is left in the
// output folder.
#include <cmath>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/growing_file.h"
#include "hftrain/base/text.h"
#include "hftrain/checkpoint/collective_status.h"
#include "hftrain/checkpoint/trainer_checkpoint.h"
#include "hftrain/interchange/deepspeed_folder.h"
#include "hftrain/interchange/trainer_folder.h"
#include "hftrain/reporting/metrics_files.h"
#include "hftrain/reporting/python_text.h"
#include "hftrain/trainer/best_model.h"
#include "hftrain/trainer/components.h"
#include "hftrain/trainer/notify.h"
#include "hftrain/trainer/run_card.h"
#include "hftrain/trainer/state_file.h"
#include "hftrain/trainer/trainer.h"

namespace hftrain::trainer {
namespace {

constexpr int kVerifyingThreads = 4;

// Whether the loss is that of tokens of a text, of which the scripts report the perplexity.
bool models_language(architectures::Head head) {
  return head == architectures::Head::kCausalLm || head == architectures::Head::kMaskedLm;
}

// What another trainer wrote has no manifest: the weights that would be loaded of it are opened and compared with the model's.
std::string weights_problem(const std::string& folder, bool adapter, const checkpoint::RunLoader& loader) {
  const std::optional<Error> failure = checkpoint::attempt([&] {
    if (!adapter || interchange::is_in_parts(folder)) interchange::check_weights(folder);
    loader.check_saved(folder);
  });
  if (!failure) return "";
  const Diagnostic& said = failure->diagnostics().front();
  return said.where + ": " + said.what + (said.why.empty() ? "" : ", " + said.why);
}

std::string problem_in(const storage::Verification& verified) {
  return verified.ok ? "" : (verified.file.empty() ? "it" : verified.file) + ' ' + verified.reason;
}

std::string first_of(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) {
    if (!problem.empty()) return problem;
  }
  return "";
}

Json with_suffix(const Json& metrics, const std::string& suffix) {
  Json renamed = Json::object();
  for (const auto& [key, value] : metrics.items()) renamed[key + suffix] = value;
  return renamed;
}

}  // namespace

// The folder may be another one than when it was written. All ranks go by what rank 0 finds, and those of a node with a folder of
// its own look for it in the same place: this node's folder, or where both were told that it is.
void Trainer::find_best_model() {
  const std::vector<std::string> places = places_of_best(state_, plan_.output_dir, plan_.saving.resume_from);
  const std::optional<size_t> own = place_of_best(places);
  const Json found =
      Json::parse(communicator_.all_gather_text(own ? Json({*own, places[*own]}).dump() : "null").front());
  const std::string recorded =
      std::exchange(state_.best_checkpoint, found.is_null() ? std::string() : found[1].get<std::string>());
  const bool elsewhere = nodes_.committer(communicator_.rank()) != 0;
  if (elsewhere && !found.is_null()) state_.best_checkpoint = places.at(found[0].get<size_t>());
  if (!speaks() || recorded.empty() || !state_.best_checkpoint.empty()) return;
  events_.message(LogLevel::kWarning, "the best checkpoint so far, " + recorded +
                                          ", is no longer there and is forgotten; " + plan_.output_dir +
                                          " has none of step " + std::to_string(state_.best_checkpoint_step));
}

// Found out before anything is loaded: half a best model over the last one would be neither.
Trainer::BestProblems Trainer::best_problems() {
  std::string own, rest;
  if (!path_exists(state_.best_checkpoint)) {
    own = "rank " + std::to_string(communicator_.rank()) + " does not see " + state_.best_checkpoint +
          (nodes_.several() ? ""
                            : "; on machines without a shared folder --save_on_each_node writes one on each");
  } else if (keeps_folder() && interchange::is_of_trainer(state_.best_checkpoint)) {
    own = weights_problem(state_.best_checkpoint, plan_.model.adapter.has_value(), *loader_);
  } else if (keeps_folder()) {
    const auto moved = [this](uint64_t bytes) { events_.moved(bytes); };
    rest = problem_in(storage::verify_checkpoint(state_.best_checkpoint, kVerifyingThreads, moved));
    // Somebody may have removed the optimizer's state to save room: the model needs none of it.
    if (!rest.empty())
      own = problem_in(storage::verify_model(state_.best_checkpoint, kVerifyingThreads, moved));
  }
  return {first_of(communicator_.all_gather_text(own)), first_of(communicator_.all_gather_text(rest))};
}

bool Trainer::load_best_model() {
  const bool loads = plan_.evaluation.load_best_at_end;
  if (state_.best_checkpoint.empty() || (!loads && plan_.saving.total_limit != 1)) return false;
  const PhaseClock::Span span = clock_.span("load");
  const BestProblems problems = best_problems();
  const auto warn = [&](const char* consequence, const std::string& problem) {
    if (speaks()) events_.message(LogLevel::kWarning, consequence + state_.best_checkpoint + ": " + problem);
  };
  const bool loadable = problems.model.empty(), whole = loadable && problems.rest.empty();
  if (loads && !loadable) {
    warn("the best model is not loaded, and that of the last update is written: ", problems.model);
  } else if (!whole) {
    warn("the best checkpoint is damaged, and the newest one stays beside it: ",
         loadable ? problems.rest : problems.model);
  }
  if (!loads || !loadable) return whole;
  if (speaks()) {
    events_.message(LogLevel::kInfo, "Loading best model from " + state_.best_checkpoint + " (score: " +
                                         reporting::python_repr(state_.best_metric.value_or(NAN)) + ").");
  }
  loader_->load_saved(state_.best_checkpoint);
  strategy_->parameters_changed();
  return whole;
}

void Trainer::finish_training() {
  finish_save();
  at::Tensor rest = losses_.sum().clone();
  communicator_.all_reduce(rest, comm::Reduction::kAverage);
  const double loss = (state_.logged_loss_sum + rest.item<float>()) /
                      std::max(static_cast<double>(state_.global_step - state_.unknown_losses), 0.001);
  const double seconds = state_.train_seconds = whole_training_seconds();
  Json metrics = {{"train_runtime", reporting::python_round(seconds, 4)},
                  {"train_samples_per_second",
                   reporting::python_round(static_cast<double>(plan_.steps.samples_for_speed) / seconds, 3)},
                  {"train_steps_per_second",
                   reporting::python_round(static_cast<double>(plan_.steps.max_steps) / seconds, 3)},
                  {"total_flos", state_.total_flos},
                  {"train_loss", loss}};
  if (plan_.logging.count_input_tokens != "no") metrics.update(tokens_per_second(seconds));
  memory_.end("train", metrics);
  if (speaks()) {
    events_.message(LogLevel::kInfo, "Training completed: " + with_thousands(state_.global_step) +
                                         " updates in " + format_duration(seconds) + ". The model in " +
                                         plan_.output_dir + " can be shared.");
  }
  metrics = record(std::move(metrics));
  const bool best_is_sound = load_best_model();
  notify(&Callback::on_train_end);
  const PhaseClock::Span span = clock_.span("save");
  exporter_->export_model(plan_.output_dir);
  // The newest checkpoint goes only when the best one was read back, and the model is in the output folder.
  using Moment = storage::RetentionMoment;
  apply_retention(best_is_sound ? Moment::kEndOfTraining : Moment::kAfterSave, last_saved_step_,
                  best_checkpoint_step());
  if (!speaks()) return;
  write_results("train", metrics, plan_.data.train->samples);
  write_file_atomically(
      plan_.output_dir + "/trainer_state.json",
      trainer_state_text(plan_, state_, log_->history(), control_at_save_, callbacks_, context_.environment));
  write_card();
}

void Trainer::write_card() const {
  write_file_atomically(plan_.output_dir + "/README.md", run_card(plan_, makers_, log_->history()));
}

// Outside training the whole model may compute in half precision (--bf16_full_eval, --fp16_full_eval).
Evaluation Trainer::evaluate_in_full(EvaluatedSet set) {
  const PhaseClock::Span span = clock_.span("eval");
  memory_.begin();
  if (!plan_.precision.eval.empty()) model_->compute_in(dtype_named(plan_.precision.eval));
  const EvaluationRequest request = evaluation_request(set, /*writes=*/true);
  Evaluation evaluation = evaluator_->run(request);
  model_->compute_in(dtype_named(plan_.precision.compute));
  stop_ = evaluation.stop;
  if (stop_ == StopSignal::kNone && !plan_.do_train) {
    evaluation.metrics[request.prefix + "_model_preparation_time"] =
        reporting::python_round(preparation_seconds_, 4);
  }
  return evaluation;
}

void Trainer::announce_section(const char* name) {
  if (speaks()) events_.message(LogLevel::kInfo, std::string("*** ") + name + " ***");
}

void Trainer::evaluate_at_end() {
  announce_section("Evaluate");
  for (const bool mismatched : {false, true}) {
    const EvaluatedSet set{data::Split::kValidation, mismatched};
    if (stop_ == StopSignal::kNone && set.of(plan_.data)) evaluate_set(set);
  }
  if (stop_ == StopSignal::kNone && speaks() && plan_.do_train) write_card();  // again, with these results
}

// A second set is logged under its own keys: under those of the first it would overwrite them in every tracker.
void Trainer::evaluate_set(EvaluatedSet set) {
  Evaluation evaluation = evaluate_in_full(set);
  if (evaluation.metrics.is_null()) return;
  Json metrics = record(with_suffix(evaluation.metrics, set.suffix()));
  notify(&Callback::on_evaluate, with_epoch(metrics));
  Json memory = Json::object();
  memory_.end("eval", memory);
  metrics.update(with_suffix(memory, set.suffix()));
  // Of a loss that probabilities weigh it would be none.
  if (models_language(model_->architecture().head()) && metrics.contains("eval_loss") &&
      !plan_.optimizer.loss_by_probability)
    metrics["perplexity"] = std::exp(metrics["eval_loss"].get<double>());
  if (!speaks()) return;
  write_results("eval", std::move(metrics), set.of(plan_.data)->samples, set.suffix());
  write_files(evaluation.scorer.get(), "eval");
}

void Trainer::predict_at_end() {
  announce_section("Predict");
  for (const bool mismatched : {false, true}) {
    const EvaluatedSet set{data::Split::kTest, mismatched};
    if (stop_ == StopSignal::kNone && set.of(plan_.data)) predict_set(set);
  }
}

void Trainer::predict_set(EvaluatedSet set) {
  Evaluation evaluation = evaluate_in_full(set);
  if (evaluation.metrics.is_null()) return;
  memory_.end("test", evaluation.metrics);
  notify(&Callback::on_predict, evaluation.metrics);
  if (!speaks()) return;
  write_results("predict", with_suffix(evaluation.metrics, set.suffix()), set.of(plan_.data)->samples,
                set.suffix());
  write_files(evaluation.scorer.get(), "predict");
}

void Trainer::share_results() {
  Json texts = Json::object();
  for (const char* name : {"train_results.json", "eval_results.json", "predict_results.json",
                           "all_results.json", "trainer_state.json", "README.md"}) {
    const std::string path = plan_.output_dir + '/' + name;
    if (speaks() && path_exists(path)) texts[name] = read_file(path);
  }
  texts = Json::parse(communicator_.all_gather_text(texts.dump()).front());
  std::optional<Error> failure = checkpoint::attempt([&] {
    if (speaks() || !keeps_folder()) return;
    for (const auto& [name, text] : texts.items())
      write_file_atomically(plan_.output_dir + '/' + name, text.get<std::string>());
  });
  const Json written = Json::parse(communicator_.all_gather_text(Json(written_files_).dump()).front());
  for (const std::string name : written) share_file(name, failure);
  checkpoint::check_collective_status(communicator_, failure, "write the results");
}

// Piece by piece: there is a line for each sample. A piece begins with a mark, so that an empty file is one too.
void Trainer::share_file(const std::string& name, std::optional<Error>& failure) {
  constexpr size_t kPiece = size_t{1} << 20;
  const std::string path = plan_.output_dir + '/' + name;
  std::optional<MappedFile> source;
  std::unique_ptr<GrowingFile> copy;
  if (speaks()) source.emplace(path, ExitCode::kDisk);
  for (size_t at = 0;; at += kPiece) {
    const bool more = source && (at == 0 || at < source->bytes().size());
    const std::string_view part = more ? source->bytes().substr(at, kPiece) : std::string_view();
    const std::string piece = communicator_.all_gather_text(more ? '+' + std::string(part) : "").front();
    release_mapped(part);
    if (piece.empty()) break;
    if (speaks() || !keeps_folder() || failure) continue;
    failure = checkpoint::attempt([&] {
      if (!copy) copy = std::make_unique<GrowingFile>(path);
      copy->append(std::string_view(piece).substr(1));
    });
  }
  if (copy && !failure) failure = checkpoint::attempt([&] { copy->keep(); });
}

// Training and evaluations are logged records, which have an epoch; the Trainer logs no prediction.
void Trainer::write_results(const std::string& split, Json metrics, int64_t samples, const char* suffix) {
  if (split != "predict") metrics[std::string("epoch") + suffix] = state_.epoch;
  if (samples > 0) metrics[split + "_samples" + suffix] = samples;  // of a stream nobody knows them
  Json& whole = results_[split];
  whole.update(metrics);
  reporting::save_metrics(plan_.output_dir, split, whole);
  events_.send(plan::WorkerEvent::Kind::kMetrics, {{"text", reporting::format_metrics(split, metrics)}});
}

void Trainer::write_files(const tasks::Scorer* scorer, const std::string& prefix) {
  if (scorer == nullptr) return;
  for (const tasks::ResultFile& file : scorer->files(prefix)) {
    if (file.grown) {
      file.grown->keep();
    } else {
      write_file_atomically(plan_.output_dir + '/' + file.name, file.text);
    }
    written_files_.push_back(file.name);
  }
}

}  // namespace hftrain::trainer
