// Operations whose waits return before they are over, as on a GPU, over Gloo: the host goes on, and learns of a peer that
// does not come all the same.
#include "hftrain/comm/work_watch.h"

#include <ATen/ops/zeros.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

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

// Of those who gave up for the word of those who have to learn of it first, on a busy machine.
constexpr std::chrono::seconds kLongPatience{6};

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
  int stood_in = 0;
  options.stand_in = [&stood_in](const c10::intrusive_ptr<c10d::Work>& work) {
    ++stood_in;
    return work;
  };
  const auto communicator = make_communicator(options, {{"early", make_early_backend}});
  const at::Tensor tensor = at::zeros({16}, at::kFloat);
  communicator->all_reduce(tensor, Reduction::kSum);
  CHECK(communicator->sum(1) == 3);  // over the host's own group: the early one would not have waited
  CHECK(stood_in == 1);
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
    // Of two survivors one may hear of it from the other.
    const std::string& why = error.diagnostics().front().why;
    CHECK((why == "its deadline passed" || why == "another rank gave up"));
  }
});

// The watch has a question to the store under way when rank 0 freezes, or asks it later; nobody answers it.
const RankBody kFrozenStore("the host runs ahead of a rank 0 that is frozen", [](const Rank& rank) {
  GroupOptions options = options_of(rank, nullptr);
  const auto found = std::make_shared<std::promise<std::string>>();
  options.lost = [found](const Error& error) { found->set_value(error.what()); };
  const auto communicator = make_communicator(options, {{"early", make_early_backend}});
  CHECK(communicator->sum(1) == 3);
  if (rank.rank() == 0) return rank.freeze();
  communicator->all_reduce(at::zeros({16}, at::kFloat), Reduction::kSum);
  std::future<std::string> what = found->get_future();
  if (what.wait_for(std::chrono::minutes(1)) != std::future_status::ready) rank.die();
  CHECK(what.get() == "all-reduce number 1 failed: no word from rank 0, which keeps the store");
});

// More than there is of addresses for the stack of one.
void allow_no_threads() {
  pthread_attr_t attributes;
  REQUIRE(::pthread_attr_init(&attributes) == 0);
  REQUIRE(::pthread_attr_setstacksize(&attributes, size_t{1} << 48) == 0);
  REQUIRE(::pthread_setattr_default_np(&attributes) == 0);
}

const RankBody kNoThread("a watch cannot ask the store", [](const Rank& rank) {
  GroupOptions options = options_of(rank, nullptr);
  const auto found = std::make_shared<std::promise<std::string>>();
  options.lost = [found](const Error& error) { found->set_value(error.what()); };
  const auto communicator = make_communicator(options, {{"early", make_early_backend}});
  CHECK(communicator->sum(1) == 2);
  if (rank.rank() == 1) return rank.hang();
  allow_no_threads();
  communicator->all_reduce(at::zeros({16}, at::kFloat), Reduction::kSum);
  CHECK(found->get_future().get().find("all-reduce number 1 failed: nobody could be asked: ") == 0);
});

const RankBody kBroken("the connection of a watched group breaks", [](const Rank& rank) {
  GroupOptions options = options_of(rank, nullptr);
  options.timeout = std::chrono::hours(1);
  options.patience = kLongPatience;
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
  // The first one was not waited for, so the dead rank may have left it undone.
  const std::string what = found.get_future().get();
  CAPTURE(what);
  CHECK((what == "all-reduce number 1 failed: no word from rank 2" ||
         what == "all-reduce number 2 failed: no word from rank 2"));
});

// Over at once, for the connection is broken, or never.
class BrokenOrNever final : public c10d::Work {
 public:
  explicit BrokenOrNever(bool broken) : broken_(broken) {}
  bool isCompleted() override { return broken_; }
  bool wait(std::chrono::milliseconds) override { return true; }
  std::exception_ptr exception() const override {
    return broken_ ? std::make_exception_ptr(std::runtime_error("connection reset")) : nullptr;
  }

 private:
  bool broken_;
};

// Under NCCL an abort need not reach the peers. Here it never does, and rank 0 of the world alone finds its connection
// broken.
class Unreached final : public c10d::Backend {
 public:
  explicit Unreached(const BackendRequest& request)
      : Backend(request.rank, request.world_size),
        broken_(request.members.front() == 0 && request.rank == 0) {}
  const std::string getBackendName() const override { return "unreached"; }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>&, const c10d::AllreduceOptions&) override {
    return c10::make_intrusive<BrokenOrNever>(broken_);
  }
  void abort() override {}

 private:
  bool broken_;
};

c10::intrusive_ptr<c10d::Backend> make_unreached_backend(const BackendRequest& request) {
  return c10::make_intrusive<Unreached>(request);
}

