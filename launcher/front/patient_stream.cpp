#include "launcher/front/patient_stream.h"

#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <streambuf>
#include <string_view>

#include "hftrain/base/clock.h"
#include "launcher/process/patient_writer.h"
#include "launcher/supervision/stop_signals.h"

namespace hftrain::front {
namespace {

constexpr double kHurriedSeconds = 2;
constexpr double kLookSeconds = 0.1;

// It was sent while all who take such signals were gone, or are busy here.
bool a_stop_is_pending() {
  sigset_t pending;
  ::sigpending(&pending);
  for (int number = 1; number < NSIG; ++number) {
    if (launcher::is_stop_signal(number) && sigismember(&pending, number) == 1) return true;
  }
  return false;
}

}  // namespace

class PatientStream::Buffer : public std::streambuf {
 public:
  explicit Buffer(std::ostream& stream) : behind_(*stream.rdbuf()), writer_(sink_of(stream)) {}

  std::streambuf& behind() const { return behind_; }
  size_t waiting() const { return writer_.waiting(); }
  bool drain(double seconds) { return writer_.drain(seconds); }

  bool hurried = false;
  bool given_up = false;  // somebody had to end before all was written

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    writer_.write(std::string_view(text, static_cast<size_t>(size)));
    return size;
  }
  int_type overflow(int_type byte) override {
    if (traits_type::eq_int_type(byte, traits_type::eof())) return traits_type::not_eof(byte);
    const char text = traits_type::to_char_type(byte);
    xsputn(&text, 1);
    return byte;
  }

 private:
  // Past the buffers of the process's own streams: exit() flushes those, and would wait for the reader.
  static launcher::PatientWriter::Sink sink_of(std::ostream& stream) {
    stream.flush();
    if (&stream == &std::cerr) return launcher::PatientWriter::to(STDERR_FILENO);
    if (&stream == &std::cout) return launcher::PatientWriter::to(STDOUT_FILENO);
    return [&behind = *stream.rdbuf()](std::string_view text) {
      behind.sputn(text.data(), static_cast<std::streamsize>(text.size()));
      behind.pubsync();
    };
  }

  std::streambuf& behind_;
  launcher::PatientWriter writer_;
};

PatientStream::PatientStream(std::ostream& stream)
    : stream_(stream), buffer_(dynamic_cast<Buffer*>(stream.rdbuf())) {
  if (buffer_ != nullptr) return;
  own_ = std::make_unique<Buffer>(stream);
  buffer_ = own_.get();
  stream_.rdbuf(buffer_);
}

PatientStream::~PatientStream() {
  const double begin = monotonic_seconds();
  while (!buffer_->given_up && !buffer_->drain(kLookSeconds)) {
    buffer_->given_up =
        a_stop_is_pending() || (buffer_->hurried && monotonic_seconds() - begin > kHurriedSeconds);
  }
  if (!own_) return;
  if (buffer_->given_up) {
    // Its thread still writes, and whoever wrote to the stream itself would be held up as it is.
    static_cast<void>(own_.release());
  } else {
    stream_.rdbuf(&buffer_->behind());
  }
}

void PatientStream::hurry() noexcept {
  buffer_->hurried = true;
}

void PatientStream::wait_for_reader(double seconds) const {
  buffer_->drain(seconds);
}

size_t PatientStream::waiting() const {
  return buffer_->waiting();
}

}  // namespace hftrain::front
