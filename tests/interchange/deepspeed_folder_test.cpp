// Over checkpoints of two ranks of DeepSpeed, and over what its own ds_to_universal made of them (scripts/golden/deepspeed_parts.py).
#include "hftrain/interchange/deepspeed_folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/interchange/others_summary.h"
#include "hftrain/interchange/torch_tensors.h"
#include "hftrain/interchange/torch_writer.h"
#include "hftrain/interchange/trainer_folder.h"
#include "hftrain/interchange/universal_folder.h"
#include "hftrain/interchange/zip_writer.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "hftrain/storage/safetensors_writer.h"
#include "pickled_values.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::interchange {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryDirectory;

constexpr const char* kZero = "global_step2_universal/zero/";

std::string deepspeed_golden(const std::string& name) {
  return testing::source_dir() + "/tests/golden/interchange/deepspeed/" + name;
}

// With what the Trainer leaves beside it.
struct SavedByDeepSpeed : TemporaryDirectory {
  explicit SavedByDeepSpeed(const std::string& name) {
    fs::copy(deepspeed_golden(name), path(), fs::copy_options::recursive);
    std::ofstream(*this / "trainer_state.json") << R"({"global_step": 2, "epoch": 0.5})";
    // transformers' own schedule, which it keeps itself.
    for (const char* kept : {"scheduler.pt", "rng_state.pth"})
      fs::copy_file(deepspeed_golden("../" + std::string(kept)), *this / kept);
  }
};

void flatten(const Json& nested, std::vector<float>& numbers) {
  if (!nested.is_array()) return numbers.push_back(nested.get<float>());
  for (const Json& item : nested) flatten(item, numbers);
}

std::vector<float> flat(const Json& nested) {
  std::vector<float> numbers;
  flatten(nested, numbers);
  return numbers;
}

std::vector<float> numbers_of(const storage::SlicedTensor& tensor) {
  const storage::Box box{std::vector<int64_t>(tensor.shape.size(), 0), tensor.shape};
  std::vector<float> values(storage::volume(box));
  storage::read_box(tensor, box,
                    std::span(reinterpret_cast<char*>(values.data()), values.size() * sizeof(float)), "here");
  return values;
}

std::vector<float> numbers_of(const storage::StoredWeights& weights, const std::string& name) {
  const std::vector<int64_t>& shape = weights.find(name)->shape;
  const storage::Box box{std::vector<int64_t>(shape.size(), 0), shape};
  std::vector<float> values(storage::volume(box));
  weights.read(name, box, std::span(reinterpret_cast<char*>(values.data()), values.size() * sizeof(float)));
  return values;
}

Diagnostic refusal_by(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    const Diagnostic& said = error.diagnostics().front();
    CHECK(!said.where.empty());
    CHECK(!said.why.empty());
    CHECK(!said.hint.empty());
    return said;
  }
  return {};
}

void write_torch_file(const std::string& path, const std::function<void(TorchWriter&)>& write) {
  TorchWriter file;
  write(file);
  storage::PosixFileSystem files;
  fs::remove(path);
  file.finish(files, path);
}

void write_tensor(TorchWriter& file, std::vector<int64_t> shape) {
  const storage::TensorEntry entry{"", storage::DType::kF32, shape};
  const size_t bytes = entry.bytes();
  file.tensor(storage::DType::kF32, std::move(shape),
              [bytes](const ByteSink& sink) { sink(std::string(bytes, '\0')); });
}

struct Form {
  const char* golden;
  const char* written_by;
  std::vector<std::string> files;  // of the weights of "weight"
};

