#include "hftrain/comm/work_watch.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "hftrain/runtime/thread_device.h"

namespace hftrain::comm {
namespace {

// Between two looks while something is under way.
constexpr std::chrono::milliseconds kBetweenLooks{20};
// Most operations are over before the first question, and those who gave up wait longer for the word of the others
// (GroupOptions::patience).
constexpr std::chrono::milliseconds kBetweenQuestions{500};

// What the first failed one says; empty: none has.
std::string failure_of(const WorkWatch::Works& works) {
  for (const auto& work : works) {
    const std::exception_ptr failure = work->exception();
    if (!failure) continue;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      return error.what();
    }
  }
  return "";
}

}  // namespace

WorkWatch::WorkWatch(c10::Device device, std::chrono::milliseconds deadline, StatusPage* status,
                     GiveUp give_up, AnotherGaveUp another_gave_up)
    : device_(device),
      deadline_(deadline),
      status_(status),
      give_up_(std::move(give_up)),
      another_gave_up_(std::move(another_gave_up)),
      thread_([this] { run(); }) {}

WorkWatch::~WorkWatch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (front_since_ && status_ != nullptr) status_->end_wait();
}

void WorkWatch::add(Operation operation, Works works, std::optional<c10::Event> reached) {
  const std::lock_guard lock(mutex_);
  if (given_up_) return;
  watched_.push_back({std::move(operation), std::move(works), std::move(reached)});
  if (watched_.size() > 1) return;
  asked_ = Clock::now();
  changed_.notify_all();
}

void WorkWatch::rest(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  rests_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, patience, [this] { return rested_; });
}

void WorkWatch::run() {
  runtime::work_for(device_);
  std::unique_lock lock(mutex_);
  while (!ends_) {
    std::optional<WatchFault> fault = look();
    if (!fault) fault = ask(lock);
    if (fault) {
      given_up_ = rested_ = true;
      changed_.notify_all();
      lock.unlock();
      give_up_(*fault);
      return;
    }
    if (watched_.empty()) {
      if (rests_) {
        rested_ = true;
        changed_.notify_all();
        return;
      }
      changed_.wait(lock, [this] { return ends_ || rests_ || !watched_.empty(); });
    } else {
      changed_.wait_for(lock, kBetweenLooks, [this] { return ends_; });
    }
  }
}

std::optional<WatchFault> WorkWatch::ask(std::unique_lock<std::mutex>& lock) {
  if (!another_gave_up_ || watched_.empty() || Clock::now() - asked_ < kBetweenQuestions) return std::nullopt;
  lock.unlock();
  const bool gave_up = another_gave_up_();
  lock.lock();
  asked_ = Clock::now();
  if (!gave_up || ends_ || watched_.empty()) return std::nullopt;
  return WatchFault{watched_.front().operation, "another rank gave up"};
}

bool WorkWatch::reached_front() {
  if (front_since_) return true;
  const Watched& front = watched_.front();
  if (front.reached && !front.reached->query()) return false;
  front_since_ = Clock::now();
  if (status_ == nullptr) return true;
  status_->begin_operation(front.operation.name.c_str(), front.operation.bytes);
  status_->begin_wait();
  return true;
}

// A device that has failed throws whatever it is asked.
std::optional<WatchFault> WorkWatch::look() {
  try {
    return look_at_front();
  } catch (const std::exception& error) {
    return WatchFault{watched_.front().operation, error.what(), std::current_exception()};
  }
}

std::optional<WatchFault> WorkWatch::look_at_front() {
  while (!watched_.empty() && reached_front()) {
    const Watched& front = watched_.front();
    const bool over = std::all_of(front.works.begin(), front.works.end(),
                                  [](const auto& work) { return work->isCompleted(); });
    if (!over && Clock::now() - *front_since_ > deadline_)
      return WatchFault{front.operation, "its deadline passed"};
    if (!over) return std::nullopt;
    if (std::string why = failure_of(front.works); !why.empty())
      return WatchFault{front.operation, std::move(why)};
    front_since_.reset();
    if (status_ != nullptr) status_->end_wait();
    watched_.pop_front();
    asked_ = Clock::now();
  }
  return std::nullopt;
}

}  // namespace hftrain::comm