// What the watch of one of these groups has found, once `rank` has issued an operation in the last one that it is of.
std::string found_in(const Rank& rank, const std::vector<std::vector<int>>& groups) {
  GroupOptions options = options_of(rank, nullptr);
  options.timeout = std::chrono::hours(1);
  options.patience = kLongPatience;
  options.backend = "unreached";
  const auto found = std::make_shared<std::promise<std::string>>();
  options.lost = [found, told = std::make_shared<std::atomic<bool>>(false)](const Error& error) {
    if (!told->exchange(true)) found->set_value(error.what());
  };
  const auto world = make_communicator(options, {{"unreached", make_unreached_backend}});
  std::vector<std::unique_ptr<Communicator>> members;
  for (size_t i = 0; i < groups.size(); ++i) {
    const bool member = std::find(groups[i].begin(), groups[i].end(), rank.rank()) != groups[i].end();
    if (member) members.push_back(world->subgroup(groups[i], std::to_string(i)));
  }
  if (rank.rank() == 2) {
    rank.hang();
    return "";
  }
  const at::Tensor tensor = at::zeros({16}, at::kFloat);
  try {
    members.back()->all_reduce(tensor, Reduction::kSum);
  } catch (const Error& error) {  // where the watch was faster than this thread
    CHECK(error.code() == ExitCode::kWorkerLost);
  }
  std::future<std::string> what = found->get_future();
  if (what.wait_for(std::chrono::minutes(1)) != std::future_status::ready) return "nothing";
  return what.get();
}

const RankBody kInformed("a survivor waits for a survivor", [](const Rank& rank) {
  const std::string what = found_in(rank, {{0, 1, 2}});
  if (rank.rank() != 2) CHECK(what == "all-reduce number 1 of the group 0 failed: no word from rank 2");
});

// Rank 1 waits for rank 2, and rank 0 for rank 1, in groups of two.
const RankBody kElsewhere("a survivor waits in another group", [](const Rank& rank) {
  const std::string what = found_in(rank, {{0, 1}, {1, 2}});
  if (rank.rank() == 0)
    CHECK(what == "all-reduce number 1 of the group 0 failed: all ranks are alive but did not finish it");
  if (rank.rank() == 1) CHECK(what == "all-reduce number 1 of the group 1 failed: no word from rank 2");
});

// Of a rank 0 that has ended.
class GoneStore final : public c10d::HashStore {
 public:
  bool check(const std::vector<std::string>&) override {
    if (++questions == 1) asked.set_value();
    throw std::runtime_error("connection reset");
  }
  std::promise<void> asked;
  std::atomic<int> questions = 0;
};

class NeverOver final : public c10d::Work {
 public:
  bool isCompleted() override { return over; }
  std::atomic<bool> over = false;
};

// Over when it has been asked often enough; notes whether that was behind the shutdown of its group.
struct Leaving {
  std::atomic<bool> left = false, asked_behind = false;
};

class LastWork final : public c10d::Work {
 public:
  explicit LastWork(Leaving& leaving) : leaving_(leaving) {}
  bool isCompleted() override {
    if (leaving_.left) leaving_.asked_behind = true;
    return ++asked_ > 5;
  }
  bool wait(std::chrono::milliseconds) override { return true; }

 private:
  Leaving& leaving_;
  int asked_ = 0;
};

class LeavingBackend final : public c10d::Backend {
 public:
  LeavingBackend(const BackendRequest& request, Leaving& leaving)
      : Backend(request.rank, request.world_size), leaving_(leaving) {}
  const std::string getBackendName() const override { return "leaving"; }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>&, const c10d::AllreduceOptions&) override {
    return c10::make_intrusive<LastWork>(leaving_);
  }
  void shutdown() override {
    leaving_.left = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // in which a watch would look several times
  }
  void abort() override {}

 private:
  Leaving& leaving_;
};

// Lives as long as somebody keeps it, as the tensors of an operation then do.
class HoldingWork final : public c10d::Work {
 public:
  explicit HoldingWork(std::atomic<int>& alive) : alive_(alive) { ++alive_; }
  ~HoldingWork() override { --alive_; }
  HoldingWork(const HoldingWork&) = delete;
  HoldingWork& operator=(const HoldingWork&) = delete;
  bool isCompleted() override { return false; }
  bool wait(std::chrono::milliseconds) override { return true; }

 private:
  std::atomic<int>& alive_;
};

class HoldingBackend final : public c10d::Backend {
 public:
  HoldingBackend(const BackendRequest& request, std::atomic<int>& alive)
      : Backend(request.rank, request.world_size), alive_(alive) {}
  const std::string getBackendName() const override { return "holding"; }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>&, const c10d::AllreduceOptions&) override {
    return c10::make_intrusive<HoldingWork>(alive_);
  }
  c10::intrusive_ptr<c10d::Work> _reduce_scatter_base(at::Tensor&, at::Tensor&,
                                                      const c10d::ReduceScatterOptions&) override {
    return c10::make_intrusive<HoldingWork>(alive_);
  }
  void shutdown() override {}
  void abort() override {}

 private:
  std::atomic<int>& alive_;
};

