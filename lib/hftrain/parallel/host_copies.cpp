#include "hftrain/parallel/host_copies.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <deque>
#include <map>
#include <utility>

namespace hftrain::parallel {
namespace {

class StreamCopies final : public HostCopies {
 public:
  explicit StreamCopies(at::Device device)
      : device_(device),
        guard_(device.type()),
        stream_(guard_.getStreamFromGlobalPool(device, /*isHighPriority=*/false)),
        fetching_(guard_.getStreamFromGlobalPool(device, /*isHighPriority=*/false)) {}

  void start(const at::Tensor& there, const at::Tensor& source) override {
    follow(stream_);
    const c10::StreamGuard on_own_stream(stream_);
    there.copy_(source, /*non_blocking=*/true);
    source.record_stream(stream_);  // its memory is not given to anybody else before the copy is over
  }

  Mark mark() override {
    c10::Event& event = marks_.emplace_back(++last_, c10::Event(device_.type())).second;
    event.record(stream_);
    return last_;
  }

  void wait(Mark mark) override {
    for (; !marks_.empty() && marks_.front().first <= mark; marks_.pop_front())
      marks_.front().second.synchronize();
  }

  Mark fetch(std::function<void()> work) override {
    follow(fetching_);  // memory that is written to may be read by what was told before
    const c10::StreamGuard on_own_stream(fetching_);
    work();
    fetches_.emplace(++last_fetch_, c10::Event(device_.type())).first->second.record(fetching_);
    return last_fetch_;
  }

  void use(Mark fetch) override {
    const auto found = fetches_.find(fetch);
    if (found == fetches_.end()) return;  // it was waited for
    found->second.block(guard_.getStream(device_));
    fetches_.erase(found);
  }

  void wait_for_fetches() override {
    fetching_.synchronize();
    fetches_.clear();
  }

 private:
  // `stream` runs what it is told from here on behind what the device was told before.
  void follow(const c10::Stream& stream) const {
    c10::Event told(device_.type());
    told.record(guard_.getStream(device_));
    told.block(stream);
  }

  at::Device device_;
  c10::impl::VirtualGuardImpl guard_;
  c10::Stream stream_, fetching_;
  std::deque<std::pair<Mark, c10::Event>> marks_;  // oldest first
  std::map<Mark, c10::Event> fetches_;             // that nobody has used
  Mark last_ = 0, last_fetch_ = 0;
};

}  // namespace

std::unique_ptr<HostCopies> make_host_copies(at::Device device) {
  return device.is_cpu() ? nullptr : std::make_unique<StreamCopies>(device);
}

}  // namespace hftrain::parallel