TEST_CASE("weights and optimizer of DeepSpeed are read under their names and in their shapes") {
  const std::string first = "zero_pp_rank_0_mp_rank_00_optim_states.pt",
                    second = "zero_pp_rank_1_mp_rank_00_optim_states.pt";
  const std::vector<std::string> whole = {kZero + std::string("weight/fp32.pt")},
                                 parts = {"global_step2/" + first, "global_step2/" + second};
  const auto form =
      GENERATE_COPY(Form{"stage2", "transformers' Trainer, in DeepSpeed's universal form", whole},
                    Form{"stage3", "transformers' Trainer, in DeepSpeed's universal form", whole},
                    Form{"stage2_parts", "transformers' Trainer, in the parts of DeepSpeed", parts},
                    Form{"stage3_parts", "transformers' Trainer, in the parts of DeepSpeed", parts});
  INFO(form.golden);
  const Json expected = read_json_file(deepspeed_golden("expected.json"));
  const SavedByDeepSpeed folder(form.golden);
  const TrainerFolder found = check_trainer_folder(folder.path());
  CHECK(found.whole);
  CHECK(found.step == 2);
  CHECK(read_trainer_schedule(folder.path()));
  check_weights(folder.path());
  const storage::StoredWeights weights = open_weights(folder.path());
  REQUIRE(weights.find("weight") != nullptr);
  CHECK(weights.find("weight")->shape == std::vector<int64_t>{5, 3});
  CHECK(weights.files_of("weight") == form.files);
  const OptimizerStates states = open_named_optimizer(folder.path());
  CHECK(states.state_names() == std::vector<std::string>{"exp_avg", "exp_avg_sq", "step"});
  for (const std::string parameter : {"weight", "bias"}) {
    CHECK(numbers_of(weights, parameter) == flat(expected[parameter]));
    for (const char* state : {"exp_avg", "exp_avg_sq"})
      CHECK(numbers_of(*states.find(parameter, state)) == flat(expected[parameter + '.' + state]));
    CHECK(states.find(parameter, "exp_avg")->shape == weights.find(parameter)->shape);
    CHECK(numbers_of(*states.find(parameter, "step")) == std::vector<float>{2});
  }
  const std::optional<storage::CheckpointSummary> summary = summarize_others(folder.path());
  REQUIRE(summary);
  CHECK(summary->writer->name == form.written_by);
  CHECK(summary->optimizer.size() == 6);
}

TEST_CASE("parts of DeepSpeed's ranks that are not all there are refused, with what converts them") {
  const int stage = GENERATE(2, 3);
  const SavedByDeepSpeed folder("stage" + std::to_string(stage) + "_parts");
  const std::string begin = folder / "global_step2/zero_pp_rank_", end = "_mp_rank_00_optim_states.pt";
  const auto check = [&] { check_trainer_folder(folder.path()); };
  const std::string whole = read_file(begin + '1' + end);
  fs::resize_file(begin + '1' + end, whole.size() - 20);
  CHECK(refusal_by(check).where == begin + '1' + end);
  fs::remove(begin + '1' + end);
  const Diagnostic said = refusal_by(check);
  CHECK(said.where == begin + '0' + end);
  CHECK(said.why == "the run had 2 ranks, and there are files of 1");
  CHECK(said.hint.find("ds_to_universal --inject_missing_state --input_folder " + folder / "global_step2 ") !=
        std::string::npos);
  std::ofstream(begin + '2' + end, std::ios::binary) << whole;
  CHECK(refusal_by(check).why == "the file of rank 1 is missing");
  fs::rename(begin + '2' + end, folder / "global_step2/zero_pp_rank_0_mp_rank_01_optim_states.pt");
  const Diagnostic divided = refusal_by(check);
  CHECK(divided.why.find("(tensor parallelism)") != std::string::npos);
  CHECK(divided.hint.find("ds_to_universal") != std::string::npos);
  CHECK(divided.hint.find("zero_to_fp32") == std::string::npos);
}

// Some numbers of a tensor as others have them in one row.
TEST_CASE("ranges of a tensor's numbers make it whole wherever they are cut") {
  const std::vector<int64_t> shape = {3, 1, 4, 2};
  const TemporaryDirectory folder;
  const std::string path = folder / "row.pt";
  std::vector<float> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  write_torch_file(path, [&](TorchWriter& file) {
    file.tensor(storage::DType::kF32, {24}, [&](const ByteSink& sink) {
      sink({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)});
    });
  });
  const TorchFile file(path);
  for (uint64_t first = 0; first <= 24; ++first) {
    for (uint64_t second = first; second <= 24; ++second) {
      TorchTensors tensors;
      storage::SlicedTensor whole;
      const storage::TensorEntry entry{"w", storage::DType::kF32, shape};
      uint64_t begin = 0;
      for (const uint64_t end : {first, second, uint64_t{24}}) {
        tensors.add_range(whole, file.root(), {begin, begin, end - begin}, entry, path);
        begin = end;
      }
      if (numbers_of(whole) == numbers) continue;
      FAIL("cut at " << first << " and " << second);
    }
  }
  TorchTensors tensors;
  storage::SlicedTensor whole;
  const std::vector<TorchTensors::Range> outside = {{0, 20, 5}, {20, 0, 5}, {0, 0, 25}, {0, ~uint64_t{0}, 2}};
  for (const TorchTensors::Range& range : outside) {
    CHECK(refusal_by([&] {
            tensors.add_range(whole, file.root(), range, {"w", storage::DType::kF32, shape}, path);
          }).why == "'w' has a range that lies outside of it");
  }
}

