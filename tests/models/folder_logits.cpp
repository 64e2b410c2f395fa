// The logits that our models compute from a transformers folder, for a comparison number by number.
//
//   folder_logits FOLDER INPUT ROWS OUT [SAVED]    INPUT: int64, ROWS sequences of one length, which a decoder besides
//   reads, too, or float32, ROWS images; OUT: float32 [ROWS, length, outputs] or [ROWS, outputs]; SAVED: an empty
//   folder that gets the model as a run would save it
//
// The head is that of the class which config.json names; without a known class, causal language modelling.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <cstring>
#include <fstream>
#include <iostream>
#include <string>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/checkpoint/weights.h"
#include "hftrain/comm/communicator.h"
#include "hftrain/models/model.h"
#include "hftrain/parallel/replicated_strategy.h"

namespace {

using namespace hftrain;

using architectures::Architecture;

parallel::ParameterList parameters_of(const models::Model& model) {
  parallel::ParameterList list{{}, {0.0}};
  for (size_t i = 0; i < model.parameters().size(); ++i)
    list.parameters.push_back({model.parameter_names()[i], model.parameters()[i], 0});
  return list;
}

std::unique_ptr<models::Model> load(const std::string& folder, comm::Communicator& alone) {
  const std::string path = folder + "/config.json";
  const Json config = read_json_file(path);
  const architectures::Head head = Architecture::head_of(config).value_or(architectures::Head::kCausalLm);
  auto model = models::build_model(Architecture::from_config(config, path, head), {});
  parallel::ReplicatedStrategy strategy({}, parameters_of(*model), {}, alone);
  const auto loaded =
      checkpoint::load_weights(model->architecture().parameters(), storage::StoredWeights(folder), strategy);
  for (const std::string& name : loaded.unused) std::cerr << "unused: " << name << '\n';
  model->train(false);
  return model;
}

void save(const models::Model& model, const std::string& folder, comm::Communicator& alone) {
  parallel::ReplicatedStrategy strategy({}, parameters_of(model), {}, alone);
  storage::PosixFileSystem files;
  storage::StagedFiles staged(files, folder);
  checkpoint::DirectTarget target(staged);
  constexpr int64_t kOneFile = int64_t{1} << 40;
  checkpoint::save_weights(model.architecture().parameters(), at::kFloat, strategy, kOneFile, &target);
  write_file_atomically(folder + "/config.json", dump_json(model.architecture().config_json()));
}

at::Tensor read_rows(const std::string& path, int64_t rows, at::ScalarType dtype) {
  const std::string bytes = read_file(path);
  const auto count = static_cast<int64_t>(bytes.size() / at::elementSize(dtype));
  const at::Tensor numbers = at::empty({rows, count / rows}, at::TensorOptions().dtype(dtype));
  std::memcpy(numbers.mutable_data_ptr(), bytes.data(), numbers.nbytes());
  return numbers;
}

models::Batch batch_of(const Architecture& architecture, const std::string& path, int64_t rows) {
  models::Batch batch;
  if (const auto image = architecture.image()) {
    const at::Tensor pixels = read_rows(path, rows, at::kFloat);
    batch.pixel_values = pixels.view({rows, image->channels, image->height, image->width});
    return batch;
  }
  batch.input_ids = read_rows(path, rows, at::kLong);
  if (architecture.head() == architectures::Head::kSeq2SeqLm) batch.decoder_input_ids = batch.input_ids;
  return batch;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc > 6) return 2;
  try {
    const at::NoGradGuard no_grad;
    const auto alone = comm::make_communicator({}, comm::builtin_backends());
    const std::unique_ptr<models::Model> model = load(argv[1], *alone);
    if (argc == 6) save(*model, argv[5], *alone);
    nn::UnitRunner runner;
    const models::Batch batch = batch_of(model->architecture(), argv[2], std::stoll(argv[3]));
    const at::Tensor logits = model->forward(batch, runner, models::logits_only()).logits.contiguous();
    std::ofstream out(argv[4], std::ios::binary);
    out.write(static_cast<const char*>(logits.const_data_ptr()),
              static_cast<std::streamsize>(logits.nbytes()));
    return out.flush() ? 0 : 1;
  } catch (const Error& error) {
    std::cerr << error.render() << '\n';
    return 1;
  }
}
