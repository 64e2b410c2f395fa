#include "hftrain/trainer/loader_threads.h"

#include <future>
#include <system_error>

#include "support/catch.h"
#include "support/no_threads.h"

namespace hftrain::trainer {

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
