// Saving in the background without a training run around it: state of the size of GPT-2 124M with AdamW, one
// rank.
//
//   bench_async_save [ROUNDS] [FOLDER] [MILLIONS OF PARAMETERS]
//
// By turns: a plain copy (memcpy) of as many bytes to memory that has been written to and to new memory, a
// save in the background and the first one of a checkpointer whose memory was made while steps went on, the
// same "step" (matrix products on all threads) with nothing else going on and while a save is in flight, a
// save that is waited for, and writing and syncing one file of the checkpoint's size. What is printed are
// medians over the rounds, and of the ratios within each round median and range: other work on the machine
// that lasts longer than a round takes no part in them.
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <sstream>

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

// Two things timed one after the other, round by round.
struct Ratio {
  void add(double ours, double other) {
    first.push_back(ours);
    second.push_back(other);
    ratios.push_back(ours / other);
  }
  std::string text() const {
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    std::ostringstream text;
    text << median(first) << " / " << median(second) << ": " << median(ratios);
    if (!ratios.empty()) text << " (" << *least << " to " << *most << ')';
    return text.str();
  }
  std::vector<double> first, second, ratios;
};

// Straight from the kernel, never written to.
class NewMemory {
 public:
  explicit NewMemory(size_t size)
      : size_(size),
        begin_(static_cast<char*>(
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  NewMemory(const NewMemory&) = delete;
  NewMemory& operator=(const NewMemory&) = delete;
  ~NewMemory() { ::munmap(begin_, size_); }
  char* begin() const { return begin_; }

 private:
  size_t size_;
  char* begin_;
};

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
    renew();
  }

  // A checkpointer as a run has it before its first save; the old one's memory goes back to the kernel.
  void renew() {
    checkpointer.reset();
    checkpointer.emplace(checkpoint::CheckpointedRun{plan, table, at::kFloat, *strategy, *communicator},
                         files);
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
  const std::vector<char> source(size, 1);
  std::vector<char> target(size, 2);
  const auto copy_to = [&](char* memory) {
    return seconds_of([&] { std::memcpy(memory, source.data(), size); });
  };
  Ratio first, stall, step, write;
  std::vector<double> cold;
  for (int round = 0; round < rounds; ++round) {
    bench.renew();
    bench.checkpointer->reserve_copy();
    while (!bench.checkpointer->at_rest()) bench.step();
    first.add(seconds_of([&] { bench.begin_save(); }), copy_to(target.data()));
    bench.finish_save();
    cold.push_back(seconds_of([&] {
      const NewMemory memory(size);
      copy_to(memory.begin());
    }));
    std::vector<double> alone, in_flight;
    for (int i = 0; i < 6; ++i) alone.push_back(bench.step());
    stall.add(seconds_of([&] { bench.begin_save(); }), copy_to(target.data()));
    for (int i = 0; i < 6 && !bench.checkpointer->at_rest(); ++i) in_flight.push_back(bench.step());
    bench.finish_save();
    if (!in_flight.empty()) step.add(median(in_flight), median(alone));
    const double waited = seconds_of([&] {
      bench.begin_save();
      bench.finish_save();
    });
    write.add(bench.direct_write(), waited);
  }
  std::cout << static_cast<double>(bench.bytes) / 1e6 << " MB, " << at::get_num_threads() << " threads, "
            << rounds << " rounds; seconds\n"
            << "first stall against a copy      " << first.text() << "; a copy to new memory " << median(cold)
            << "\n"
            << "later stalls against a copy     " << stall.text() << "\n"
            << "steps in flight against alone   " << step.text() << "\n"
            << "direct write against the save   " << write.text() << std::endl;
  return 0;
}
