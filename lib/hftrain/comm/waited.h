// How long a thread has been held up by collective operations: by issuing them, which for some transports is all of
// the work, and by waiting for them. What goes on beside the thread's own work is not in it.
#pragma once

namespace hftrain::comm {

// Seconds of the calling thread so far, over all groups.
double waited_seconds();

// Adds the time of its own life to them. One at a time on a thread.
class CountsAsWaiting {
 public:
  CountsAsWaiting();
  CountsAsWaiting(const CountsAsWaiting&) = delete;
  CountsAsWaiting& operator=(const CountsAsWaiting&) = delete;
  ~CountsAsWaiting();

 private:
  double begin_;  // monotonic seconds
};

}  // namespace hftrain::comm