TEST_CASE("what was not updated comes from the model's own file, and a tied one's second name is left out") {
  const SavedByDeepSpeed folder("stage2");
  storage::PosixFileSystem files;
  storage::StagedFiles target(files, folder.path());
  auto writer = target.open_safetensors(
      "model.safetensors", {{"weight", storage::DType::kF32, {5, 3}}, {"frozen", storage::DType::kF32, {1}}},
      {{"format", "pt"}}, storage::TensorOrder::kByName);
  const std::vector<float> zeros(15, 0.0F), one = {3};
  writer.write("frozen", {reinterpret_cast<const char*>(one.data()), sizeof(float)});
  writer.write("weight", {reinterpret_cast<const char*>(zeros.data()), zeros.size() * sizeof(float)});
  target.close(writer);
  fs::create_directory(folder / (kZero + std::string("tied")));
  fs::copy_file(folder / (kZero + std::string("weight/fp32.pt")),
                folder / (kZero + std::string("tied/fp32.pt")));
  const storage::StoredWeights weights = open_saved_weights(folder.path());
  CHECK(weights.find("tied") == nullptr);
  CHECK(numbers_of(weights, "frozen") == one);
  CHECK(weights.files_of("frozen") == std::vector<std::string>{"model.safetensors"});
  CHECK(numbers_of(weights, "weight") != zeros);  // DeepSpeed goes on from its own, in float32
  CHECK(weights.find("bias") != nullptr);
}

TEST_CASE("a universal folder with a file cut, changed or missing is refused, and says which") {
  const SavedByDeepSpeed folder("stage3");
  const std::string path = folder / (kZero + std::string("weight/exp_avg.pt")), whole = read_file(path);
  const auto check = [&] { check_trainer_folder(folder.path()); };
  fs::resize_file(path, whole.size() - 20);
  CHECK(refusal_by(check).where == path);
  std::string changed = whole;
  const std::string numbers(open_deepspeed_optimizer(deepspeed_golden("stage3"))
                                .find("weight", "exp_avg")
                                ->slices.front()
                                .stored->bytes);
  changed[changed.find(numbers)] ^= 1;
  std::ofstream(path, std::ios::binary) << changed;
  CHECK(refusal_by(check).why.find("checksum") != std::string::npos);
  std::ofstream(path, std::ios::binary) << whole;
  check();
  for (const auto& file : fs::directory_iterator(folder / "global_step2_universal")) {
    if (file.path().string().ends_with("_model_states.pt")) fs::remove(file.path());
  }
  CHECK(refusal_by(check).why.find("stand in one row, and no file says its shape") != std::string::npos);
  fs::remove_all(folder / "global_step2_universal");
  CHECK(refusal_by(check).why == "the folder is missing");
}

// The model's own file has what is missing as well, rounded.
TEST_CASE("a universal folder that lacks a file or a parameter is not gone on from in its rounded weights") {
  const SavedByDeepSpeed folder("stage2");
  storage::PosixFileSystem files;
  storage::StagedFiles target(files, folder.path());
  auto writer = target.open_safetensors(
      "model.safetensors", {{"bias", storage::DType::kF32, {5}}, {"weight", storage::DType::kF32, {5, 3}}},
      {{"format", "pt"}}, storage::TensorOrder::kByName);
  const std::vector<float> zeros(15, 0.0F);
  writer.write("bias", {reinterpret_cast<const char*>(zeros.data()), 5 * sizeof(float)});
  writer.write("weight", {reinterpret_cast<const char*>(zeros.data()), zeros.size() * sizeof(float)});
  target.close(writer);
  const std::string zero = folder / kZero, kept = folder / "kept";
  for (const std::string name :
       {"weight/fp32.pt", "weight/exp_avg_sq.pt", "bias/exp_avg.pt", "weight/step.pt"}) {
    INFO(name);
    fs::rename(zero + name, kept);
    const Diagnostic said = refusal_by([&] { open_deepspeed_weights(folder.path()); });
    CHECK(said.where == zero + name);
    CHECK(said.why == "the file is missing");
    fs::rename(kept, zero + name);
  }
  open_deepspeed_weights(folder.path());
  fs::rename(zero + "weight", kept);
  const Diagnostic said = refusal_by([&] { open_deepspeed_weights(folder.path()); });
  CHECK(said.where == zero + "weight");
  CHECK(said.why == "the folder is missing");
}

