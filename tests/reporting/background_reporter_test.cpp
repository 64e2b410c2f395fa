#include "hftrain/reporting/background_reporter.h"

#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "support/catch.h"

namespace hftrain::reporting {
namespace {

// What a sink was told, seen from the test's thread.
class Told {
 public:
  void say(std::string what) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(what));
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

using Record = std::function<void(const LogRecord&)>;

class ToldSink final : public RecordSink {
 public:
  ToldSink(std::shared_ptr<Told> told, Record on_record)
      : told_(std::move(told)), on_record_(std::move(on_record)) {}
  void record(const LogRecord& record) override {
    if (on_record_) on_record_(record);
    told_->say("record " + std::to_string(record.step));
  }
  void flush() override { told_->say("flush"); }
  void end(RunEnd how) override { told_->say(how == RunEnd::kFinished ? "end" : "end of a failed run"); }

 private:
  std::shared_ptr<Told> told_;
  Record on_record_;
};

struct Case {
  std::shared_ptr<Told> sink = std::make_shared<Told>();
  Told warnings;

  BackgroundReporter::Begin begin(Record on_record = {}) const {
    return [told = sink, on_record = std::move(on_record)](const SinkHost&) -> std::unique_ptr<RecordSink> {
      return std::make_unique<ToldSink>(told, on_record);
    };
  }
  BackgroundReporter::Tell tell() {
    return [this](const std::string& text) { warnings.say(text); };
  }
};

LogRecord record_of(int64_t step) {
  return {step, 0, 0, Json::object()};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Hangs every thread that waits at it until the test is over.
struct Gate {
  std::promise<void> opened;
  std::shared_future<void> future = opened.get_future().share();
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() { opened.set_value(); }
};

}  // namespace

TEST_CASE("a tracker gets every record in order, then the end") {
  Case the;
  {
    BackgroundReporter reporter("it", the.begin(), the.tell());
    for (int64_t step = 1; step <= 100; ++step) reporter.record(record_of(step));
    reporter.end(RunEnd::kFinished);
    reporter.leave(60);
  }
  std::vector<std::string> lines = the.sink->lines();
  CHECK(lines.back() == "end");
  CHECK(lines.at(lines.size() - 2) == "flush");
  std::erase(lines, "flush");
  REQUIRE(lines.size() == 101);
  CHECK(lines.front() == "record 1");
  CHECK(lines.at(99) == "record 100");
  CHECK(the.warnings.lines().empty());
}

TEST_CASE("a run that is destroyed without its end has failed") {
  Case the;
  { const BackgroundReporter reporter("it", the.begin(), the.tell()); }
  CHECK(the.sink->lines().back() == "end of a failed run");
}

TEST_CASE("a tracker that throws gives one warning, and training goes on") {
  Case the;
  BackgroundReporter reporter("it", the.begin([](const LogRecord& record) {
    if (record.step == 2)
      throw Error(ExitCode::kDisk, "cannot write").where("/full/file").why("No space left on device");
  }),
                              the.tell());
  for (int64_t step = 1; step <= 50; ++step) reporter.record(record_of(step));
  reporter.end(RunEnd::kFinished);
  reporter.leave(60);
  const std::vector<std::string> warnings = the.warnings.lines();
  REQUIRE(warnings.size() == 1);
  CHECK(warnings.front() ==
        "it gets no more records of this run: cannot write, /full/file, No space left on device. "
        "hftrain/log.jsonl holds all of them");
  const std::vector<std::string> lines = the.sink->lines();
  CHECK(std::ranges::count(lines, "record 1") == 1);
  CHECK(std::ranges::count(lines, "record 3") == 0);
  CHECK(std::ranges::count(lines, "end") == 0);
}

TEST_CASE("a tracker that cannot begin gives one warning") {
  Case the;
  BackgroundReporter reporter(
      "it", [](const SinkHost&) -> std::unique_ptr<RecordSink> { throw std::runtime_error("nobody there"); },
      the.tell());
  reporter.record(record_of(1));
  reporter.end(RunEnd::kFinished);
  reporter.leave(60);
  REQUIRE(the.warnings.lines().size() == 1);
  CHECK(contains(the.warnings.lines().front(), "nobody there"));
}

TEST_CASE("a tracker that sleeps for ever is left behind with one warning") {
  Case the;
  Gate gate;
  BackgroundReporter reporter("it", the.begin([future = gate.future](const LogRecord&) { future.wait(); }),
                              the.tell(), 5);
  const double begin = monotonic_seconds();
  for (int64_t step = 1; step <= 1000; ++step) reporter.record(record_of(step));
  reporter.end(RunEnd::kFinished);
  reporter.leave(0.05);
  CHECK(monotonic_seconds() - begin < 30);
  REQUIRE(the.warnings.lines().size() == 1);
  CHECK(contains(the.warnings.lines().front(), "5 records wait for it"));
}

TEST_CASE("a server that is away for a weekend costs no record, and little memory") {
  constexpr int64_t kRecords = 63 * 3600 / 3;  // Friday 18:00 to Monday 9:00, one every three seconds
  Case the;
  Gate gate;
  BackgroundReporter reporter("it", the.begin([future = gate.future](const LogRecord&) { future.wait(); }),
                              the.tell());
  const size_t before = ::mallinfo2().uordblks;
  for (int64_t step = 1; step <= kRecords; ++step)
    reporter.record({step,
                     0.5,
                     1.7e9,
                     {{"loss", 2.5},
                      {"grad_norm", 1.5},
                      {"learning_rate", 5e-5},
                      {"tokens_per_second", 1e5},
                      {"num_input_tokens_seen", step}}});
  const size_t taken = ::mallinfo2().uordblks - before;
  std::printf("%lld records: %.1f MiB\n", static_cast<long long>(kRecords),
              static_cast<double>(taken) / (1 << 20));
  CHECK(taken < size_t{100} << 20);
  CHECK(the.warnings.lines().empty());
  reporter.end(RunEnd::kFinished);
  reporter.leave(0.05);
}

TEST_CASE("a tracker with little to do that sleeps for ever is told of at the end") {
  Case the;
  Gate gate;
  auto reporter = std::make_unique<BackgroundReporter>(
      "it", the.begin([future = gate.future](const LogRecord&) { future.wait(); }), the.tell());
  reporter->record(record_of(1));
  reporter->end(RunEnd::kFinished);
  reporter->leave(0.05);
  reporter.reset();
  REQUIRE(the.warnings.lines().size() == 1);
  CHECK(contains(the.warnings.lines().front(), "does not come to an end"));
}

TEST_CASE("a sink that waits for its server is woken by the end") {
  Case the;
  std::promise<bool> woken;
  BackgroundReporter reporter(
      "it",
      [&woken, &the](const SinkHost& host) -> std::unique_ptr<RecordSink> {
        woken.set_value(host.pause(3600));
        return std::make_unique<ToldSink>(the.sink, Record());
      },
      the.tell());
  reporter.end(RunEnd::kFinished);
  reporter.leave(60);
  CHECK(woken.get_future().get());
  CHECK(the.sink->lines().back() == "end");
  CHECK(the.warnings.lines().empty());
}

TEST_CASE("a sink that waits for a server which never comes is told that it was left behind") {
  Case the;
  std::promise<int> pauses;
  {
    BackgroundReporter reporter(
        "it",
        [&pauses](const SinkHost& host) -> std::unique_ptr<RecordSink> {
          int count = 0;
          while (host.pause(60)) ++count;
          pauses.set_value(count);
          throw std::runtime_error("no server");
        },
        the.tell());
    reporter.end(RunEnd::kFinished);
    reporter.leave(0.05);
  }
  CHECK(pauses.get_future().get() < 60);
  CHECK(the.warnings.lines().size() == 1);
}

TEST_CASE("what a sink tells has its name before it") {
  Case the;
  BackgroundReporter reporter(
      "it",
      [&the](const SinkHost& host) -> std::unique_ptr<RecordSink> {
        host.warn("the metric 'a' is left out");
        return std::make_unique<ToldSink>(the.sink, Record());
      },
      the.tell());
  reporter.end(RunEnd::kFinished);
  reporter.leave(60);
  CHECK(the.warnings.lines() == std::vector<std::string>{"it: the metric 'a' is left out"});
}

}  // namespace hftrain::reporting
