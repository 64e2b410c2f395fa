#include "hftrain/reporting/background_reporter.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "hftrain/base/error.h"

namespace hftrain::reporting {
namespace {

constexpr double kSecondsOfALostRun = 1;
// Somebody waits for it then.
constexpr double kPauseAtTheEnd = 0.5;

std::chrono::duration<double> seconds_of(double seconds) {
  return std::chrono::duration<double>(seconds);
}

std::string reason_of(const std::exception& failure) {
  const auto* error = dynamic_cast<const Error*>(&failure);
  if (error == nullptr) return failure.what();
  const Diagnostic& first = error->diagnostics().front();
  std::string text = first.what;
  for (const std::string& part : {first.where, first.why}) text += part.empty() ? "" : ", " + part;
  return text;
}

void start_without_signals(std::function<void()> run) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::exception_ptr failure;
  try {
    std::thread(std::move(run)).detach();
  } catch (...) {
    failure = std::current_exception();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

struct BackgroundReporter::Shared {
  std::string name;
  Begin begin;
  size_t most_waiting;

  std::mutex mutex;  // of all below
  std::condition_variable changed;
  std::deque<LogRecord> waiting;
  std::optional<RunEnd> ending;
  bool over = false;  // nobody delivers any more: the sink has ended, has failed or is left behind
  bool warned = false;
  Tell tell;  // empty once nobody listens

  void run();
  void deliver(RecordSink& sink);
  bool take(LogRecord& record, bool& last_for_now);
  bool pause(double seconds);
  void warn(const std::string& text);
  void give_up(const std::string& why);
  void give_up_locked(const std::string& why);
};

void BackgroundReporter::Shared::run() {
  try {
    const SinkHost host{[this](const std::string& text) { warn(text); },
                        [this](double seconds) { return pause(seconds); }};
    const std::unique_ptr<RecordSink> sink = begin(host);
    deliver(*sink);
  } catch (const std::exception& failure) {
    give_up(reason_of(failure));
  } catch (...) {
    give_up("an unknown failure");
  }
  const std::lock_guard lock(mutex);
  over = true;
  changed.notify_all();
}

void BackgroundReporter::Shared::deliver(RecordSink& sink) {
  LogRecord next;
  bool last_for_now = false;
  while (take(next, last_for_now)) {
    sink.record(next);
    if (last_for_now) sink.flush();
  }
  sink.flush();
  std::unique_lock lock(mutex);
  if (over) return;
  const RunEnd how = *ending;
  lock.unlock();
  sink.end(how);
}

// False when the run has ended and nothing waits, or when this thread was left behind.
bool BackgroundReporter::Shared::take(LogRecord& record, bool& last_for_now) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return over || ending || !waiting.empty(); });
  if (over || waiting.empty()) return false;
  record = std::move(waiting.front());
  waiting.pop_front();
  last_for_now = waiting.empty();
  return true;
}

bool BackgroundReporter::Shared::pause(double seconds) {
  std::unique_lock lock(mutex);
  if (ending) {
    changed.wait_for(lock, seconds_of(std::min(seconds, kPauseAtTheEnd)), [this] { return over; });
  } else {
    changed.wait_for(lock, seconds_of(seconds), [this] { return over || ending; });
  }
  return !over;
}

void BackgroundReporter::Shared::warn(const std::string& text) {
  const std::lock_guard lock(mutex);
  if (tell) tell(name + ": " + text);
}

void BackgroundReporter::Shared::give_up(const std::string& why) {
  const std::lock_guard lock(mutex);
  give_up_locked(why);
}

void BackgroundReporter::Shared::give_up_locked(const std::string& why) {
  over = true;
  waiting.clear();
  if (!std::exchange(warned, true) && tell)
    tell(name + " gets no more records of this run: " + why + ". hftrain/log.jsonl holds all of them");
}

BackgroundReporter::BackgroundReporter(std::string name, Begin begin, Tell tell, size_t most_waiting)
    : shared_(std::make_shared<Shared>()) {
  shared_->name = std::move(name);
  shared_->begin = std::move(begin);
  shared_->tell = std::move(tell);
  shared_->most_waiting = most_waiting;
  try {
    start_without_signals([shared = shared_] { shared->run(); });
  } catch (const std::system_error& failure) {
    shared_->give_up("the system starts no thread for it: " + std::string(failure.what()));
  }
}

BackgroundReporter::~BackgroundReporter() {
  end(RunEnd::kFailed);
  leave(kSecondsOfALostRun);
}

void BackgroundReporter::record(const LogRecord& record) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->over || shared_->ending) return;
  if (shared_->waiting.size() >= shared_->most_waiting)
    return shared_->give_up_locked(std::to_string(shared_->waiting.size()) + " records wait for it");
  shared_->waiting.push_back(record);
  shared_->changed.notify_all();
}

void BackgroundReporter::end(RunEnd how) {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->ending) shared_->ending = how;
  shared_->changed.notify_all();
}

void BackgroundReporter::leave(double seconds) {
  std::unique_lock lock(shared_->mutex);
  if (!shared_->tell) return;
  shared_->changed.wait_for(lock, seconds_of(seconds), [this] { return shared_->over; });
  if (!shared_->over) shared_->give_up_locked("it does not come to an end");
  shared_->tell = nullptr;
}

}  // namespace hftrain::reporting