// As pickles write an object with whole numbers in it.
void write_scaler(const std::string& path, const std::string& type,
                  const std::vector<std::pair<std::string, int>>& fields) {
  using pickled::text;
  std::string pickle = std::string("\x80\x02}", 3) + text("loss_scaler") +
                       "cdeepspeed.runtime.fp16.loss_scaler\n" + type + "\n)\x81}(";
  for (const auto& [name, value] : fields) pickle += text(name) + pickled::number(value);
  storage::PosixFileSystem files;
  fs::remove(path);
  ZipWriter zip(files, path, 0);
  zip.add("state/data.pkl", pickle + "ubs.");
  zip.finish();
}

// As DeepSpeed leaves them beside the model, as far as a schedule needs them.
void write_model_states(const std::string& path, const char* schedule, int32_t updates, int32_t skipped) {
  using pickled::number, pickled::text;
  storage::PosixFileSystem files;
  fs::remove(path);
  ZipWriter zip(files, path, 0);
  zip.add("state/data.pkl", std::string("\x80\x02}(", 4) + text("lr_scheduler") + schedule +
                                text("global_steps") + number(updates) + text("skipped_steps") +
                                number(skipped) + "u.");
  zip.finish();
}

TEST_CASE(
    "a schedule that DeepSpeed kept has done the updates that it did not skip, and one that is lost is "
    "missed") {
  const SavedByDeepSpeed folder("stage2_parts");
  std::string path;
  for (const auto& file : fs::directory_iterator(folder / "global_step2")) {
    if (file.path().string().ends_with("_model_states.pt")) path = file.path().string();
  }
  fs::remove(folder / "scheduler.pt");
  const Diagnostic lost = refusal_by([&] { check_trainer_folder(folder.path()); });
  CHECK(lost.why == "its scheduler.pt is missing, and DeepSpeed did not keep the schedule");
  CHECK(lost.hint == kCopyOrConvert);
  write_model_states(path, "}", 7, 2);
  CHECK(deepspeed_schedule_steps(folder.path()) == 5);
  write_model_states(path, "N", 7, 2);
  CHECK(refusal_by([&] { deepspeed_schedule_steps(folder.path()); }).why == lost.why);
  write_model_states(path, "}", 2, 7);
  CHECK(refusal_by([&] { deepspeed_schedule_steps(folder.path()); }).where == path);
  fs::remove(path);
  CHECK(refusal_by([&] { deepspeed_schedule_steps(folder.path()); }).where == folder / "global_step2");
}

TEST_CASE("of an adapter what DeepSpeed trained is opened under names that are made of its own") {
  const std::string form = GENERATE("stage2", "stage3", "stage2_parts", "stage3_parts");
  const SavedByDeepSpeed folder(form);
  std::ofstream(folder / "adapter_model.safetensors") << "rounded";
  check_weights(folder.path());
  const storage::StoredWeights weights = open_deepspeed_trained(
      folder.path(), [](const std::string& name) { return "the." + name; }, Checksums::kCompared);
  REQUIRE(weights.entries().size() == 2);
  REQUIRE(weights.find("the.weight") != nullptr);
  CHECK(weights.find("the.weight")->dtype == storage::DType::kF32);
  CHECK(numbers_of(weights, "the.weight") ==
        flat(read_json_file(deepspeed_golden("expected.json"))["weight"]));
  CHECK(summarize_others(folder.path())->weights.size() == 2);
}

TEST_CASE("a step of trainer_state.json that is not DeepSpeed's number of updates is told, and counts") {
  const std::string form = GENERATE("stage2", "stage3", "stage2_parts", "stage3_parts");
  const SavedByDeepSpeed folder(form);
  CHECK(check_trainer_folder(folder.path()).warnings.empty());
  std::ofstream(folder / "trainer_state.json") << R"({"global_step": 7, "epoch": 0.5})";
  const TrainerFolder found = check_trainer_folder(folder.path());
  CHECK(found.step == 7);
  REQUIRE(found.warnings.size() == 1);
  CHECK(found.warnings.front().find("is of step 7, and DeepSpeed's files beside it are of 2 updates") !=
        std::string::npos);
}

TEST_CASE("a new run begins with a model's own file, whatever of DeepSpeed lies beside it") {
  const SavedByDeepSpeed folder("stage2_parts");
  storage::PosixFileSystem files;
  const std::string numbers(4 * 3, '\0');
  storage::SafetensorsWriter writer(files, folder / "model.safetensors",
                                    {{"other", storage::DType::kF32, {3}}}, {});
  writer.write("other", numbers);
  writer.finish();
  CHECK(open_weights(folder.path()).find("weight") == nullptr);
  CHECK(open_saved_weights(folder.path()).find("weight") != nullptr);
  // What is shown of a checkpoint is what a run goes on from, and what is exported.
  const auto shown = summarize_others(folder.path())->weights;
  CHECK(std::any_of(shown.begin(), shown.end(),
                    [](const auto& tensor) { return tensor.entry.name == "weight"; }));
  fs::remove_all(folder / "global_step2");  // as before an upload
  CHECK(open_weights(folder.path()).find("other") != nullptr);
  fs::remove(folder / "latest");
  fs::create_directory_symlink("checkpoint-5", folder / "latest");  // people link the newest one so
  CHECK_FALSE(has_deepspeed(folder.path()));
}

