#include "hftrain/parallel/host_copies.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <deque>
#include <utility>

namespace hftrain::parallel {
namespace {

class StreamCopies final : public HostCopies {
 public:
  explicit StreamCopies(at::Device device)
      : device_(device),
        guard_(device.type()),
        stream_(guard_.getStreamFromGlobalPool(device, /*isHighPriority=*/false)) {}

  void start(const at::Tensor& there, const at::Tensor& source) override {
    c10::Event computed(device_.type());
    computed.record(guard_.getStream(device_));
    computed.block(stream_);
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

 private:
  at::Device device_;
  c10::impl::VirtualGuardImpl guard_;
  c10::Stream stream_;
  std::deque<std::pair<Mark, c10::Event>> marks_;  // oldest first
  Mark last_ = 0;
};

}  // namespace

std::unique_ptr<HostCopies> make_host_copies(at::Device device) {
  return device.is_cpu() ? nullptr : std::make_unique<StreamCopies>(device);
}

}  // namespace hftrain::parallel
