// Collective operations as library code calls them, over whatever backend the plan names.
//
//   Communicator communicator = ...make_communicator(options, builtin_backends());
//   communicator->all_reduce(losses, Reduction::kAverage);
//
// All ranks call the same operations in the same order. Tensors are contiguous and on the communicator's
// device; a world of one is no special case. Every operation has the deadline of the group. One that fails (a
// peer died or does not come) throws Error kWorkerLost naming the operation, its sequence number, this rank
// and the ranks that gave no word; after that the group is unusable. One thread issues operations at a time. On a GPU
// wait() returns early, and the failure is thrown by whatever comes next.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/comm/backend_table.h"
#include "hftrain/comm/observed_backend.h"
#include "hftrain/comm/store.h"

namespace hftrain::comm {

enum class Reduction { kSum, kAverage, kMaximum };  // kAverage: floating types only

class Communicator;

// An operation under way. wait() must be called: it is what reports failure and, on a GPU, orders the
// operation before what the current stream does next. Its tensors must not be touched before. Must not
// outlive the communicator.
class [[nodiscard]] PendingOperation {
 public:
  void wait();

 private:
  friend class Communicator;
  PendingOperation(const Communicator& communicator, Operation operation, ObservedBackend::Works works)
      : communicator_(&communicator), operation_(std::move(operation)), works_(std::move(works)) {}

  const Communicator* communicator_;
  Operation operation_;
  ObservedBackend::Works works_;
};

class Communicator {
 public:
  // See make_communicator. `connect` is kept for sub-groups; the request's store may be null in a world of
  // one.
  Communicator(BackendRequest request, BackendMaker connect);
  // Leaves the group; an exception on its way aborts it for everybody instead.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return backend_->getRank(); }
  int world_size() const { return backend_->getSize(); }
  c10::Device device() const { return request_.device; }

  // A group of some of this group's ranks, in the order given, over a transport of its own. Exactly these
  // ranks call it, all with the same list and a name that is used once; a group of one calls nobody. Errors
  // of the new group name the ranks as the outermost group knows them. Its bytes are counted here too. May
  // outlive this communicator.
  std::unique_ptr<Communicator> subgroup(const std::vector<int>& ranks, const std::string& name) const;

  // In place, on every rank. `tensor` has the same shape and dtype everywhere.
  void all_reduce(const at::Tensor& tensor, Reduction reduction);
  PendingOperation all_reduce_async(const at::Tensor& tensor, Reduction reduction);
  // Overwrites `tensor` with rank `root`'s.
  void broadcast(const at::Tensor& tensor, int root);
  PendingOperation broadcast_async(const at::Tensor& tensor, int root);
  // output = the inputs of all ranks one after the other; output.numel() == world_size * input.numel().
  void all_gather(const at::Tensor& output, const at::Tensor& input);
  PendingOperation all_gather_async(const at::Tensor& output, const at::Tensor& input);
  // output = this rank's part of the reduced inputs; input.numel() == world_size * output.numel().
  void reduce_scatter(const at::Tensor& output, const at::Tensor& input, Reduction reduction);
  PendingOperation reduce_scatter_async(const at::Tensor& output, const at::Tensor& input,
                                        Reduction reduction);
  // The same for many pairs of tensors as one operation; dtypes and sizes may differ from pair to pair.
  PendingOperation all_gather_async(const std::vector<at::Tensor>& outputs,
                                    const std::vector<at::Tensor>& inputs);
  PendingOperation reduce_scatter_async(const std::vector<at::Tensor>& outputs,
                                        const std::vector<at::Tensor>& inputs, Reduction reduction);
  // An all-gather whose result only `root` keeps. The output of the other ranks is not looked at.
  void gather(const at::Tensor& output, const at::Tensor& input, int root);
  // Part i of the input goes to rank i; part i of the output came from there. Equal sizes.
  void all_to_all(const at::Tensor& output, const at::Tensor& input);
  // Returns when all ranks have called it.
  void barrier();

  // Single numbers and texts of the host; these wait for the result, over host(), and for nothing that a device does. One rank alone has it.
  double sum(double value);
  int64_t maximum(int64_t value);
  std::vector<std::string> all_gather_text(const std::string& text);  // by rank

  // The same ranks with tensors of the CPU: this group, and on a GPU one over TCP beside it.
  // Of a sub-group on a GPU there is none.
  Communicator& host();

