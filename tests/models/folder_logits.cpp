// The logits that our models compute from a transformers folder, for a comparison number by number.
//
// Each line of the input is one request, "FOLDER INPUT ROWS OUT [SAVED]" with tabs between, and gets one line of
// answer: the names in FOLDER that are not used. INPUT: int64, ROWS sequences of one length, which a decoder besides
// reads, too, or float32, ROWS images; OUT: float32 [ROWS, length, outputs] or [ROWS, outputs]; SAVED: an empty folder
// that gets the model as a run would save it.
//
// The head is that of the class which config.json names; without a known class, causal language modelling.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/checkpoint/weights.h"
#include "hftrain/comm/communicator.h"
#include "hftrain/models/model.h"
#include "hftrain/parallel/replicated_strategy.h"
#include "hftrain/plan/stored_ties.h"
#include "hftrain/storage/model_folder.h"

namespace {

using namespace hftrain;

using architectures::Architecture;

parallel::ParameterList parameters_of(const models::Model& model) {
  parallel::ParameterList list{{}, {0.0}};
  for (size_t i = 0; i < model.parameters().size(); ++i)
    list.parameters.push_back({model.parameter_names()[i], model.parameters()[i], 0});
  return list;
}

struct Loaded {
  std::unique_ptr<models::Model> model;
  std::vector<std::string> unused;
};

Loaded load(const std::string& folder, comm::Communicator& alone) {
  const std::string path = folder + "/config.json";
  const Json config = read_json_file(path);
  const architectures::Head head = Architecture::head_of(config).value_or(architectures::Head::kCausalLm);
  const auto architecture = plan::as_stored(Architecture::from_config(config, path, head),
                                            storage::ModelWeights(folder), path, "float32");
  auto model = models::build_model(architecture, {});
  parallel::ReplicatedStrategy strategy({}, parameters_of(*model), {}, alone);
  auto weights =
      checkpoint::load_weights(model->architecture().parameters(), storage::StoredWeights(folder), strategy);
  model->train(false);
  return {std::move(model), std::move(weights.unused)};
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

struct Request {
  std::string folder, input;
  int64_t rows = 0;
  std::string out, saved;
};

Request read_request(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream text(line);
  for (std::string word; std::getline(text, word, '\t');) words.push_back(word);
  if (words.size() < 4)
    throw Error(ExitCode::kUsage, "a request has too few words")
        .where(line)
        .hint("FOLDER INPUT ROWS OUT [SAVED]");
  return {words[0], words[1], std::stoll(words[2]), words[3], words.size() > 4 ? words[4] : ""};
}

// The names in the folder that are not used.
std::vector<std::string> answer(const Request& request, comm::Communicator& alone) {
  const auto [model, unused] = load(request.folder, alone);
  if (!request.saved.empty()) save(*model, request.saved, alone);
  nn::UnitRunner runner;
  const models::Batch batch = batch_of(model->architecture(), request.input, request.rows);
  const at::Tensor logits = model->forward(batch, runner, models::logits_only()).logits.contiguous();
  const std::string bytes(static_cast<const char*>(logits.const_data_ptr()), logits.nbytes());
  write_file_atomically(request.out, bytes);
  return unused;
}

}  // namespace

int main() {
  try {
    const at::NoGradGuard no_grad;
    const auto alone = comm::make_communicator({}, comm::builtin_backends());
    for (std::string line; std::getline(std::cin, line);) {
      for (const std::string& name : answer(read_request(line), *alone)) std::cout << name << ' ';
      std::cout << std::endl;
    }
    return 0;
  } catch (const Error& error) {
    std::cerr << error.render() << '\n';
    return 1;
  }
}
