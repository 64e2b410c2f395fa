// Communicator: an operation that failed, and who is missing.
#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <system_error>

#include "hftrain/comm/communicator.h"
#include "hftrain/comm/own_thread.h"
#include "hftrain/runtime/translate.h"

namespace hftrain::comm {
namespace {

// In the store, once a rank has given up an operation.
constexpr const char* kGivenUpKey = "hftrain/given-up";

}  // namespace

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

}  // namespace hftrain::comm