BackendRequest watched_request() {
  BackendRequest request;
  request.rank = 0;
  request.world_size = 2;
  request.members = {0, 1};
  request.timeout = std::chrono::hours(1);
  request.watched = true;
  request.store = c10::make_intrusive<c10d::HashStore>();
  return request;
}

class Poisoned final : public c10d::Work {
 public:
  bool isCompleted() override {
    throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, 700, "an illegal memory access");
  }
  bool wait(std::chrono::milliseconds) override { return true; }
};

class PoisonedBackend final : public c10d::Backend {
 public:
  using Backend::Backend;
  const std::string getBackendName() const override { return "poisoned"; }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>&, const c10d::AllreduceOptions&) override {
    return c10::make_intrusive<Poisoned>();
  }
  void abort() override {}
};

}  // namespace

TEST_CASE("a rank that hangs is named though no host waits for it", "[process][alone]") {
  testing::require_success(testing::run_ranks("the host runs ahead of a rank that hangs", 3, {1}));
}

TEST_CASE("a rank 0 that is frozen with its store holds no watch", "[process][alone]") {
  testing::require_success(testing::run_ranks("the host runs ahead of a rank 0 that is frozen", 3, {0}));
}

TEST_CASE("a watch that gets no thread to ask the store on goes on without", "[process][alone]") {
  testing::require_success(testing::run_ranks("a watch cannot ask the store", 2, {1}));
}

TEST_CASE("a connection that breaks is noticed though no host waits for it", "[process]") {
  const auto outcomes = testing::run_ranks("the connection of a watched group breaks", 3);
  for (const size_t rank : {0, 1}) {
    INFO(outcomes[rank].output);
    CHECK(outcomes[rank].exit_status == 0);
  }
  CHECK(outcomes[2].signal == 9);
}

TEST_CASE("a survivor that waits for a survivor is not named with the rank that is gone", "[process]") {
  testing::require_success(testing::run_ranks("a survivor waits for a survivor", 3, {2}));
  testing::require_success(testing::run_ranks("a survivor waits in another group", 3, {2}));
}

TEST_CASE("a store that is gone is asked once whether another rank has given up") {
  BackendRequest request;
  request.rank = 1;
  request.world_size = 2;
  request.members = {0, 1};
  request.timeout = std::chrono::hours(1);
  request.watched = true;
  const auto store = c10::make_intrusive<GoneStore>();
  request.store = store;
  Communicator communicator(std::move(request), make_unreached_backend);
  communicator.all_reduce(at::zeros({16}, at::kFloat), Reduction::kSum);  // never over
  REQUIRE(store->asked.get_future().wait_for(std::chrono::minutes(1)) == std::future_status::ready);
  std::this_thread::sleep_for(std::chrono::seconds(2));  // in which there would be further questions
  CHECK(store->questions == 1);
}

TEST_CASE("a watch hears that another rank has given up, and asks only while an operation lasts") {
  std::promise<std::string> given_up;
  std::atomic<int> questions = 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto over = c10::make_intrusive<NeverOver>();
  over->over = true;
  WorkWatch watch(
      at::kCPU, std::chrono::hours(1), nullptr,
      [&](const WatchFault& fault) {
        CHECK_FALSE(fault.device_error);
        given_up.set_value(fault.operation.name + ": " + fault.why);
      },
      [&] { return ++questions == 2; });
  watch.add({"broadcast", 1, 4}, {over}, std::nullopt);
  watch.add({"all-reduce", 2, 4}, {c10::make_intrusive<NeverOver>()}, std::nullopt);
  std::future<std::string> told = given_up.get_future();
  REQUIRE(told.wait_for(std::chrono::minutes(1)) == std::future_status::ready);
  CHECK(told.get() == "all-reduce: another rank gave up");
  CHECK(questions == 2);
  // The first one half a second after the operation began, so that short ones cost nothing, and the other as much later.
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::seconds(1));
}

