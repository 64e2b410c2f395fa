#include "launcher/process/patient_writer.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

#include "launcher/process/detached_thread.h"

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
    const std::string taken = std::exchange(text, {});
    in_hand = taken.size();
    while (in_hand > 0) {
      const std::string_view piece = std::string_view(taken).substr(taken.size() - in_hand, kHandedOnAtOnce);
      lock.unlock();
      sink(piece);
      lock.lock();
      in_hand -= piece.size();
    }
    if (text.empty()) done.notify_all();
  }
}

PatientWriter::PatientWriter(Sink sink) : state_(new State{std::move(sink)}) {
  start_detached_thread([state = state_] { state->run(); }, "writes to the terminal");
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
