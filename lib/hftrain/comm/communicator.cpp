#include "hftrain/comm/communicator.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <stdexcept>

#include "hftrain/comm/trivial_backend.h"

namespace hftrain::comm {
namespace {

// How long the report of a failure may wait for word from the other ranks. All of them notice at about the
// same time.
constexpr std::chrono::milliseconds kPatience{300};

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

void check_parts(const at::Tensor& whole, const at::Tensor& part, int world_size) {
  if (whole.numel() != part.numel() * world_size || whole.scalar_type() != part.scalar_type()) {
    throw Error(ExitCode::kInternal, "a collective got tensors that do not match")
        .why("the whole has " + std::to_string(whole.numel()) + " elements, each of " +
             std::to_string(world_size) + " parts " + std::to_string(part.numel()));
  }
}

}  // namespace

void PendingOperation::wait() {
  if (!work_) return;
  try {
    work_->wait();
  } catch (...) {
    communicator_->rethrow(std::current_exception(), operation_);
  }
  work_.reset();
}

Communicator::Communicator(c10::intrusive_ptr<c10d::Store> store, c10::intrusive_ptr<c10d::Backend> backend,
                           c10::Device device, std::chrono::milliseconds timeout)
    : store_(std::move(store)),
      backend_(c10::make_intrusive<ObservedBackend>(std::move(backend))),
      group_(c10::make_intrusive<c10d::ProcessGroup>(store_, rank(), world_size())),
      device_(device),
      timeout_(timeout) {
  group_->setBackend(device.type(), c10d::ProcessGroup::BackendType::CUSTOM, backend_);
  group_->setDefaultBackend(c10d::ProcessGroup::BackendType::CUSTOM);
}

Communicator::~Communicator() {
  try {
    backend_->shutdown();
  } catch (const std::exception&) {
    // A lost peer has been reported by the operation that met it.
  }
}

void Communicator::check(const at::Tensor& tensor) const {
  if (tensor.is_contiguous() && tensor.device().type() == device_.type()) return;
  throw Error(ExitCode::kInternal, "a collective got a tensor that is not contiguous or on another device")
      .why("tensor on " + tensor.device().str() + ", group on " + device_.str());
}

PendingOperation Communicator::pending(c10::intrusive_ptr<c10d::Work> work) const {
  return {*this, backend_->last_operation(), std::move(work)};
}

PendingOperation Communicator::all_reduce_async(const at::Tensor& tensor, Reduction reduction) {
  check(tensor);
  c10d::AllreduceOptions options;
  options.reduceOp = operator_of(reduction, tensor);
  std::vector<at::Tensor> tensors{tensor};
  return guard([&] { return pending(backend_->allreduce(tensors, options)); });
}

PendingOperation Communicator::broadcast_async(const at::Tensor& tensor, int root) {
  check(tensor);
  c10d::BroadcastOptions options;
  options.rootRank = root;
  std::vector<at::Tensor> tensors{tensor};
  return guard([&] { return pending(backend_->broadcast(tensors, options)); });
}

PendingOperation Communicator::all_gather_async(const at::Tensor& output, const at::Tensor& input) {
  check(output);
  check(input);
  check_parts(output, input, world_size());
  at::Tensor target = output.view(-1), source = input.view(-1);
  return guard([&] { return pending(backend_->_allgather_base(target, source, {})); });
}

PendingOperation Communicator::reduce_scatter_async(const at::Tensor& output, const at::Tensor& input,
                                                    Reduction reduction) {
  check(output);
  check(input);
  check_parts(input, output, world_size());
  c10d::ReduceScatterOptions options;
  options.reduceOp = operator_of(reduction, input);
  at::Tensor target = output.view(-1), source = input.view(-1);
  return guard([&] { return pending(backend_->_reduce_scatter_base(target, source, options)); });
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

void Communicator::barrier() {
  c10d::BarrierOptions options;
  if (!device_.is_cpu()) options.device = device_;
  guard([&] { return pending(backend_->barrier(options)); }).wait();
}

double Communicator::sum(double value) {
  const at::Tensor total = at::full({1}, value, at::TensorOptions(device_).dtype(at::kDouble));
  all_reduce(total, Reduction::kSum);
  return total.item<double>();
}

int64_t Communicator::maximum(int64_t value) {
  const at::Tensor largest = at::full({1}, value, at::TensorOptions(device_).dtype(at::kLong));
  all_reduce(largest, Reduction::kMaximum);
  return largest.item<int64_t>();
}

std::vector<std::string> Communicator::all_gather_text(const std::string& text) {
  const auto integers = at::TensorOptions(device_).dtype(at::kLong);
  const auto bytes = at::TensorOptions(at::kByte);
  const at::Tensor lengths = at::empty({world_size()}, integers);
  all_gather(lengths, at::full({1}, static_cast<int64_t>(text.size()), integers));
  const at::Tensor sizes = lengths.cpu();
  const int64_t longest = sizes.max().item<int64_t>();

  const at::Tensor padded = at::zeros({longest}, bytes);
  if (!text.empty()) std::memcpy(padded.mutable_data_ptr(), text.data(), text.size());
  const at::Tensor gathered = at::empty({world_size(), longest}, bytes.device(device_));
  all_gather(gathered, padded.to(device_));

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
  try {
    std::rethrow_exception(failure);
  } catch (const c10::DistError& error) {
    throw lost(error.what_without_backtrace(), operation);
  } catch (const std::runtime_error& error) {
    throw lost(error.what(), operation);
  }
}

Error Communicator::lost(const std::string& why, const Operation& operation) const {
  std::string what = operation.name + " number " + std::to_string(operation.sequence) + " failed: ";
  try {
    backend_->abort();
    const std::vector<int> silent = missing_at(*store_, "failed", rank(), world_size(), kPatience);
    what +=
        silent.empty() ? "all ranks are alive but did not finish it" : "no word from " + name_ranks(silent);
  } catch (const std::exception&) {
    what += "rank 0 and its store are gone";
  }
  return Error(ExitCode::kWorkerLost, std::move(what))
      .where("rank " + std::to_string(rank()))
      .why(why)
      .hint("the deadline of collective operations is --ddp_timeout, now " +
            std::to_string(std::chrono::duration_cast<std::chrono::seconds>(timeout_).count()) + " s");
}

std::unique_ptr<Communicator> make_communicator(const GroupOptions& options, const BackendTable& backends) {
  if (options.world_size == 1) {
    return std::make_unique<Communicator>(nullptr, c10::make_intrusive<TrivialBackend>(), options.device,
                                          options.timeout);
  }
  const auto maker = backends.find(options.backend);
  if (maker == backends.end()) {
    throw Error(ExitCode::kInternal, "there is no communication backend of the name " + options.backend);
  }
  auto store = open_store(options.store, options.rank, options.world_size, options.timeout);
  BackendRequest request{.store = store,
                         .rank = options.rank,
                         .world_size = options.world_size,
                         .one_node = options.one_node,
                         .master_host = options.store.host,
                         .device = options.device,
                         .timeout = options.timeout};
  try {
    return std::make_unique<Communicator>(store, maker->second(request), options.device, options.timeout);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ExitCode::kWorkerLost, "the ranks could not connect to each other over " + options.backend)
        .where("rank " + std::to_string(options.rank))
        .why(error.what());
  }
}

void agree_on_plan(Communicator& communicator, const std::string& plan_hash) {
  const std::vector<std::string> hashes = communicator.all_gather_text(plan_hash);
  std::vector<int> different;
  for (int rank = 1; rank < communicator.world_size(); ++rank) {
    if (hashes[static_cast<size_t>(rank)] != hashes[0]) different.push_back(rank);
  }
  if (different.empty()) return;
  throw Error(ExitCode::kEnvironment, name_ranks(different) + " read another plan than rank 0")
      .why("plan " + hashes[static_cast<size_t>(different.front())] + " against " + hashes[0])
      .hint("all nodes must run the same build of hftrain and see the same output folder");
}

}  // namespace hftrain::comm
