#include "hftrain/data/encode_pool.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/tokenizer/encoding_stop.h"
#include "hftrain/tokenizer/truncation.h"

namespace hftrain::data {

EncodePool::EncodePool(const Encoder& encoder, size_t threads, const std::atomic<bool>* stop)
    : encoder_(encoder), stop_(stop), columns_(encoder.schema().size()) {
  threads_.reserve(threads);
  start(threads);
}

EncodePool::~EncodePool() {
  close();
}

void EncodePool::start(size_t threads) {
  try {
    for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    if (!threads_.empty()) return;
    throw Error(ExitCode::kEnvironment, "no thread can be started to tokenise with")
        .where("--preprocessing_num_workers")
        .why(error.what())
        .hint("raise the limit on processes (ulimit -u, or pids.max of the control group)");
  }
}

void EncodePool::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    waiting_.clear();
  }
  work_arrived_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void EncodePool::give(RowChunk chunk) {
  auto job = std::make_shared<Job>();
  job->chunk = std::move(chunk);
  ordered_.push_back(job);
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(job));
  }
  work_arrived_.notify_one();
}

std::optional<RowChunk> EncodePool::take() {
  constexpr auto kBetweenLooks = std::chrono::milliseconds(50);
  const std::shared_ptr<Job> job = ordered_.front();
  {
    std::unique_lock lock(mutex_);
    while (!job_done_.wait_for(lock, kBetweenLooks, [&] { return job->done; })) {
      if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) return std::nullopt;
    }
  }
  ordered_.pop_front();
  if (job->failure) std::rethrow_exception(job->failure);
  return std::move(job->chunk);
}

void EncodePool::work() {
  const tokenizer::EncodingStop stops(closing_);
  while (true) {
    std::unique_lock lock(mutex_);
    work_arrived_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    if (closing_) return;
    const std::shared_ptr<Job> job = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    try {
      encode(job->chunk);
    } catch (...) {
      job->failure = std::current_exception();
    }
    lock.lock();
    job->done = true;
    lock.unlock();
    job_done_.notify_one();
  }
}

void EncodePool::encode(RowChunk& chunk) const {
  chunk.features.columns.resize(columns_);
  try {
    encoder_.encode(chunk.records, chunk.features);
  } catch (const tokenizer::CannotTruncate&) {
    throw;  // whoever takes the chunk names the flag of the length
  } catch (Error& error) {
    const bool open = error.diagnostics().front().where.empty();
    if (open && chunk.records.rows() > 0)
      error.where("one of the rows from " + chunk.records.where(0) + " on");
    throw;
  }
  chunk.records = Records();
}

}  // namespace hftrain::data