TEST_CASE("a deadline begins when the operation before is over", "[alone]") {
  constexpr std::chrono::seconds kDeadline{8}, kHalf{5};  // a machine may oversleep by three
  std::promise<Operation> given_up;
  const auto first = c10::make_intrusive<NeverOver>(), second = c10::make_intrusive<NeverOver>();
  StatusPage page = StatusPage::make();
  {
    WorkWatch watch(at::kCPU, kDeadline, &page,
                    [&](const WatchFault& fault) { given_up.set_value(fault.operation); });
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

TEST_CASE("a group is left when its last works are over, and nobody asks them meanwhile") {
  Leaving leaving;
  {
    Communicator communicator(watched_request(), [&](const BackendRequest& request) {
      return c10::intrusive_ptr<c10d::Backend>(c10::make_intrusive<LeavingBackend>(request, leaving));
    });
    for (int i = 0; i < 3; ++i) communicator.all_reduce(at::zeros({16}, at::kFloat), Reduction::kSum);
  }
  CHECK(leaving.left);
  CHECK_FALSE(leaving.asked_behind);
}

TEST_CASE("a work that somebody stands in for goes with the wait for it, and is watched on") {
  std::atomic<int> alive = 0;
  const auto over = c10::make_intrusive<NeverOver>();
  std::atomic<int> kept = 0;
  StatusPage page = StatusPage::make();
  BackendRequest request = watched_request();
  request.status = &page;
  request.stand_in = [&](const c10::intrusive_ptr<c10d::Work>& work) -> c10::intrusive_ptr<c10d::Work> {
    CHECK(alive == 1);
    CHECK(work);
    ++kept;
    return over;
  };
  Communicator communicator(std::move(request), [&](const BackendRequest& asked) {
    return c10::intrusive_ptr<c10d::Backend>(c10::make_intrusive<HoldingBackend>(asked, alive));
  });
  const at::Tensor whole = at::zeros({16}, at::kFloat), part = at::zeros({8}, at::kFloat);
  communicator.all_reduce(whole, Reduction::kSum);
  CHECK(alive == 0);
  communicator.reduce_scatter_async({part}, {whole}, Reduction::kSum).wait();
  CHECK(alive == 0);
  CHECK(kept == 2);
  const auto begin = std::chrono::steady_clock::now();
  while (page.read().waits == 0 && std::chrono::steady_clock::now() - begin < std::chrono::minutes(1))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(page.read().operation == "all-reduce");
  over->over = true;
}

TEST_CASE("a watch that is to rest keeps the deadline of what is under way", "[alone]") {
  std::promise<std::string> given_up;
  WorkWatch watch(at::kCPU, std::chrono::seconds(1), nullptr,
                  [&](const WatchFault& fault) { given_up.set_value(fault.why); });
  watch.add({"all-reduce", 1, 4}, {c10::make_intrusive<NeverOver>()}, std::nullopt);
  watch.rest(std::chrono::seconds(30));
  std::future<std::string> why = given_up.get_future();
  REQUIRE(why.wait_for(std::chrono::minutes(1)) == std::future_status::ready);
  CHECK(why.get() == "its deadline passed");
}

TEST_CASE("a device that cannot be asked any more is a failure of its operation") {
  std::promise<std::string> given_up;
  WorkWatch watch(at::kCPU, std::chrono::hours(1), nullptr, [&](const WatchFault& fault) {
    CHECK(fault.device_error);
    given_up.set_value(fault.operation.name + ": " + fault.why.substr(0, fault.why.find('\n')));
  });
  watch.add({"all-reduce", 1, 4}, {c10::make_intrusive<Poisoned>()}, std::nullopt);
  CHECK(given_up.get_future().get() == "all-reduce: an illegal memory access");
}

TEST_CASE("a device that failed is told at once as what it is, and nobody is asked before") {
  BackendRequest request;
  request.rank = 0;
  request.world_size = 2;
  request.members = {0, 1};
  request.patience = std::chrono::hours(1);  // of those who wait for the other's word
  request.timeout = std::chrono::hours(1);
  request.watched = true;
  const auto store = c10::make_intrusive<c10d::HashStore>();
  request.store = store;
  const auto told = std::make_shared<std::promise<Error>>();
  request.lost = [told](const Error& error) { told->set_value(error); };
  Communicator communicator(std::move(request),
                            [](const BackendRequest& asked) -> c10::intrusive_ptr<c10d::Backend> {
                              return c10::make_intrusive<PoisonedBackend>(asked.rank, asked.world_size);
                            });
  try {
    communicator.all_reduce(at::zeros({16}, at::kFloat), Reduction::kSum);
  } catch (const Error&) {
    // The watch has been faster than the call.
  }
  std::future<Error> found = told->get_future();
  REQUIRE(found.wait_for(std::chrono::minutes(1)) == std::future_status::ready);
  const Error error = found.get();
  CHECK(error.code() == ExitCode::kEnvironment);
  CHECK(std::string(error.what()) == "the device reported an error");
  store->wait({"hftrain/given-up"});  // the other rank hears of it
  CHECK_THROWS_WITH(communicator.all_reduce(at::zeros({16}, at::kFloat), Reduction::kSum),
                    "the device reported an error");
}

}  // namespace hftrain::comm
