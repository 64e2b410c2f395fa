#include "launcher/patient_writer.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "hftrain/base/error.h"

namespace hftrain::launcher {
namespace {

constexpr size_t kHandedOnAtOnce = 64 * 1024;

}  // namespace

struct PatientWriter::State {
  const Sink sink;
  std::mutex mutex{};
  std::condition_variable to_do{}, done{};
  std::string text{};
  size_t in_hand = 0;  // of the thread
  bool stop = false;

  void run();
};

void PatientWriter::State::run() {
  std::unique_lock lock(mutex);
  while (true) {
    to_do.wait(lock, [this] { return stop || !text.empty(); });
    if (text.empty()) return;
    std::string piece = std::exchange(text, {});
    if (piece.size() > kHandedOnAtOnce) {
      text = piece.substr(kHandedOnAtOnce);
      piece.resize(kHandedOnAtOnce);
    }
    in_hand = piece.size();
    lock.unlock();
    sink(piece);
    lock.lock();
    in_hand = 0;
    if (text.empty()) done.notify_all();
  }
}

PatientWriter::PatientWriter(Sink sink) : state_(new State{std::move(sink)}) {
  // Signals of this process are for its other threads.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([state = state_] { state->run(); }).detach();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  } catch (const std::system_error& error) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw Error(ExitCode::kEnvironment, "cannot start a thread that writes to the terminal")
        .where("this machine's limits")
        .why(error.what())
        .hint("ulimit -u, pids of a container or a job");
  }
}

PatientWriter::~PatientWriter() {
  const std::lock_guard lock(state_->mutex);
  state_->stop = true;
  state_->to_do.notify_all();
}

PatientWriter::Sink PatientWriter::to(int descriptor) {
  return [descriptor](std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t size = ::write(descriptor, bytes.data(), bytes.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(size));
    }
  };
}

void PatientWriter::write(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::lock_guard lock(state_->mutex);
  state_->text.append(bytes);
  state_->to_do.notify_one();
}

size_t PatientWriter::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->text.size() + state_->in_hand;
}

bool PatientWriter::drain(double seconds) {
  std::unique_lock lock(state_->mutex);
  return state_->done.wait_for(lock, std::chrono::duration<double>(seconds),
                               [this] { return state_->text.empty() && state_->in_hand == 0; });
}

}  // namespace hftrain::launcher
