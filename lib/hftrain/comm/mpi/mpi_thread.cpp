#include "hftrain/comm/mpi/mpi_thread.h"

#include <condition_variable>
#include <deque>
#include <mutex>

namespace hftrain::comm {

struct MpiThread::Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;
  bool closed = false;
};

MpiThread::MpiThread() : queue_(std::make_shared<Queue>()), thread_([queue = queue_] { serve(*queue); }) {}

MpiThread::~MpiThread() {
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->closed = true;
  }
  queue_->changed.notify_one();
  if (stuck_) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void MpiThread::post(Task task) {
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->tasks.push_back(std::move(task));
  }
  queue_->changed.notify_one();
}

void MpiThread::serve(Queue& queue) {
  std::unique_lock lock(queue.mutex);
  while (true) {
    queue.changed.wait(lock, [&] { return queue.closed || !queue.tasks.empty(); });
    if (queue.tasks.empty()) return;
    {
      const Task task = std::move(queue.tasks.front());
      queue.tasks.pop_front();
      lock.unlock();
      task();
    }  // what the task held is let go before the lock is taken
    lock.lock();
  }
}

}  // namespace hftrain::comm
