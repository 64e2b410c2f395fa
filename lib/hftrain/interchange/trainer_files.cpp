#include "hftrain/interchange/trainer_files.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "hftrain/base/error.h"
#include "hftrain/interchange/mersenne_twister.h"
#include "hftrain/interchange/torch_writer.h"
#include "hftrain/interchange/trainer_folder.h"
#include "hftrain/storage/sharded_state.h"

namespace hftrain::interchange {
namespace {

constexpr uint64_t kNumbersAtOnce = uint64_t{4} << 20;

const storage::SlicedTensor& state_of(const storage::ShardedState& saved, const std::string& name,
                                      const std::string& folder) {
  const auto found = saved.tensors().find(name);
  if (found != saved.tensors().end()) return found->second;
  throw Error(ExitCode::kData, "the checkpoint lacks '" + name + "', which the Trainer's optimizer.pt holds")
      .where(folder)
      .why("--save_for_trainer writes the state of every parameter")
      .hint("leave --save_for_trainer out");
}

// From whichever ranks' files it lies in, a few megabytes at a time.
void write_tensor(const storage::SlicedTensor& tensor, const std::string& folder, const ByteSink& sink) {
  const auto width = static_cast<uint64_t>(storage::dtype_bits(tensor.dtype)) / 8;
  const storage::Box whole{std::vector<int64_t>(tensor.shape.size(), 0), tensor.shape};
  std::string bytes;
  for (const storage::Box& rows : storage::row_groups(whole, kNumbersAtOnce)) {
    bytes.resize(storage::volume(rows) * width);
    storage::read_box(tensor, rows, bytes, folder);
    sink(bytes);
  }
}

// The tensors of one parameter under torch's names. A counter is a scalar there.
void put_state(TorchWriter& file, const storage::ShardedState& saved, const std::string& parameter,
               const std::string& folder) {
  PickleWriter& values = file.values();
  values.open_dict();
  for (const char* name : {"step", "exp_avg", "exp_avg_sq"}) {
    const storage::SlicedTensor& tensor = state_of(saved, parameter + '.' + name, folder);
    values.text(name);
    file.tensor(tensor.dtype, std::string_view(name) == "step" ? std::vector<int64_t>() : tensor.shape,
                [&tensor, folder](const ByteSink& sink) { write_tensor(tensor, folder, sink); });
  }
  values.close_dict();
}

void put_number(PickleWriter& values, const char* name, double number) {
  values.text(name);
  values.number(number);
}
void put_truth(PickleWriter& values, const char* name, bool truth) {
  values.text(name);
  values.truth(truth);
}
void put_none(PickleWriter& values, const char* name) {
  values.text(name);
  values.none();
}
void put_integer(PickleWriter& values, const char* name, int64_t number) {
  values.text(name);
  values.integer(number);
}
// The same for each group.
void put_rates(PickleWriter& values, const char* name, double rate, size_t groups) {
  values.text(name);
  values.open_list();
  for (size_t i = 0; i < groups; ++i) values.number(rate);
  values.close_list();
}

// As torch.optim.AdamW keeps a group. torch takes all of these from the file, so none may be missing.
void put_group(PickleWriter& values, const TrainerRun& run, size_t group, int64_t first) {
  values.open_dict();
  put_number(values, "weight_decay", run.weight_decays[group]);
  put_number(values, "lr", run.next_rate);
  values.text("betas");
  values.open_tuple();
  values.number(run.beta1);
  values.number(run.beta2);
  values.close_tuple();
  put_number(values, "eps", run.epsilon);
  put_truth(values, "amsgrad", false);
  put_truth(values, "maximize", false);
  put_none(values, "foreach");
  put_truth(values, "capturable", false);
  put_truth(values, "differentiable", false);
  if (run.fused) {
    put_truth(values, "fused", true);
  } else {
    put_none(values, "fused");
  }
  put_truth(values, "decoupled_weight_decay", true);
  put_number(values, "initial_lr", run.base_rate);
  values.text("params");
  values.open_list();
  for (size_t i = 0; i < run.groups[group].size(); ++i) values.integer(first + static_cast<int64_t>(i));
  values.close_list();
  values.close_dict();
}

void write_optimizer(const TrainerRun& run, storage::StagedFiles& target) {
  const std::string folder = target.directory() + "/optimizer";
  const storage::ShardedState saved(folder);
  TorchWriter file;
  PickleWriter& values = file.values();
  values.open_dict();
  values.text("state");
  values.open_dict();
  int64_t position = 0;
  for (const auto& group : run.groups) {
    for (const std::string& parameter : group) {
      values.integer(position++);
      put_state(file, saved, parameter, folder);
    }
  }
  values.close_dict();
  values.text("param_groups");
  values.open_list();
  int64_t first = 0;
  for (size_t group = 0; group < run.groups.size(); ++group) {
    put_group(values, run, group, first);
    first += static_cast<int64_t>(run.groups[group].size());
  }
  values.close_list();
  values.close_dict();
  target.add(kOptimizerFile, [&](auto& files, const std::string& path) { return file.finish(files, path); });
}

// LambdaLR.state_dict(). The functions themselves are not in it.
void write_schedule(const TrainerRun& run, storage::StagedFiles& target) {
  TorchWriter file;
  PickleWriter& values = file.values();
  values.open_dict();
  put_rates(values, "base_lrs", run.base_rate, run.groups.size());
  put_integer(values, "last_epoch", run.steps);
  put_integer(values, "_step_count", run.steps + 1);
  put_truth(values, "_is_initial", false);
  put_truth(values, "_get_lr_called_within_step", false);
  put_rates(values, "_last_lr", run.next_rate, run.groups.size());
  values.text("lr_lambdas");
  values.open_list();
  for (size_t i = 0; i < run.groups.size(); ++i) values.none();
  values.close_list();
  values.close_dict();
  target.add(kScheduleFile, [&](auto& files, const std::string& path) { return file.finish(files, path); });
}

void put_words(PickleWriter& values, const TwisterWords& words) {
  for (const uint32_t word : words) values.integer(word);
}

constexpr int64_t kFreshTwister = 624;  // where one stands before its first number

void put_python(PickleWriter& values, uint64_t seed) {
  values.text("python");
  values.open_tuple();
  values.integer(3);  // the version of its states
  values.open_tuple();
  put_words(values, python_twister(seed));
  values.integer(kFreshTwister);
  values.close_tuple();
  values.none();
  values.close_tuple();
}

void put_numpy(PickleWriter& values, uint64_t seed) {
  values.text("numpy");
  values.open_tuple();
  values.text("MT19937");
  values.open_list();
  put_words(values, numpy_twister(static_cast<uint32_t>(seed)));
  values.close_list();
  values.integer(kFreshTwister);
  values.integer(0);
  values.number(0);
  values.close_tuple();
}

void put_bytes(TorchWriter& file, const std::string& bytes) {
  file.tensor(storage::DType::kU8, {static_cast<int64_t>(bytes.size())},
              [bytes](const ByteSink& sink) { sink(bytes); });
}

// Seed and place of a generator of CUDA, as torch.cuda.get_rng_state() gives them.
std::string fresh_device_state(uint64_t seed) {
  std::string bytes(16, '\0');
  std::memcpy(bytes.data(), &seed, sizeof seed);
  return bytes;
}

// A Trainer with a GPU wants the state of one, also where this run had none; one of several ranks those of all that it sees.
void put_devices(TorchWriter& file, const TrainerRun& run, const std::string& state) {
  file.values().text("cuda");
  if (run.world_size == 1) return put_bytes(file, state);
  file.values().open_list();
  for (int i = 0; i < run.ranks_per_node; ++i) put_bytes(file, state);
  file.values().close_list();
}

void write_random(const TrainerRun& run, int rank, storage::StagedFiles& target) {
  char name[40];
  std::snprintf(name, sizeof name, "rng/rank-%05d.safetensors", rank);
  const storage::SafetensorsFile saved(target.directory() + '/' + name);
  const auto bytes_of = [&](const char* tensor) {
    const storage::StoredTensor* found = saved.find(tensor);
    return found == nullptr ? std::string() : std::string(found->bytes);
  };
  const std::string device = bytes_of("random.device");
  TorchWriter file;
  PickleWriter& values = file.values();
  values.open_dict();
  put_python(values, run.seed);
  put_numpy(values, run.seed);
  values.text("cpu");
  put_bytes(file, bytes_of("random.cpu"));
  put_devices(file, run, device.empty() ? fresh_device_state(run.seed) : device);
  values.close_dict();
  const std::string path =
      run.world_size == 1 ? "rng_state.pth" : "rng_state_" + std::to_string(rank) + ".pth";
  target.add(path, [&](auto& files, const std::string& place) { return file.finish(files, place); });
}

// torch.amp.GradScaler.state_dict()
void write_scaler(const TrainerLossScale& scale, storage::StagedFiles& target) {
  TorchWriter file;
  PickleWriter& values = file.values();
  values.open_dict();
  put_number(values, "scale", scale.scale);
  put_number(values, "growth_factor", 2);
  put_number(values, "backoff_factor", 0.5);
  put_integer(values, "growth_interval", scale.growth_interval);
  put_integer(values, "_growth_tracker", scale.good_updates);
  values.close_dict();
  target.add(kScalerFile, [&](auto& files, const std::string& path) { return file.finish(files, path); });
}

}  // namespace

void write_trainer_files(const TrainerRun& run, storage::StagedFiles& target) {
  write_optimizer(run, target);
  write_schedule(run, target);
  for (int rank = 0; rank < run.world_size; ++rank) write_random(run, rank, target);
  if (run.loss_scale) write_scaler(*run.loss_scale, target);
}

}  // namespace hftrain::interchange
