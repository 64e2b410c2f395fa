#include "launcher/process/log_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "launcher/process/detached_thread.h"

namespace hftrain::launcher {
namespace {

constexpr size_t kPieceBytes = 64 * 1024;

std::chrono::duration<double> as_time(double seconds) {
  return std::chrono::duration<double>(seconds);
}

}  // namespace

struct LogWriter::State {
  struct Piece {
    size_t file = 0;
    std::string bytes;
    bool last = false;
  };

  const std::vector<std::string> paths;
  std::vector<FileDescriptor> files{};  // of the thread

  std::mutex mutex{};
  std::condition_variable to_do{}, done{};
  std::deque<Piece> waiting{};
  size_t bytes = 0;  // of what waits, and of what is being written
  bool opened = false, writing = false, stop = false;
  std::exception_ptr failure{};
  std::vector<std::string> notices{};

  void open_all();
  void run();
  void write(const Piece& piece);
  void give_up(size_t file, const std::string& why);
  bool is_idle() const { return opened && waiting.empty() && !writing; }
};

void LogWriter::State::open_all() {
  std::exception_ptr first;
  files.resize(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    try {
      create_directories(std::filesystem::path(paths[i]).parent_path().string());
      files[i].reset(::open(paths[i].c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
      if (!files[i]) throw system_error(errno, "cannot open the log of a rank", paths[i]);
    } catch (const Error& error) {
      if (!first) first = std::current_exception();
      const std::lock_guard lock(mutex);
      notices.push_back(error.what() + std::string(": ") + paths[i] + " is not kept");
    }
  }
  const std::lock_guard lock(mutex);
  failure = first;
  opened = true;
  done.notify_all();
}

void LogWriter::State::run() {
  open_all();
  std::unique_lock lock(mutex);
  while (true) {
    to_do.wait(lock, [this] { return stop || !waiting.empty(); });
    if (waiting.empty()) return;
    const Piece piece = std::move(waiting.front());
    waiting.pop_front();
    writing = true;
    lock.unlock();
    write(piece);
    lock.lock();
    writing = false;
    bytes -= piece.bytes.size();
    if (is_idle()) done.notify_all();
  }
}

void LogWriter::State::write(const Piece& piece) {
  FileDescriptor& file = files[piece.file];
  std::string_view left = piece.bytes;
  while (file && !left.empty()) {
    const ssize_t written = ::write(file.get(), left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      give_up(piece.file, std::strerror(errno));
    }
  }
  if (piece.last) file.reset();
}

void LogWriter::State::give_up(size_t file, const std::string& why) {
  files[file].reset();
  const std::lock_guard lock(mutex);
  notices.push_back("cannot write " + paths[file] + " (" + why + "): the rest of this output is not kept");
}

LogWriter::LogWriter(std::vector<std::string> paths) : state_(new State{std::move(paths)}) {
  start_detached_thread([state = state_] { state->run(); }, "writes logs");
}

LogWriter::~LogWriter() {
  const std::lock_guard lock(state_->mutex);
  state_->stop = true;
  state_->to_do.notify_all();
}

void LogWriter::wait_until_open(double seconds) {
  std::unique_lock lock(state_->mutex);
  state_->done.wait_for(lock, as_time(seconds), [this] { return state_->opened; });
  if (!state_->failure) return;
  state_->notices.clear();
  std::rethrow_exception(state_->failure);
}

void LogWriter::append(size_t file, std::string_view bytes) {
  if (bytes.empty()) return;
  const std::lock_guard lock(state_->mutex);
  state_->bytes += bytes.size();
  auto& waiting = state_->waiting;
  // Many short texts are one piece: what they take is what they hold.
  if (!waiting.empty() && waiting.back().file == file && !waiting.back().last &&
      waiting.back().bytes.size() < kPieceBytes) {
    waiting.back().bytes.append(bytes);
  } else {
    waiting.push_back({file, std::string(bytes), false});
  }
  state_->to_do.notify_one();
}

void LogWriter::close(size_t file) {
  const std::lock_guard lock(state_->mutex);
  state_->waiting.push_back({file, "", true});
  state_->to_do.notify_one();
}

bool LogWriter::is_behind() const {
  const std::lock_guard lock(state_->mutex);
  return state_->bytes >= kMostWaiting;
}

std::vector<std::string> LogWriter::take_notices() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->notices, {});
}

bool LogWriter::drain(double seconds) {
  std::unique_lock lock(state_->mutex);
  return state_->done.wait_for(lock, as_time(seconds), [this] { return state_->is_idle(); });
}

}  // namespace hftrain::launcher
