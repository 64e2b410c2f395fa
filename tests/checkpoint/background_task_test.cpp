#include "hftrain/checkpoint/background_task.h"

#include <system_error>

#include "support/catch.h"
#include "support/no_threads.h"

namespace hftrain::checkpoint {

TEST_CASE("a task that gets no thread is not taken for one that runs") {
  BackgroundTask task;
  bool done = false;
  const auto start = [&] { task.start(BackgroundTask::Priority::kNormal, [&] { done = true; }); };
  {
    const testing::NoThreads none;
    CHECK_THROWS_AS(start(), std::system_error);
  }
  CHECK_FALSE(task.running());
  task.wait();
  CHECK_FALSE(done);
  start();
  task.wait();
  CHECK(done);
}

}  // namespace hftrain::checkpoint
