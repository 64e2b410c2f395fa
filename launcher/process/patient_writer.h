// Hands bytes on in a thread of its own, so that a reader who takes his time, or none any more, holds nobody
// up who has other things to do. Drops nothing: its owner asks waiting() before it takes in more. One owner.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace hftrain::launcher {

class PatientWriter {
 public:
  using Sink = std::function<void(std::string_view)>;  // may take its time

  // `sink` is called on the thread, which may outlive this object in a call that does not end. Throws an
  // Error (kEnvironment) when the system starts no thread.
  explicit PatientWriter(Sink sink);
  PatientWriter(const PatientWriter&) = delete;
  PatientWriter& operator=(const PatientWriter&) = delete;
  // Does not wait: see drain().
  ~PatientWriter();

  // Writes to an open descriptor; what a reader that is gone would have got is dropped.
  static Sink to(int descriptor);

  void write(std::string_view bytes);
  // Bytes that were not handed on yet.
  size_t waiting() const;
  // Waits until all is handed on, at most `seconds`. False when it is not.
  bool drain(double seconds);

 private:
  struct State;
  std::shared_ptr<State> state_;  // the thread's too
};

}  // namespace hftrain::launcher