TEST_CASE("the loss scale of a run by DeepSpeed is gone on from") {
  const SavedByDeepSpeed folder("stage2");
  const std::string path = folder / (kZero + std::string("optimizer_state.pt"));
  write_scaler(
      path, "DynamicLossScaler",
      {{"cur_scale", 4096}, {"cur_iter", 2500}, {"last_overflow_iter", 400}, {"scale_window", 1000}});
  const auto scaler = read_trainer_scaler(folder.path());
  REQUIRE(scaler);
  CHECK(scaler->scale == 4096);
  CHECK(scaler->good_updates == 98);  // DeepSpeed doubles behind the updates that fill a window: 1000, 2000
  write_scaler(
      path, "DynamicLossScaler",
      {{"cur_scale", 4096}, {"cur_iter", 1401}, {"last_overflow_iter", 400}, {"scale_window", 1000}});
  CHECK(read_trainer_scaler(folder.path())->good_updates == 999);  // in the next one
  write_scaler(path, "DynamicLossScaler",
               {{"cur_scale", 0}, {"cur_iter", 3}, {"last_overflow_iter", 1}, {"scale_window", 1000}});
  CHECK(refusal_by([&] { read_trainer_scaler(folder.path()); }).why == "its loss scale is none");
  write_scaler(path, "LossScaler", {{"cur_scale", 1}});
  CHECK(!read_trainer_scaler(folder.path()));
  write_scaler(
      path, "DynamicLossScaler",
      {{"cur_scale", 4096}, {"cur_iter", 2500}, {"last_overflow_iter", 2500}, {"scale_window", 1000}});
  CHECK(refusal_by([&] { read_trainer_scaler(folder.path()); }).where == path);
  write_scaler(path, "SomethingElse", {});
  CHECK(refusal_by([&] { read_trainer_scaler(folder.path()); }).why.find("loss_scaler.SomethingElse'") !=
        std::string::npos);
}

TEST_CASE("latest_universal names a folder beside it and nothing else") {
  const SavedByDeepSpeed folder("stage2");
  for (const char* name :
       {"", ".", "..", "../elsewhere", "/tmp", "a/b", "x;touch y", "\x1b[31m", "-n", ".a"}) {
    std::ofstream(folder / kLatestUniversal) << name;
    const Diagnostic said = refusal_by([&] { open_deepspeed_weights(folder.path()); });
    CHECK(said.where == folder / kLatestUniversal);
    CHECK(said.why == "it names no folder beside it");
  }
  std::ofstream(folder / kLatestUniversal) << std::string(300, 'a');
  CHECK(refusal_by([&] { open_deepspeed_weights(folder.path()); }).why == "it names no folder beside it");
  std::ofstream(folder / kLatestUniversal) << "global_step2_universal\n";
  open_deepspeed_weights(folder.path());
}

TEST_CASE("files of a universal folder that hold something else are refused by what it is") {
  const SavedByDeepSpeed folder("stage3");
  const std::string path = folder / (kZero + std::string("weight/exp_avg.pt"));
  const auto said = [&](const std::function<void(TorchWriter&)>& write) {
    write_torch_file(path, write);
    const Diagnostic found = refusal_by([&] { open_deepspeed_optimizer(folder.path()); });
    CHECK(found.where == path);
    return found.why;
  };
  CHECK(said([](TorchWriter& file) { write_tensor(file, {14}); }) ==
        "'weight' has another number of numbers than its shape");
  CHECK(said([](TorchWriter& file) { file.values().text("w"); }) == "a state is a text and not a tensor");
  CHECK(said([](TorchWriter& file) {
          file.values().open_dict();
          file.values().close_dict();
        }) == "there is no 'param' in it");
  for (int i = 0; i < 100; ++i) fs::copy_file(path, path + std::to_string(i) + ".pt");
  CHECK(refusal_by([&] { open_deepspeed_optimizer(folder.path()); }).why == "it has more than 64 states");
}

}  // namespace
}  // namespace hftrain::interchange
