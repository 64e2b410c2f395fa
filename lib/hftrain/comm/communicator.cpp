#include "hftrain/comm/communicator.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <system_error>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "hftrain/comm/own_thread.h"
#include "hftrain/comm/trivial_backend.h"
#include "hftrain/comm/waited.h"
#include "hftrain/runtime/translate.h"

namespace hftrain::comm {
namespace {

// In the store, once a rank has given up an operation.
constexpr const char* kGivenUpKey = "hftrain/given-up";
// For the store to answer, of which a sound one on a busy machine needs little. As a watch waits for it no operation is looked
// at.
constexpr std::chrono::milliseconds kWatchWaits{200};

c10d::ReduceOp operator_of(Reduction reduction, const at::Tensor& tensor) {
  switch (reduction) {
    case Reduction::kSum:
      return c10d::ReduceOp::SUM;
    case Reduction::kMaximum:
      return c10d::ReduceOp::MAX;
    case Reduction::kAverage:
      if (tensor.is_floating_point()) return c10d::ReduceOp::AVG;
      throw Error(ExitCode::kInternal, "an average of integers is not defined");
  }
  throw Error(ExitCode::kInternal, "unknown reduction");
}

c10::intrusive_ptr<c10d::Backend> connect_trivially(const BackendRequest&) {
  return c10::make_intrusive<TrivialBackend>();
}

c10::intrusive_ptr<c10d::Backend> connect_backend(const BackendRequest& request,
                                                  const BackendMaker& connect) {
  try {
    return connect(request);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ExitCode::kWorkerLost, "the ranks could not connect to each other over " + request.backend)
        .where("rank " + std::to_string(request.members.at(static_cast<size_t>(request.rank))))
        .why(error.what())
        .hint(
            "see whether the machines reach each other, and by which interface (GLOO_SOCKET_IFNAME, "
            "NCCL_SOCKET_IFNAME)");
  }
}

std::vector<int> first_ranks(int count) {
  std::vector<int> ranks(static_cast<size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

at::Tensor flat(const at::Tensor& tensor) {
  return tensor.dim() == 1 ? tensor : tensor.view(-1);
}

std::vector<at::Tensor> flat(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> views;
  for (const at::Tensor& tensor : tensors) views.push_back(flat(tensor));
  return views;
}

void check_lists(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs) {
  if (outputs.size() == inputs.size()) return;
  throw Error(ExitCode::kInternal, "a collective got lists of different length")
      .why(std::to_string(outputs.size()) + " outputs, " + std::to_string(inputs.size()) + " inputs");
}

}  // namespace

void PendingOperation::wait() {
  try {
    const CountsAsWaiting waiting;
    for (const auto& work : works_) work->wait();
  } catch (...) {
    communicator_->rethrow(std::current_exception(), operation_);
  }
  works_.clear();
  communicator_->throw_if_given_up();
}

Communicator::Communicator(BackendRequest request, BackendMaker connect)
    : Communicator(std::move(request), std::move(connect), "", std::make_shared<Traffic>(),
                   std::make_shared<GivenUp>()) {}

Communicator::Communicator(BackendRequest request, BackendMaker connect, std::string name,
                           std::shared_ptr<Traffic> traffic, std::shared_ptr<GivenUp> given_up)
    : request_(std::move(request)),
      connect_(std::move(connect)),
      name_(std::move(name)),
      traffic_(std::move(traffic)),
      backend_(c10::make_intrusive<ObservedBackend>(
          connect_backend(request_, request_.world_size == 1 ? connect_trivially : connect_), traffic_,
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
  backend_->watch_with(*watch_, device());
}

// A group is left politely when the work is done: under NCCL that waits for all ranks. A rank that fails must not wait
// for those who wait for it.
Communicator::~Communicator() {
  try {
    if (std::uncaught_exceptions() > exceptions_before_) {
      backend_->abort();
    } else {
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

void Communicator::check(const at::Tensor& tensor) const {
  if (tensor.is_contiguous() && tensor.device().type() == device().type()) return;
  throw Error(ExitCode::kInternal, "a collective got a tensor that is not contiguous or on another device")
      .why("tensor on " + tensor.device().str() + ", group on " + device().str());
}

void Communicator::check_parts(const at::Tensor& whole, const at::Tensor& part) const {
  check(whole);
  check(part);
  if (whole.numel() == part.numel() * world_size() && whole.scalar_type() == part.scalar_type()) return;
  throw Error(ExitCode::kInternal, "a collective got tensors that do not match")
      .why("the whole has " + std::to_string(whole.numel()) + " elements, each of " +
           std::to_string(world_size()) + " parts " + std::to_string(part.numel()));
}

template <typename Start>
PendingOperation Communicator::issue(const Start& start) const {
  throw_if_given_up();
  return guard([&] {
    ObservedBackend::Works works = start();
    return PendingOperation(*this, backend_->last_operation(), std::move(works));
  });
}

PendingOperation Communicator::all_reduce_async(const at::Tensor& tensor, Reduction reduction) {
  check(tensor);
  c10d::AllreduceOptions options;
  options.reduceOp = operator_of(reduction, tensor);
  std::vector<at::Tensor> tensors{tensor};
  return issue([&] { return ObservedBackend::Works{backend_->allreduce(tensors, options)}; });
}

PendingOperation Communicator::broadcast_async(const at::Tensor& tensor, int root) {
  check(tensor);
  c10d::BroadcastOptions options;
  options.rootRank = root;
  std::vector<at::Tensor> tensors{tensor};
  return issue([&] { return ObservedBackend::Works{backend_->broadcast(tensors, options)}; });
}

PendingOperation Communicator::all_gather_async(const at::Tensor& output, const at::Tensor& input) {
  check_parts(output, input);
  at::Tensor target = flat(output), source = flat(input);
  return issue([&] { return ObservedBackend::Works{backend_->_allgather_base(target, source, {})}; });
}

PendingOperation Communicator::reduce_scatter_async(const at::Tensor& output, const at::Tensor& input,
                                                    Reduction reduction) {
  check_parts(input, output);
  c10d::ReduceScatterOptions options;
  options.reduceOp = operator_of(reduction, input);
  at::Tensor target = flat(output), source = flat(input);
  return issue(
      [&] { return ObservedBackend::Works{backend_->_reduce_scatter_base(target, source, options)}; });
}

PendingOperation Communicator::all_gather_async(const std::vector<at::Tensor>& outputs,
                                                const std::vector<at::Tensor>& inputs) {
  check_lists(outputs, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) check_parts(outputs[i], inputs[i]);
  return issue([&] { return backend_->all_gather_pairs(flat(outputs), flat(inputs)); });
}

PendingOperation Communicator::reduce_scatter_async(const std::vector<at::Tensor>& outputs,
                                                    const std::vector<at::Tensor>& inputs,
                                                    Reduction reduction) {
  check_lists(outputs, inputs);
  c10d::ReduceScatterOptions options;
  for (size_t i = 0; i < outputs.size(); ++i) {
    check_parts(inputs[i], outputs[i]);
    options.reduceOp = operator_of(reduction, inputs[i]);
  }
  return issue([&] { return backend_->reduce_scatter_pairs(flat(outputs), flat(inputs), options); });
}

void Communicator::all_reduce(const at::Tensor& tensor, Reduction reduction) {
  all_reduce_async(tensor, reduction).wait();
}
void Communicator::broadcast(const at::Tensor& tensor, int root) {
  broadcast_async(tensor, root).wait();
}
void Communicator::all_gather(const at::Tensor& output, const at::Tensor& input) {
  all_gather_async(output, input).wait();
}
void Communicator::reduce_scatter(const at::Tensor& output, const at::Tensor& input, Reduction reduction) {
  reduce_scatter_async(output, input, reduction).wait();
}

void Communicator::gather(const at::Tensor& output, const at::Tensor& input, int root) {
  check(input);
  c10d::GatherOptions options;
  options.rootRank = root;
  std::vector<std::vector<at::Tensor>> outputs;
  if (root == rank()) {
    check_parts(output, input);
    outputs.push_back(output.view({world_size(), input.numel()}).unbind());
  }
  std::vector<at::Tensor> inputs{flat(input)};
  issue([&] { return ObservedBackend::Works{backend_->gather(outputs, inputs, options)}; }).wait();
}

void Communicator::all_to_all(const at::Tensor& output, const at::Tensor& input) {
  check(output);
  check(input);
  if (output.numel() != input.numel() || output.scalar_type() != input.scalar_type() ||
      input.numel() % world_size() != 0) {
    throw Error(ExitCode::kInternal, "an all-to-all got tensors that do not match")
        .why(std::to_string(input.numel()) + " elements in, " + std::to_string(output.numel()) +
             " out, in parts for " + std::to_string(world_size()) + " ranks");
  }
  at::Tensor target = flat(output), source = flat(input);
  std::vector<int64_t> equal;
  issue([&] {
    return ObservedBackend::Works{backend_->alltoall_base(target, source, equal, equal, {})};
  }).wait();
}

void Communicator::barrier() {
  c10d::BarrierOptions options;
  if (!device().is_cpu()) options.device = device();
  issue([&] { return ObservedBackend::Works{backend_->barrier(options)}; }).wait();
}

// One rank alone asks nobody, and so no device: neither here nor in the two below.
double Communicator::sum(double value) {
  if (is_alone()) return value;
  const at::Tensor total = at::full({1}, value, at::TensorOptions(host().device()).dtype(at::kDouble));
  host().all_reduce(total, Reduction::kSum);
  return total.item<double>();
}

int64_t Communicator::maximum(int64_t value) {
  if (is_alone()) return value;
  const at::Tensor largest = at::full({1}, value, at::TensorOptions(host().device()).dtype(at::kLong));
  host().all_reduce(largest, Reduction::kMaximum);
  return largest.item<int64_t>();
}

std::vector<std::string> Communicator::all_gather_text(const std::string& text) {
  if (is_alone()) return {text};
  const auto integers = at::TensorOptions(host().device()).dtype(at::kLong);
  const at::Tensor lengths = at::empty({world_size()}, integers);
  host().all_gather(lengths, at::full({1}, static_cast<int64_t>(text.size()), integers));
  const at::Tensor sizes = lengths.cpu();
  const int64_t longest = sizes.max().item<int64_t>();

  const at::Tensor padded = at::zeros({longest}, at::kByte);
  if (!text.empty()) std::memcpy(padded.mutable_data_ptr(), text.data(), text.size());
  const at::Tensor gathered = at::empty({world_size(), longest}, padded.options().device(host().device()));
  host().all_gather(gathered, padded.to(host().device()));

  const at::Tensor rows = gathered.cpu();
  std::vector<std::string> texts;
  for (int64_t row = 0; row < world_size(); ++row) {
    texts.emplace_back(static_cast<const char*>(rows.const_data_ptr()) + row * longest,
                       static_cast<size_t>(sizes[row].item<int64_t>()));
  }
  return texts;
}

// Gloo throws std::runtime_error, LibTorch's groups and stores c10::DistError. What else comes out of a
// backward pass or a wrong call is not about communication and passes unchanged.
void Communicator::rethrow(const std::exception_ptr& failure, const Operation& operation) const {
  throw_if_given_up();  // what the watch has aborted fails for its reason
  try {
    std::rethrow_exception(failure);
  } catch (const c10::DistError& error) {
    throw lost(error.what_without_backtrace(), operation);
  } catch (const std::runtime_error& error) {
    throw lost(error.what(), operation);
  }
}

// Whoever comes to an operation meanwhile waits until it is known who is missing; the launcher knows it before the abort,
// which itself may wait, lets go of hosts that wait for the device. So the others do not learn of it by the abort, which
// under NCCL need not reach them either: their watches look for it (another_gave_up), and they say in time that they are
// alive.
// A device that failed says itself what is the matter: nobody is asked, and the others hear of it behind that.
void Communicator::give_up(const WatchFault& fault) {
  {
    const std::lock_guard lock(given_up_->mutex);
    if (!given_up_->error)
      given_up_->error = fault.device_error ? runtime::translate(fault.device_error)
                                            : name_missing(fault.why, fault.operation);
    if (request_.lost) request_.lost(*given_up_->error);
  }
  try {
    if (fault.device_error) mark_given_up();
  } catch (const std::exception&) {
    // They have deadlines.
  }
  try {
    backend_->abort();
  } catch (const std::exception&) {
    // It is told already.
  }
}

void Communicator::throw_if_given_up() const {
  const std::lock_guard lock(given_up_->mutex);
  if (given_up_->error) throw Error(*given_up_->error);
}

bool Communicator::is_alone() const {
  throw_if_given_up();
  return world_size() == 1;
}

Communicator& Communicator::host() {
  throw_if_given_up();
  if (host_) return *host_;
  if (!request_.watched || world_size() == 1) return *this;
  throw Error(ExitCode::kInternal, "the group " + name_ + " of a GPU has no group of the host");
}

Error Communicator::lost(const std::string& why, const Operation& operation) const {
  try {
    backend_->abort();  // so that ranks which wait for others than the dead learn of it, too
  } catch (const std::exception&) {
    // The operation has failed without it.
  }
  return name_missing(why, operation);
}

// A client does one thing at a time, and this rank may be asking for another group.
void Communicator::mark_given_up() const {
  call_within(request_.patience + kStoreAnswers,
              [store = given_up_->store] { store->set(kGivenUpKey, std::vector<uint8_t>{1}); });
}

Error Communicator::name_missing(const std::string& why, const Operation& operation) const {
  std::string what = operation.name + " number " + std::to_string(operation.sequence) +
                     (name_.empty() ? "" : " of the group " + name_) + " failed: ";
  try {
    // Of all ranks, for one of this group that waits in vain in another one is alive.
    const std::vector<int>& members = request_.members;
    mark_given_up();
    std::vector<int> silent = missing_at(given_up_->store, "failed", members[static_cast<size_t>(rank())],
                                         given_up_->world_size, request_.patience);
    std::erase_if(
        silent, [&](int other) { return std::find(members.begin(), members.end(), other) == members.end(); });
    what +=
        silent.empty() ? "all ranks are alive but did not finish it" : "no word from " + name_ranks(silent);
  } catch (const std::system_error& error) {
    what += std::string("nobody could be asked: ") + error.what();  // no thread can be had
  } catch (const std::exception&) {
    what += "no word from rank 0, which keeps the store";
  }
  return Error(ExitCode::kWorkerLost, std::move(what))
      .where("rank " + std::to_string(request_.members[static_cast<size_t>(rank())]))
      .why(why)
      .hint("the deadline of collective operations is --ddp_timeout, now " +
            std::to_string(std::chrono::duration_cast<std::chrono::seconds>(request_.timeout).count()) +
            " s");
}

// Where the store is gone, so is rank 0: the operation itself will tell of it. The connection is not made again, and LibTorch
// writes a stack into this rank's log whenever it is used: it is asked no more.
bool Communicator::another_gave_up() {
  if (given_up_->store_gone) return false;
  try {
    if (!question_.valid()) {
      question_ = begin_on_own_thread([store = given_up_->store] { return store->check({kGivenUpKey}); });
    }
    if (question_.wait_for(kWatchWaits) != std::future_status::ready) return false;
    return question_.get();
  } catch (const std::system_error&) {
    return false;  // no thread can be had now: it is asked again
  } catch (const std::exception&) {
    given_up_->store_gone = true;
    return false;
  }
}

std::unique_ptr<Communicator> make_communicator(const GroupOptions& options, const BackendTable& backends) {
  BackendRequest request{.store = nullptr,
                         .backend = options.backend,
                         .rank = options.rank,
                         .world_size = options.world_size,
                         .members = first_ranks(options.world_size),
                         .one_machine = options.one_machine,
                         .master_host = options.store.host,
                         .interfaces = options.interfaces,
                         .device = options.device,
                         .timeout = options.timeout,
                         .patience = options.patience,
                         .status = options.status,
                         .watched = options.watched || !options.device.is_cpu(),
                         .lost = options.lost};
  if (options.world_size == 1) return std::make_unique<Communicator>(request, connect_trivially);
  const auto maker = backends.find(options.backend);
  if (maker == backends.end()) {
    throw Error(ExitCode::kInternal, "there is no communication backend of the name " + options.backend);
  }
  request.store = open_store(options.store, options.rank, options.world_size, options.timeout);
  auto communicator = std::make_unique<Communicator>(request, maker->second);
  if (!request.watched) return communicator;
  request.store = c10::make_intrusive<c10d::PrefixStore>("host", request.store);
  request.device = c10::Device(c10::DeviceType::CPU);
  request.watched = false;
  request.backend = "gloo";
  communicator->host_.reset(new Communicator(std::move(request), builtin_backends().at("gloo"), "host",
                                             std::make_shared<Traffic>(communicator->traffic_),
                                             communicator->given_up_));
  return communicator;
}

void agree_on_plan(Communicator& communicator, const std::string& plan_hash) {
  const std::vector<std::string> hashes = communicator.all_gather_text(plan_hash);
  std::vector<int> different;
  for (int rank = 1; rank < communicator.world_size(); ++rank) {
    if (hashes[static_cast<size_t>(rank)] != hashes[0]) different.push_back(rank);
  }
  if (different.empty()) return;
  throw Error(ExitCode::kEnvironment, name_ranks(different) + " read another plan than rank 0")
      .where("OUTPUT_DIR/hftrain/plan.json")
      .why("plan " + hashes[static_cast<size_t>(different.front())] + " against " + hashes[0])
      .hint("all nodes must run the same build of hftrain and see the same output folder");
}

}  // namespace hftrain::comm
