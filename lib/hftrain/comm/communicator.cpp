#include "hftrain/comm/communicator.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "hftrain/comm/own_thread.h"
#include "hftrain/comm/trivial_backend.h"
#include "hftrain/runtime/thread_device.h"

namespace hftrain::comm {
namespace {

// For works that are still under way when a group is left: the ranks have met behind them.
constexpr std::chrono::seconds kLastWorks{5};

// Beyond what the backend waits by its own deadlines. NCCL, which has none, needs it on many machines.
constexpr std::chrono::minutes kLongestConnecting{5};

ConnectingGroup group_of(const BackendRequest& request) {
  return {request.store, request.members, request.rank, request.all_ranks};
}

RanksMissing stopped_connecting(const BackendRequest& request, const std::string& place) {
  const ConnectingGroup group = group_of(request);
  const bool of_all = request.stopped().value_or(StopWish{}).of_all;
  return stopped_waiting("stopped before the ranks had connected to each other over " + request.backend,
                         place, of_all ? left_behind(group) : not_connecting(group),
                         of_all ? request.all_ranks : request.world_size, request.stopped);
}

// Backends wait for their peers with deadlines of their own, in the store (which may not answer) or none (NCCL): the call owns all that
// it touches, and is left where nobody wants it any more.
c10::intrusive_ptr<c10d::Backend> connect_in_time(const BackendRequest& request,
                                                  const BackendMaker& connect) {
  return call_within(
      2 * request.timeout + kLongestConnecting,
      [request, connect] {
        runtime::work_for(request.device);
        begin_connecting(group_of(request));
        auto backend = connect(request);
        end_connecting(group_of(request));
        return backend;
      },
      is_stopped(request.stopped));
}

c10::intrusive_ptr<c10d::Backend> connect_backend(const BackendRequest& request,
                                                  const BackendMaker& connect) {
  if (request.world_size == 1) return c10::make_intrusive<TrivialBackend>();
  const std::string place = "rank " + std::to_string(request.members.at(static_cast<size_t>(request.rank)));
  try {
    return connect_in_time(request, connect);
  } catch (const Error&) {
    throw;
  } catch (const Unwanted&) {
    throw stopped_connecting(request, place);
  } catch (const std::exception& error) {
    const std::vector<int> absent = not_connecting(group_of(request)).value_or(std::vector<int>{});
    throw RanksMissing(
        Error(ExitCode::kWorkerLost, "the ranks could not connect to each other over " + request.backend)
            .where(place)
            .why((absent.empty()
                      ? ""
                      : "nothing was heard of " + name_missing_of(absent, request.world_size) + "; ") +
                 error.what())
            .hint("see whether the machines reach each other, and by which interface (GLOO_SOCKET_IFNAME, "
                  "NCCL_SOCKET_IFNAME)"),
        absent);
  }
}

}  // namespace

Communicator::Communicator(BackendRequest request, BackendMaker connect)
    : Communicator(std::move(request), std::move(connect), "", std::make_shared<Traffic>(),
                   std::make_shared<GivenUp>()) {}

Communicator::Communicator(BackendRequest request, BackendMaker connect, std::string name,
                           std::shared_ptr<Traffic> traffic, std::shared_ptr<GivenUp> given_up)
    : request_(std::move(request)),
      connect_(std::move(connect)),
      name_(std::move(name)),
      traffic_(std::move(traffic)),
      backend_(c10::make_intrusive<ObservedBackend>(connect_backend(request_, connect_), traffic_,
                                                    request_.status)),
      group_(c10::make_intrusive<c10d::ProcessGroup>(request_.store, rank(), world_size())),
      given_up_(std::move(given_up)) {
  group_->setBackend(device().type(), c10d::ProcessGroup::BackendType::CUSTOM, backend_);
  group_->setDefaultBackend(c10d::ProcessGroup::BackendType::CUSTOM);
  if (!given_up_->store) {
    given_up_->store = request_.store;
    given_up_->world_size = world_size();
  }
  if (!request_.watched || world_size() == 1) return;
  watch_ = std::make_unique<WorkWatch>(
      device(), request_.timeout, request_.status, [this](const WatchFault& fault) { give_up(fault); },
      [this] { return another_gave_up(); });
  backend_->watch_with(*watch_, device(), request_.stand_in);
}

// A group is left politely when the work is done: under NCCL that waits for all ranks. A rank that fails must not wait
// for those who wait for it.
Communicator::~Communicator() {
  try {
    if (std::uncaught_exceptions() > exceptions_before_) {
      backend_->abort();
    } else {
      // A work of NCCL that is asked whether it is over while its communicator goes may say that it has failed.
      if (watch_) watch_->rest(kLastWorks);
      backend_->shutdown();
    }
  } catch (const std::exception&) {
    // A lost peer has been reported by the operation that met it.
  }
  watch_.reset();  // before what it looks at
  // A sound store's answer is on its way, and threads had better not outlive main(); a frozen one has been waited for.
  if (question_.valid()) question_.wait_for(kWatchWaits);
}

std::unique_ptr<Communicator> Communicator::subgroup(const std::vector<int>& ranks,
                                                     const std::string& name) const {
  const auto own = std::find(ranks.begin(), ranks.end(), rank());
  if (own == ranks.end()) {
    throw Error(ExitCode::kInternal, "rank " + std::to_string(rank()) + " is not of the group " + name);
  }
  BackendRequest request = request_;
  request.rank = static_cast<int>(own - ranks.begin());
  request.world_size = static_cast<int>(ranks.size());
  if (request.store) request.store = c10::make_intrusive<c10d::PrefixStore>("group/" + name, request.store);
  request.members.clear();
  for (const int member : ranks) request.members.push_back(request_.members.at(static_cast<size_t>(member)));
  return std::unique_ptr<Communicator>(
      new Communicator(std::move(request), connect_, name, std::make_shared<Traffic>(traffic_), given_up_));
}

Communicator& Communicator::host() {
  throw_if_given_up();
  if (host_) return *host_;
  if (!request_.watched || world_size() == 1) return *this;
  throw Error(ExitCode::kInternal, "the group " + name_ + " of a GPU has no group of the host");
}

bool Communicator::is_alone() const {
  throw_if_given_up();
  return world_size() == 1;
}

}  // namespace hftrain::comm
