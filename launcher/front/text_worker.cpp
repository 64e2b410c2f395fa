#include "launcher/front/text_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "hftrain/base/printable.h"
#include "hftrain/base/text.h"
#include "launcher/front/stoppable_lines.h"
#include "launcher/process/memory_events.h"
#include "launcher/supervision/failure_report.h"

namespace hftrain::front {
namespace {

constexpr int kRequests = 0, kControl = 3;  // their numbers in the worker
constexpr size_t kKeptErrors = 4096;        // bytes

// False at the end.
bool take(FileDescriptor& from, std::string& to) {
  char buffer[64 * 1024];
  while (true) {
    const ssize_t count = ::read(from.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return true;
    if (count <= 0) break;
    to.append(buffer, static_cast<size_t>(count));
    if (static_cast<size_t>(count) < sizeof(buffer)) return true;
  }
  from.reset();
  return false;
}

}  // namespace

TextWorker::TextWorker(const std::string& program, const Environment& environment,
                       const generation::TextSetup& setup, launcher::StopSignals& stops)
    : stops_(stops), memory_kills_(launcher::memory_kills()) {
  launcher::Pipe requests = launcher::make_pipe(), control = launcher::make_pipe();
  launcher::ChildSpec spec;
  spec.argv = {(std::filesystem::path(program).parent_path() / "hftrain-worker").string(), "--requests-fd",
               std::to_string(kRequests), "--control-fd", std::to_string(kControl)};
  spec.environment = environment;
  spec.descriptors = {{requests.reading.get(), kRequests}, {control.writing.get(), kControl}};
  process_ = std::make_unique<launcher::ChildProcess>(spec);
  requests_ = std::move(requests.writing);
  ::fcntl(requests_.get(), F_SETFL, O_NONBLOCK);
  control_ = std::move(control.reading);
  waiting_ = generation::encode_setup(setup);
  send();
}

// As much as the pipe takes now: a worker that is busy, or stopped, must not keep stop signals from being seen.
void TextWorker::send() {
  // For this pipe alone: a reader of the command's output that is gone ends the command.
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  while (!waiting_.empty()) {
    const ssize_t count = ::write(requests_.get(), waiting_.data(), waiting_.size());
    if (count > 0) waiting_.erase(0, static_cast<size_t>(count));
    if (count >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN) waiting_.clear();  // it is gone, and its last words say why
    break;
  }
  ::signal(SIGPIPE, before);
}

void TextWorker::read_errors() {
  FileDescriptor& pipe = process_->standard_error();
  if (pipe) take(pipe, errors_);
  if (errors_.size() > kKeptErrors) errors_.erase(0, errors_.size() - kKeptErrors);
}

void TextWorker::read_control() {
  if (control_) take(control_, held_);
  for (size_t end = 0; (end = held_.find('\n')) != std::string::npos;) {
    heard_ = true;
    lines_.push_back(held_.substr(0, end));
    held_.erase(0, end + 1);
  }
}

void TextWorker::throw_lost() {
  const launcher::ExitStatus status = process_->wait();
  while (process_->standard_error()) read_errors();
  if (status.signal == SIGKILL && launcher::memory_kills() > memory_kills_)
    throw Error(ExitCode::kHostMemory, "the machine ran out of memory while generating")
        .where("hftrain-worker")
        .why("the kernel killed the worker")
        .hint("a smaller --batch_size or model, fewer beams, or --dtype bfloat16");
  const std::string last_words = printable(trim(errors_), Lines::kMany);
  constexpr int kOfTheLoader = 127;
  if (status.code == kOfTheLoader && !heard_) {
    const std::vector<std::string> lines = split(last_words, '\n');
    const std::optional<uint64_t> limit = launcher::address_space_limit();
    if (launcher::found_no_room(lines, limit.has_value()))
      throw Error(ExitCode::kHostMemory, "hftrain-worker got no memory while it was loaded")
          .where("hftrain-worker")
          .why(launcher::why_no_memory(limit))
          .hint("see what else uses it, or raise the limit");
    const Diagnostic told = launcher::explain_not_loaded(lines, {});
    throw Error(ExitCode::kEnvironment, told.what).where("hftrain-worker").why(told.why).hint(told.hint);
  }
  const std::string how = status.signal != 0 ? "it was ended by signal " + std::to_string(status.signal) +
                                                   " (SIG" + std::string(::sigabbrev_np(status.signal)) + ')'
                                             : "it ended with exit code " + std::to_string(status.code);
  throw Error(ExitCode::kWorkerLost, "the worker was lost while generating")
      .where("hftrain-worker")
      .why(last_words.empty() ? how : how + "; its last words: " + last_words)
      .hint("`hftrain doctor` shows what is installed");
}

void TextWorker::wait() {
  std::string ignored;
  FileDescriptor& out = process_->standard_output();
  FileDescriptor& err = process_->standard_error();
  const int requests = waiting_.empty() ? -1 : requests_.get();
  std::array<pollfd, 5> watched = {{{control_.get(), POLLIN, 0},
                                    {stops_.descriptor(), POLLIN, 0},
                                    {out.get(), POLLIN, 0},  // a closed one is −1, which poll passes over
                                    {err.get(), POLLIN, 0},
                                    {requests, POLLOUT, 0}}};
  ::poll(watched.data(), watched.size(), -1);
  if (const int signal = stops_.next(); signal != 0) throw stopped_by(signal, "generating");
  if (watched[2].revents != 0) take(out, ignored);
  if (watched[3].revents != 0) read_errors();
  if (watched[0].revents != 0) read_control();
  if (watched[4].revents != 0) send();
}

generation::Texts TextWorker::write(const generation::TextRequest& request, const TokenSink& tokens) {
  waiting_ += generation::encode_request(request);
  send();
  while (true) {
    while (lines_.empty()) {
      if (!control_) throw_lost();
      wait();
    }
    const Json line = try_parse_json(lines_.front()).value_or(Json::object());
    lines_.pop_front();
    const std::string event = line.value("event", "");
    if (event == "token" && tokens) tokens(line.at("prompt").get<size_t>(), line.at("id").get<int64_t>());
    if (event == "texts") {
      seconds_ += line.at("seconds").get<double>();
      steps_ += line.at("steps").get<int64_t>();
      draft_steps_ += line.at("draft_steps").get<int64_t>();
      return generation::texts_from_json(line.at("texts"));
    }
    if (event == "failed" || event == "refused") throw generation::error_from_json(line);
  }
}

}  // namespace hftrain::front
