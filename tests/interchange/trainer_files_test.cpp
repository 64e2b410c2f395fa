#include "hftrain/interchange/trainer_files.h"

#include <numeric>

#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/interchange/mersenne_twister.h"
#include "hftrain/interchange/torch_file.h"
#include "hftrain/interchange/trainer_folder.h"
#include "hftrain/storage/sharded_state.h"
#include "support/catch.h"
#include "support/python.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain::interchange {
namespace {

using testing::TemporaryDirectory;

std::string_view view_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// Rows [first, first + rows) of "w" [4, 3] on each of two ranks, and all of "b" [3] on the first, as two ranks save them.
void save_rank(storage::StagedFiles& target, int rank) {
  std::vector<storage::TensorSlice> slices;
  std::vector<std::vector<float>> numbers;
  const auto add = [&](const std::string& name, std::vector<int64_t> shape, std::vector<int64_t> offsets,
                       float first) {
    storage::TensorEntry entry{name, storage::DType::kF32, std::move(shape)};
    std::vector<float> values(entry.elements());
    std::iota(values.begin(), values.end(), first);
    slices.push_back({std::move(entry), std::move(offsets)});
    numbers.push_back(std::move(values));
  };
  for (const char* state : {"exp_avg", "exp_avg_sq"}) {
    const float base = std::string_view(state) == "exp_avg" ? 0.0F : 100.0F;
    add(std::string("w.") + state, {2, 3}, {2 * rank, 0}, base + 6 * static_cast<float>(rank));
    if (rank == 0) add(std::string("b.") + state, {3}, {0}, base + 50);
  }
  if (rank == 0) add("w.step", {1}, {0}, 10);
  if (rank == 0) add("b.step", {1}, {0}, 10);
  std::vector<storage::TensorEntry> entries;
  for (const auto& slice : slices) entries.push_back(slice.entry);
  auto writer =
      target.open_safetensors("optimizer/" + storage::shard_file_name(rank), entries,
                              storage::sharding_metadata(slices), storage::TensorOrder::kAsDeclared);
  for (size_t i = 0; i < slices.size(); ++i) writer.write(slices[i].entry.name, view_of(numbers[i]));
  target.close(writer);
}

void save_random(storage::StagedFiles& target, int rank) {
  const std::string name = "rng/rank-0000" + std::to_string(rank) + ".safetensors";
  auto writer = target.open_safetensors(name, {{"random.cpu", storage::DType::kU8, {4}}}, {},
                                        storage::TensorOrder::kByName);
  writer.write("random.cpu", std::string("abc") + static_cast<char>('0' + rank));
  target.close(writer);
}

TrainerRun run_of(int ranks) {
  return {.groups = {{"w"}, {"b"}},
          .weight_decays = {0.1, 0.05},
          .beta1 = 0.9,
          .beta2 = 0.95,
          .epsilon = 1e-8,
          .fused = true,
          .base_rate = 1e-3,
          .next_rate = 5e-4,
          .steps = 10,
          .seed = 7,
          .world_size = ranks,
          .ranks_per_node = ranks,
          .loss_scale = TrainerLossScale{1024, 3, 2000}};
}

// A checkpoint of two ranks and the Trainer's files in it.
std::vector<storage::FileRecord> write_checkpoint(const TemporaryDirectory& folder) {
  storage::PosixFileSystem files;
  storage::StagedFiles target(files, folder.path());
  for (const int rank : {0, 1}) {
    save_rank(target, rank);
    save_random(target, rank);
  }
  storage::StagedFiles theirs(files, folder.path());
  write_trainer_files(run_of(2), theirs);
  return theirs.records();
}

TEST_CASE("the state of all ranks is gathered from their files into the Trainer's") {
  const TemporaryDirectory folder;
  const std::vector<storage::FileRecord> records = write_checkpoint(folder);
  std::vector<std::string> names;
  for (const storage::FileRecord& record : records) {
    names.push_back(record.path);
    CHECK(record.size == read_file(folder / record.path).size());
    CHECK(record.hash == hash_file(folder / record.path));
  }
  CHECK(names == std::vector<std::string>{"optimizer.pt", "scheduler.pt", "rng_state_0.pth",
                                          "rng_state_1.pth", "scaler.pt"});
  const TrainerOptimizer optimizer(folder.path());
  CHECK(optimizer.group_sizes() == std::vector<size_t>{1, 1});
  const storage::SlicedTensor* weight = optimizer.find(0, "exp_avg");
  REQUIRE(weight != nullptr);
  CHECK(weight->shape == std::vector<int64_t>{4, 3});
  std::vector<float> expected(12);
  std::iota(expected.begin(), expected.end(), 0.0F);
  CHECK(weight->slices.front().stored->bytes == view_of(expected));
  CHECK(optimizer.find(1, "exp_avg_sq")->slices.front().stored->bytes == view_of({150, 151, 152}));
  const TorchFile file(folder / "optimizer.pt");
  const std::vector<TorchValue> groups = file.root().at("param_groups").items("groups");
  CHECK(groups.at(0).at("weight_decay").number("a decay") == 0.1);
  CHECK(groups.at(1).at("weight_decay").number("a decay") == 0.05);
  CHECK(read_trainer_schedule(folder.path()).value().steps == 10);
  CHECK(read_trainer_schedule(folder.path()).value().base_rate == 1e-3);
  CHECK(read_trainer_random(folder.path(), 1, 1).cpu == "abc1");
  CHECK(read_trainer_scaler(folder.path())->scale == 1024);
}

TEST_CASE("torch's optimizer, schedule and the generators go on from what is written", "[parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3 with torch: set HFTRAIN_TEST_PYTHON");
  const TemporaryDirectory folder;
  write_checkpoint(folder);
  const testing::PythonResult result = testing::run_python(
      R"(import random, sys, numpy, torch
def load(name):
    return torch.load(sys.argv[1] + '/' + name, weights_only=True)
w, b = torch.nn.Parameter(torch.zeros(4, 3)), torch.nn.Parameter(torch.zeros(3))
o = torch.optim.AdamW([{'params': [w], 'weight_decay': 0.1}, {'params': [b], 'weight_decay': 0.0}], lr=1e-3, fused=True)
s = torch.optim.lr_scheduler.LambdaLR(o, lambda step: max(0, 20 - step) / 20)
o.load_state_dict(load('optimizer.pt'))
s.load_state_dict(load('scheduler.pt'))
fresh = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=1e-3).state_dict()['param_groups'][0]
assert set(fresh) <= set(o.param_groups[0]), set(fresh) - set(o.param_groups[0])
assert o.state[w]['exp_avg'].flatten().tolist() == list(range(12))
assert o.state[b]['step'].shape == () and o.state[b]['step'] == 10
w.grad, b.grad = torch.ones_like(w), torch.ones_like(b)
assert o.param_groups[0]['lr'] == 5e-4 and o.param_groups[0]['betas'] == (0.9, 0.95)
o.step(); s.step()
assert o.state[w]['step'] == 11 and s.last_epoch == 11 and abs(o.param_groups[0]['lr'] - 4.5e-4) < 1e-12
saved = load('rng_state_1.pth')
random.seed(7)
assert random.getstate() == saved['python']
random.setstate(saved['python'])
numpy.random.seed(7)
mine, theirs = numpy.random.get_state(), saved['numpy']
assert mine[0] == theirs[0] and list(mine[1]) == theirs[1] and mine[2:] == theirs[2:]
numpy.random.set_state(saved['numpy'])
assert bytes(saved['cpu'].tolist()) == b'abc1' and [c.shape for c in saved['cuda']] == [(16,), (16,)]
scaler = torch.amp.GradScaler('cpu', init_scale=2.0)
scaler.load_state_dict(load('scaler.pt'))
assert scaler.get_scale() == 1024
)",
      {folder.path()});
  INFO(result.output);
  CHECK(result.exit_code == 0);
}

TEST_CASE("a seed of more than 32 bits gives Python's state of it, too", "[parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3: set HFTRAIN_TEST_PYTHON");
  const TwisterWords words = python_twister((uint64_t{5} << 32) + 9);
  const testing::PythonResult result = testing::run_python(
      "import random, sys\n"
      "random.seed((5 << 32) + 9)\n"
      "state = random.getstate()[1]\n"
      "assert [state[0], state[1], state[623], state[624]] == [int(a) for a in sys.argv[1:]], state[:2]\n",
      {std::to_string(words[0]), std::to_string(words[1]), std::to_string(words[623]), "624"});
  INFO(result.output);
  CHECK(result.exit_code == 0);
}

}  // namespace
}  // namespace hftrain::interchange
