// The time of single collectives by two ranks. Not a test; scripts/bench/collectives.py runs it:
//   BENCH_BACKEND=shm BENCH_RANKS=2 bin/test_comm "[.benchmark]"
// prints lines "operation bytes shortest median", in microseconds; bytes are those of the whole tensor.
#include <ATen/ops/full.h>

#include <algorithm>
#include <cstdio>

#include "comm/rank_processes.h"
#include "hftrain/base/clock.h"
#include "hftrain/base/environment.h"
#include "support/catch.h"

using namespace hftrain;
using comm::Reduction;
using testing::Rank;
using testing::RankBody;

namespace {

constexpr int64_t kTotalBytes = int64_t{256} << 20;  // moved per size, within the limits below
constexpr int64_t kFewest = 7, kMost = 2000;

void measure(comm::Communicator& communicator, const char* name, int64_t bytes,
             const std::function<void()>& operation) {
  const int64_t repeats = std::clamp(kTotalBytes / bytes, kFewest, kMost);
  std::vector<double> seconds;
  for (int64_t i = 0; i < repeats + 2; ++i) {
    const double start = monotonic_seconds();
    operation();
    if (i >= 2) seconds.push_back(monotonic_seconds() - start);
  }
  std::sort(seconds.begin(), seconds.end());
  if (communicator.rank() != 0) return;
  std::printf("%s %ld %.2f %.2f\n", name, bytes, 1e6 * seconds.front(), 1e6 * seconds[seconds.size() / 2]);
}

const RankBody kCollectives("collectives benchmark", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const int64_t world = rank.world_size();
  for (int64_t bytes = 1 << 10; bytes <= 64 << 20; bytes *= 4) {
    const at::Tensor whole = at::full({bytes / 4 / world * world}, 1e-30f);
    const at::Tensor part = at::full({bytes / 4 / world}, 1e-30f);
    measure(*communicator, "all_reduce", bytes, [&] { communicator->all_reduce(whole, Reduction::kSum); });
    measure(*communicator, "reduce_scatter", bytes,
            [&] { communicator->reduce_scatter(part, whole, Reduction::kSum); });
    measure(*communicator, "all_gather", bytes, [&] { communicator->all_gather(whole, part); });
  }
});

}  // namespace

TEST_CASE("single collectives", "[.benchmark]") {
  const Environment environment = Environment::of_process();
  const auto outcomes =
      testing::run_ranks("collectives benchmark", std::stoi(environment.get_or("BENCH_RANKS", "2")), {},
                         environment.get_or("BENCH_BACKEND", "shm"));
  require_success(outcomes);
  std::fputs(outcomes[0].output.c_str(), stdout);
}
