// Keeps a stream from holding this program up: while an object lives, a thread of its own writes what the
// stream is given. A terminal that takes no text (Ctrl-S, a pager, a launcher that is busy) then costs nobody
// a signal or a connection that waits to be seen.
#pragma once

#include <iosfwd>
#include <memory>

namespace hftrain::front {

class PatientStream {
 public:
  // Takes the place of the stream's buffer, which must live as long as the process where writing to it may
  // block. Within the life of another object of the same stream: shares what that one has.
  explicit PatientStream(std::ostream& stream);
  PatientStream(const PatientStream&) = delete;
  PatientStream& operator=(const PatientStream&) = delete;
  // Waits until all is written, or a stop signal is pending, or a moment is over in which hurry() was asked
  // for. What is said after an end before all was written goes nowhere.
  ~PatientStream();

  // Bytes that the reader has not taken yet.
  size_t waiting() const;
  // Waits until the reader has taken all, at most `seconds`.
  void wait_for_reader(double seconds) const;
  // The end is not to wait long for a reader: somebody has asked this program to stop.
  void hurry() noexcept;

 private:
  class Buffer;
  std::ostream& stream_;
  std::unique_ptr<Buffer> own_;  // none within another's life
  Buffer* buffer_;
};

}  // namespace hftrain::front
