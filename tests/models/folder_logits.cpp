// The logits that our models compute from a transformers folder, for a comparison number by number.
//
//   folder_logits FOLDER IDS ROWS OUT      IDS: int64, ROWS sequences of one length; OUT: float32 [ROWS,
//   length, vocabulary]
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

std::unique_ptr<models::Model> load(const std::string& folder) {
  const std::string config = folder + "/config.json";
  auto model =
      models::build_model(architectures::Architecture::from_config(read_json_file(config), config), {});
  parallel::ParameterList list{{}, {0.0}};
  for (size_t i = 0; i < model->parameters().size(); ++i)
    list.parameters.push_back({model->parameter_names()[i], model->parameters()[i], 0});
  const auto alone = comm::make_communicator({}, comm::builtin_backends());
  parallel::ReplicatedStrategy strategy({}, list, {}, *alone);
  checkpoint::load_weights(model->architecture().parameters(), storage::StoredWeights(folder), strategy);
  model->train(false);
  return model;
}

at::Tensor ids_from(const std::string& path, int64_t rows) {
  const std::string bytes = read_file(path);
  const int64_t count = static_cast<int64_t>(bytes.size() / sizeof(int64_t));
  const at::Tensor ids = at::empty({rows, count / rows}, at::TensorOptions().dtype(at::kLong));
  std::memcpy(ids.mutable_data_ptr(), bytes.data(), ids.nbytes());
  return ids;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  try {
    const at::NoGradGuard no_grad;
    const std::unique_ptr<models::Model> model = load(argv[1]);
    nn::UnitRunner runner;
    models::Batch batch;
    batch.input_ids = ids_from(argv[2], std::stoll(argv[3]));
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