  // For LibTorch's Reducer. Its operations are counted too.
  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const { return group_; }
  // Runs code that communicates through process_group(), such as a backward pass, and gives its failures the
  // meaning described above.
  template <typename Callable>
  decltype(auto) guard(Callable&& callable) const {
    try {
      return std::forward<Callable>(callable)();
    } catch (...) {
      rethrow(std::current_exception(), backend_->last_operation());
    }
  }

  // By this rank since the start, sub-groups included, by the cost of ring algorithms (observed_backend.h).
  int64_t bytes_sent() const { return traffic_->bytes(); }

 private:
  friend class PendingOperation;
  friend std::unique_ptr<Communicator> make_communicator(const struct GroupOptions&, const BackendTable&);
  // What the watch of any of a group, its sub-groups and its host's group has found: none of them goes on.
  struct GivenUp {
    // Of the outermost group: where all ranks hear of it.
    c10::intrusive_ptr<c10d::Store> store;
    int world_size = 1;
    std::atomic<bool> store_gone = false;  // a watch has seen it
    std::mutex mutex;
    std::optional<Error> error;
  };

  Communicator(BackendRequest request, BackendMaker connect, std::string name,
               std::shared_ptr<Traffic> traffic, std::shared_ptr<GivenUp> given_up);
  // Issues what `start` returns.
  template <typename Start>
  PendingOperation issue(const Start& start) const;
  [[noreturn]] void rethrow(const std::exception_ptr& failure, const Operation& operation) const;
  Error lost(const std::string& why, const Operation& operation) const;
  // The same without waking anybody but the watches of other ranks.
  Error name_missing(const std::string& why, const Operation& operation) const;
  // Of any group. On the watch's thread, which looks at its operations again soon, whether the store answers or not.
  bool another_gave_up();
  // On the watch's thread.
  void give_up(const WatchFault& fault);
  // Sets the word in the store that another rank's another_gave_up looks for; throws where the store does not answer.
  void mark_given_up() const;
  void throw_if_given_up() const;
  bool is_alone() const;
  void check(const at::Tensor& tensor) const;
  void check_parts(const at::Tensor& whole, const at::Tensor& part) const;

  BackendRequest request_;
  BackendMaker connect_;
  std::string name_;  // of a sub-group
  std::shared_ptr<Traffic> traffic_;
  c10::intrusive_ptr<ObservedBackend> backend_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  int exceptions_before_ = std::uncaught_exceptions();
  std::shared_ptr<GivenUp> given_up_;
  std::future<bool> question_;        // to the store, of the watch's thread
  std::unique_ptr<WorkWatch> watch_;  // null where wait() waits
  std::unique_ptr<Communicator> host_;
};

struct GroupOptions {
  int rank = 0;
  int world_size = 1;
  bool one_machine = true;
  std::string backend = "gloo";  // unused in a world of one
  c10::Device device{c10::DeviceType::CPU};
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
  // How long the report of a failure waits for word from the other ranks, all of which notice at about the same
  // time. Who is later, as on a machine with far more to do than it has processors for, is named with the dead.
  std::chrono::milliseconds patience{1000};
  StoreAddress store{};  // unused in a world of one
  // By which Gloo talks to other nodes: names joined by commas (GLOO_SOCKET_IFNAME); empty: the one that leads to
  // rank 0.
  std::string interfaces{};
  StatusPage* status = nullptr;  // where operations are noted; null: nowhere
  // As a GPU's group is: see BackendRequest; numbers of the host go over a group of their own.
  bool watched = false;
  std::function<void(const Error&)> lost{};
  WorkWatch::StandIn stand_in{};  // see BackendRequest
  // Asked while the ranks find each other and connect, sub-groups' too, which may take as long as `timeout`.
  StopReason stopped{};
};

// Opens the store and connects all ranks. kWorkerLost when a rank does not come within the deadline, kTerminatedUnsaved when the
// run is stopped before they have come or connected; either names the ranks that had not.
std::unique_ptr<Communicator> make_communicator(const GroupOptions& options, const BackendTable& backends);

// Ends the run before it starts if ranks have read different plans: kEnvironment, naming the ranks that
// differ from rank 0.
void agree_on_plan(Communicator& communicator, const std::string& plan_hash);

}  // namespace hftrain::comm
