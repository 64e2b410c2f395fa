// Operations whose waits return before they are over, as on a GPU, over Gloo: the host goes on, and learns of a peer that
// does not come all the same.
#include "hftrain/comm/work_watch.h"

#include <ATen/ops/zeros.h>

#include <future>
#include <stdexcept>

#include "comm/rank_processes.h"
#include "hftrain/base/error.h"
#include "hftrain/comm/communicator.h"
#include "hftrain/comm/gloo_backend.h"
#include "support/catch.h"

namespace hftrain::comm {
namespace {

using testing::Rank;
using testing::RankBody;

// Of a stream: nobody is held up by waiting for it.
class EarlyWork final : public c10d::Work {
 public:
  explicit EarlyWork(c10::intrusive_ptr<c10d::Work> work) : work_(std::move(work)) {}
  bool isCompleted() override { return work_->isCompleted(); }
  bool wait(std::chrono::milliseconds) override { return true; }
  std::exception_ptr exception() const override { return work_->exception(); }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
};

class EarlyBackend final : public c10d::Backend {
 public:
  explicit EarlyBackend(c10::intrusive_ptr<c10d::Backend> gloo)
      : Backend(gloo->getRank(), gloo->getSize()), gloo_(std::move(gloo)) {}
  // Gloo's destructor waits for operations that began after the abort, as long as its deadline is.
  ~EarlyBackend() override { static_cast<void>(gloo_.release()); }
  EarlyBackend(const EarlyBackend&) = delete;
  EarlyBackend& operator=(const EarlyBackend&) = delete;
  const std::string getBackendName() const override { return "early"; }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    return c10::make_intrusive<EarlyWork>(gloo_->allreduce(tensors, options));
  }
  void abort() override { gloo_->abort(); }

 private:
  c10::intrusive_ptr<c10d::Backend> gloo_;
};

// Gloo's own deadline never comes.
c10::intrusive_ptr<c10d::Backend> make_early_backend(BackendRequest request) {
  request.timeout = std::chrono::hours(1);
  return c10::make_intrusive<EarlyBackend>(make_gloo_backend(request));
}

GroupOptions options_of(const Rank& rank, StatusPage* status) {
  GroupOptions options;
  options.rank = rank.rank();
  options.world_size = rank.world_size();
  options.backend = "early";
  options.timeout = std::chrono::seconds(3);
  options.patience = std::chrono::seconds(3);
  options.store = rank.store();
  options.status = status;
  options.watched = true;
  return options;
}

const RankBody kSpinning("the host runs ahead of a rank that hangs", [](const Rank& rank) {
  StatusPage page = StatusPage::make();
  GroupOptions options = options_of(rank, &page);
  std::promise<std::string> found;
  options.lost = [&found](const Error& error) { found.set_value(error.what()); };
  const auto communicator = make_communicator(options, {{"early", make_early_backend}});
  const at::Tensor tensor = at::zeros({16}, at::kFloat);
  communicator->all_reduce(tensor, Reduction::kSum);
  CHECK(communicator->sum(1) == 3);  // over the host's own group: the early one would not have waited
  if (rank.rank() == 1) return rank.hang();
  communicator->all_reduce(tensor, Reduction::kSum);
  communicator->all_reduce(tensor, Reduction::kSum);  // issued, and never reached
  const std::string what = found.get_future().get();
  CHECK(what == "all-reduce number 2 failed: no word from rank 1");
  const WorkStatus status = page.read();
  CHECK(status.operations == 3);  // two of this group, and the sum
  CHECK(status.waits == 1);
  try {
    communicator->all_reduce(tensor, Reduction::kSum);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kWorkerLost);
    CHECK(what == error.what());
    CHECK(error.diagnostics().front().why == "its deadline passed");
  }
});

const RankBody kBroken("the connection of a watched group breaks", [](const Rank& rank) {
  GroupOptions options = options_of(rank, nullptr);
  options.timeout = std::chrono::hours(1);
  std::promise<std::string> found;
  options.lost = [&found](const Error& error) { found.set_value(error.what()); };
  const auto communicator = make_communicator(options, {{"early", make_early_backend}});
  const at::Tensor tensor = at::zeros({16}, at::kFloat);
  CHECK(communicator->sum(1) == 3);  // all are connected: who dies before that is met by the connecting
  try {
    communicator->all_reduce(tensor, Reduction::kSum);
    if (rank.rank() == 2) rank.die();
    communicator->all_reduce(tensor, Reduction::kSum);
  } catch (const Error& error) {  // where the watch was faster than this thread, at either of them
    CHECK(error.code() == ExitCode::kWorkerLost);
  }
  // The first one was not waited for, so the dead rank may have left it undone; and a survivor that waits for the other, not for
  // the dead, learns of it from the other's abort, which comes when those without a word are named.
  const std::string what = found.get_future().get();
  CAPTURE(what);
  CHECK((what.starts_with("all-reduce number 1 failed: no word from rank") ||
         what.starts_with("all-reduce number 2 failed: no word from rank")));
  CHECK(what.ends_with(" 2"));
});

class NeverOver final : public c10d::Work {
 public:
  bool isCompleted() override { return over; }
  std::atomic<bool> over = false;
};

class Poisoned final : public c10d::Work {
 public:
  bool isCompleted() override { throw std::runtime_error("an illegal memory access"); }
};

}  // namespace

TEST_CASE("a rank that hangs is named though no host waits for it", "[process][alone]") {
  testing::require_success(testing::run_ranks("the host runs ahead of a rank that hangs", 3, {1}));
}

TEST_CASE("a connection that breaks is noticed though no host waits for it", "[process]") {
  const auto outcomes = testing::run_ranks("the connection of a watched group breaks", 3);
  for (const size_t rank : {0, 1}) {
    INFO(outcomes[rank].output);
    CHECK(outcomes[rank].exit_status == 0);
  }
  CHECK(outcomes[2].signal == 9);
}

TEST_CASE("a deadline begins when the operation before is over", "[alone]") {
  constexpr std::chrono::seconds kDeadline{8}, kHalf{5};  // a machine may oversleep by three
  std::promise<Operation> given_up;
  const auto first = c10::make_intrusive<NeverOver>(), second = c10::make_intrusive<NeverOver>();
  StatusPage page = StatusPage::make();
  {
    WorkWatch watch(at::kCPU, kDeadline, &page,
                    [&](const Operation& operation, const std::string&) { given_up.set_value(operation); });
    watch.add({"all-reduce", 1, 4}, {first}, std::nullopt);
    watch.add({"broadcast", 2, 4}, {second}, std::nullopt);
    std::this_thread::sleep_for(kHalf);
    CHECK(page.read().operation == "all-reduce");
    CHECK(page.read().waits == 1);
    first->over = true;
    std::this_thread::sleep_for(kHalf);  // longer than the deadline since both were issued
    CHECK(page.read().operation == "broadcast");
    second->over = true;
  }
  CHECK(page.read().waits == 0);
  CHECK(page.read().operations == 2);
  CHECK(given_up.get_future().wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
}

TEST_CASE("a device that cannot be asked any more is a failure of its operation") {
  std::promise<std::string> given_up;
  WorkWatch watch(at::kCPU, std::chrono::hours(1), nullptr,
                  [&](const Operation& operation, const std::string& why) {
                    given_up.set_value(operation.name + ": " + why);
                  });
  watch.add({"all-reduce", 1, 4}, {c10::make_intrusive<Poisoned>()}, std::nullopt);
  CHECK(given_up.get_future().get() == "all-reduce: an illegal memory access");
}

}  // namespace hftrain::comm
