// Saving in the background without a training run around it: state of the size of GPT-2 124M with AdamW, one
// rank.
//
//   bench_async_save [ROUNDS] [FOLDER] [MILLIONS OF PARAMETERS]
//
// By turns: a plain copy of the state to touched memory, the same "step" (matrix products on all threads)
// with nothing else going on, a save in the background with steps while it is in flight, a save that is
// waited for, and writing and syncing one file of the checkpoint's size.
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iostream>

#include "checkpoint/row_strategy.h"
#include "hftrain/base/clock.h"
#include "hftrain/base/file.h"
#include "hftrain/checkpoint/checkpointer.h"
#include "support/temporary_directory.h"

namespace {

using namespace hftrain;

constexpr int64_t kTensors = 148, kColumns = 768;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

template <typename Work>
double seconds_of(const Work& work) {
  const double begin = monotonic_seconds();
  work();
  return monotonic_seconds() - begin;
}

struct Bench {
  Bench(const std::string& place, int64_t numbers)
      : folder(place), communicator(comm::make_communicator({}, comm::builtin_backends())) {
    const int64_t rows = numbers / kTensors / kColumns;
    std::vector<testing::WholeTensor> state;
    for (int64_t i = 0; i < kTensors; ++i) {
      const std::string name = "h." + std::to_string(i) + ".weight";
      architectures::ParameterSpec spec;
      spec.name = name;
      spec.shape = {rows, kColumns};
      table.parameters.push_back(spec);
      for (const char* part : {"", "exp_avg", "exp_avg_sq"})
        state.push_back({name, part, at::randn({rows, kColumns})});
    }
    bytes = 3 * kTensors * rows * kColumns * 4;
    strategy.emplace(0, 1, std::move(state));
    plan.output_dir = place;
    plan.model.config = Json::object();
    checkpointer.emplace(plan, table, at::kFloat, *strategy, *communicator, files);
  }

  void begin_save() {
    checkpoint::CheckpointContents contents;
    contents.step = ++saves;
    contents.training_state = Json::object();
    contents.trainer_state = "{}";
    checkpointer->begin_save(contents);
  }
  void finish_save() { files.remove(checkpointer->finish_save()); }
  // As much work as a step that takes some tenths of a second.
  double step() {
    return seconds_of([&] {
      for (int i = 0; i < 12; ++i) at::mm(left, right);
    });
  }
  double direct_write() {
    const std::string path = folder + "/direct";
    const double seconds = seconds_of([&] {
      const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
      const std::string piece(size_t{8} << 20, 'x');
      for (int64_t rest = bytes; rest > 0; rest -= static_cast<int64_t>(piece.size()))
        write_all(file.get(), piece, path);
      ::fsync(file.get());
    });
    files.remove(path);
    return seconds;
  }

  std::string folder;
  storage::PosixFileSystem files;
  std::unique_ptr<comm::Communicator> communicator;
  architectures::ParameterTable table;
  std::optional<testing::RowStrategy> strategy;
  plan::RunPlan plan;
  std::optional<checkpoint::Checkpointer> checkpointer;
  int64_t bytes = 0, saves = 0;
  at::Tensor left = at::randn({1024, 1024}), right = at::randn({1024, 1024});
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::stoi(argv[1]) : 5;
  const testing::TemporaryDirectory temporary;
  const int64_t millions = argc > 3 ? std::stoll(argv[3]) : 124;
  Bench bench(argc > 2 ? argv[2] : temporary.path(), millions * 1'000'000);
  const auto size = static_cast<size_t>(bench.bytes);
  std::vector<char> source(size, 1), target(size, 2);
  const double first = seconds_of([&] { bench.begin_save(); });
  bench.finish_save();
  std::vector<double> copies, stalls, alone, in_flight, waited, direct;
  for (int round = 0; round < rounds; ++round) {
    copies.push_back(seconds_of([&] { std::memcpy(target.data(), source.data(), size); }));
    for (int i = 0; i < 8; ++i) alone.push_back(bench.step());
    stalls.push_back(seconds_of([&] { bench.begin_save(); }));
    for (int i = 0; i < 8 && !bench.checkpointer->at_rest(); ++i) in_flight.push_back(bench.step());
    bench.finish_save();
    waited.push_back(seconds_of([&] {
      bench.begin_save();
      bench.finish_save();
    }));
    direct.push_back(bench.direct_write());
  }
  const double megabytes = static_cast<double>(bench.bytes) / 1e6;
  std::cout << megabytes << " MB, " << at::get_num_threads() << " threads, medians of " << rounds
            << " rounds\n"
            << "copy    " << median(copies) << " s; stall " << median(stalls) << " s ("
            << median(stalls) / median(copies) << " x), the first " << first << " s\n"
            << "step    " << median(alone) << " s alone, " << median(in_flight)
            << " s with a save in flight (" << 100 * (median(in_flight) / median(alone) - 1) << " %, "
            << in_flight.size() << " steps)\n"
            << "write   " << megabytes / median(waited) << " MB/s to the commit, "
            << megabytes / median(direct) << " MB/s directly (" << 100 * median(direct) / median(waited)
            << " %)" << std::endl;
  return 0;
}
