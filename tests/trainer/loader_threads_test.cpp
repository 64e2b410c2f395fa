#include "hftrain/trainer/loader_threads.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <future>
#include <system_error>

#include "support/catch.h"
#include "support/no_threads.h"

namespace hftrain::trainer {
namespace {

constexpr c10::DeviceType kOther = c10::DeviceType::PrivateUse1;

// Of devices that no other part of this process knows: notes which one the calling thread works for.
struct NotingGuard final : c10::impl::NoOpDeviceGuardImpl<kOther> {
  static thread_local int64_t current;
  void setDevice(c10::Device device) const override { current = device.index(); }
  c10::DeviceIndex deviceCount() const noexcept override { return 0; }
};
thread_local int64_t NotingGuard::current = -1;
C10_REGISTER_GUARD_IMPL(PrivateUse1, NotingGuard);

}  // namespace

TEST_CASE("threads that make batches work for their rank's device") {
  LoaderThreads threads(2, c10::Device(kOther, 3));
  CHECK(threads.add([] { return NotingGuard::current; }).get() == 3);
  CHECK(NotingGuard::current == -1);
  LoaderThreads of_the_host(2);
  CHECK(of_the_host.add([] { return NotingGuard::current; }).get() == -1);
}

TEST_CASE("where the system starts no more threads, those that there are make the batches") {
  LoaderThreads threads(4);
  std::promise<void> let_go;
  auto first = threads.add([waits = let_go.get_future().share()] {
    waits.wait();
    return 1;
  });
  std::future<int> second;
  {
    const testing::NoThreads none;
    second = threads.add([] { return 2; });
  }
  let_go.set_value();
  CHECK(first.get() == 1);
  CHECK(second.get() == 2);
}

TEST_CASE("where the system starts no thread at all, no batch is waited for") {
  LoaderThreads threads(4);
  {
    const testing::NoThreads none;
    CHECK_THROWS_AS(threads.add([] { return 1; }), std::system_error);
  }
  CHECK(threads.add([] { return 2; }).get() == 2);
}

}  // namespace hftrain::trainer
