#include "trainer/tiny_run.h"

#include <sys/mman.h>
#include <unistd.h>

#include <fstream>

#include "hftrain/base/file.h"
#include "hftrain/data/column_writer.h"
#include "hftrain/runtime/worker_context.h"

namespace hftrain::testing {
namespace {

class Recorder final : public trainer::Callback {
 public:
  Recorder(Seen& seen, std::function<void(const trainer::State&, trainer::Control&)> at_step_end)
      : seen_(seen), at_step_end_(std::move(at_step_end)) {}

  void on_epoch_begin(const trainer::State&, trainer::Control&) override { ++seen_.epochs; }
  void on_step_begin(const trainer::State& state, trainer::Control&) override {
    seen_.begun.push_back(state.global_step);
  }
  void on_substep_end(const trainer::State&, trainer::Control&) override { ++seen_.substeps; }
  void on_step_end(const trainer::State& state, trainer::Control& control) override {
    ++seen_.steps;
    if (at_step_end_) at_step_end_(state, control);
  }
  void on_log(const trainer::State& state, trainer::Control&, const Json& record) override {
    if (!record.contains("loss")) return;  // of an evaluation, or of the end
    seen_.logged.push_back(state.global_step);
    seen_.losses.push_back(record.at("loss").get<double>());
    seen_.norms.push_back(record.at("grad_norm").get<double>());
    seen_.rates.push_back(record.at("learning_rate").get<double>());
  }
  void on_evaluate(const trainer::State& state, trainer::Control&, const Json& metrics) override {
    seen_.evaluated.push_back(state.global_step);
    seen_.eval_losses.push_back(metrics.at("eval_loss").get<double>());
  }
  void on_save(const trainer::State& state, trainer::Control&) override {
    seen_.saved.push_back(state.global_step);
  }
  void on_train_end(const trainer::State& state, trainer::Control&) override { seen_.state = state; }

 private:
  Seen& seen_;
  std::function<void(const trainer::State&, trainer::Control&)> at_step_end_;
};

plan::SplitPlan write_split(const std::string& prefix, int64_t samples) {
  data::ColumnWriter writer(prefix, kVocabulary);
  for (int64_t sample = 0; sample < samples; ++sample) {
    std::vector<int32_t> tokens;
    for (int64_t place = 0; place < kBlock; ++place) {
      tokens.push_back(static_cast<int32_t>(token_at(sample, place)));
    }
    writer.add(tokens);
  }
  writer.finish();
  return {prefix, samples, samples * kBlock, true};
}

std::vector<std::string> messages_in(const std::string& events) {
  std::vector<std::string> messages;
  std::ifstream file(events);
  for (std::string line; std::getline(file, line);) {
    const auto event = plan::decode_event(line);
    if (event && event->kind == plan::WorkerEvent::Kind::kMessage)
      messages.push_back(event->data.at("text").get<std::string>());
  }
  return messages;
}

}  // namespace

int64_t token_at(int64_t sample, int64_t place) {
  return (sample * sample + 3 * sample + place * (1 + sample % 5)) % kVocabulary;
}

void MemoryColumn::copy_to(int64_t sample, int64_t* target) const {
  for (int64_t place = 0; place < length(sample); ++place) target[place] = token_at(sample, place);
}

std::shared_ptr<const data::Dataset> memory_dataset(int64_t samples, std::optional<int64_t> shorter_one) {
  using Columns = std::vector<data::Dataset::Column>;
  return std::make_shared<const data::Dataset>(
      Columns{{"input_ids", std::make_shared<MemoryColumn>(samples, shorter_one)}});
}

plan::RunPlan tiny_plan() {
  plan::RunPlan plan;
  plan.model.model_type = "gpt2";
  plan.model.config = {
      {"model_type", "gpt2"}, {"n_layer", 1},      {"n_head", 2},
      {"n_embd", 8},          {"n_positions", 8},  {"vocab_size", 13},
      {"embd_pdrop", 0},      {"attn_pdrop", 0},   {"resid_pdrop", 0},
      {"bos_token_id", 0},    {"eos_token_id", 0}, {"architectures", Json::array({"GPT2LMHeadModel"})}};
  plan.ranks.ranks.resize(1);
  plan.optimizer.name = "sgd";
  plan.optimizer.learning_rate = 0.1;
  plan.optimizer.max_grad_norm = 0;
  plan.schedule.name = "constant";
  plan.data.block_size = kBlock;
  plan.data.sampling = "sequential";
  plan.batch.per_device_train = plan.batch.per_device_eval = plan.batch.global_train = 2;
  plan.steps.max_steps = 4;
  plan.steps.limited_by_steps = true;
  plan.logging.interval = {"steps", 1};
  return plan;
}

plan::RunPlan tiny_plan(const std::string& folder, const std::string& output, int64_t samples) {
  plan::RunPlan plan = tiny_plan();
  plan.output_dir = folder + "/" + output;
  create_directories(plan.output_dir + "/hftrain");
  const std::string prefix = folder + "/data-" + std::to_string(samples);
  plan.data.train = plan.data.validation = write_split(prefix, samples);
  return plan;
}

Seen train(const plan::RunPlan& plan, comm::Communicator& communicator,
           std::function<void(const trainer::State&, trainer::Control&)> at_step_end,
           trainer::Extensions extensions) {
  runtime::WorkerContext context;
  context.device_runtime = runtime::make_cpu_runtime();
  const FileDescriptor said(::memfd_create("events", MFD_CLOEXEC));
  trainer::EventChannel events(FileDescriptor(::dup(said.get())), communicator.rank());
  Seen seen;
  trainer::Trainer trainer(plan, context, communicator, events, std::move(extensions));
  trainer.add_callback(std::make_unique<Recorder>(seen, std::move(at_step_end)));
  seen.outcome = trainer.run();
  seen.messages = messages_in("/proc/self/fd/" + std::to_string(said.get()));
  return seen;
}

Seen train(const plan::RunPlan& plan,
           std::function<void(const trainer::State&, trainer::Control&)> at_step_end) {
  const auto communicator = comm::make_communicator({}, comm::builtin_backends());
  return train(plan, *communicator, std::move(at_step_end));
}

}  // namespace hftrain::testing
