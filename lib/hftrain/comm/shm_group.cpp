#include "hftrain/comm/shm_group.h"

#include <c10/util/Exception.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace hftrain::comm {
namespace {

constexpr std::chrono::milliseconds kLookAround{20};
// Sleeping and being woken takes 50 µs and more, and whoever waits for a sleeper falls asleep as well: so
// stay awake for longer than ranks in step with each other are apart.
constexpr std::chrono::microseconds kAwake{500};
constexpr int kSpins = 100;  // a few µs: the time of a small message

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void futex_wait(const std::atomic<uint32_t>& word, uint32_t seen, std::chrono::milliseconds patience) {
  const timespec limit{patience.count() / 1000, patience.count() % 1000 * 1'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void futex_wake(const std::atomic<uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::string key_of(int rank) {
  return "shm/" + std::to_string(rank);
}

}  // namespace

ShmGroup::ShmGroup(const BackendRequest& request, size_t segment_bytes)
    : rank_(request.rank), members_(request.members), timeout_(request.timeout) {
  ShmSegment own = ShmSegment::create(name(rank_), segment_bytes);
  const std::string address = own.address();
  request.store->set(key_of(rank_), std::vector<uint8_t>(address.begin(), address.end()));
  for (int rank = 0; rank < request.world_size; ++rank) {
    if (rank == rank_) {
      segments_.push_back(std::move(own));  // NOLINT(bugprone-use-after-move): happens once
      continue;
    }
    request.store->wait({key_of(rank)}, timeout_);
    const std::vector<uint8_t> found = request.store->get(key_of(rank));
    segments_.push_back(ShmSegment::open(name(rank), std::string(found.begin(), found.end()), segment_bytes));
  }
  // Nobody goes on, and perhaps ends, before all have opened its segment.
  begin();
  wait_for_all(publish());
}

std::string ShmGroup::name(int rank) const {
  return "rank " + std::to_string(members_[static_cast<size_t>(rank)]);
}

void ShmGroup::begin() {
  deadline_ = std::chrono::steady_clock::now() + timeout_;
  if (segments_[static_cast<size_t>(rank_)].header().aborted.load() != 0) {
    TORCH_CHECK_WITH(DistBackendError, false, "an earlier operation of the group has failed");
  }
}

ShmGroup::Event ShmGroup::publish() {
  SegmentHeader& own = segments_[static_cast<size_t>(rank_)].header();
  own.progress.store(++published_);
  if (own.sleepers.load() != 0) futex_wake(own.progress);
  return published_;
}

bool ShmGroup::reached(int rank, Event event) const {
  const uint32_t progress =
      segments_[static_cast<size_t>(rank)].header().progress.load(std::memory_order_acquire);
  return static_cast<int32_t>(progress - event) >= 0;
}

void ShmGroup::wait_for(int rank, Event event) {
  if (reached(rank, event) || reached_awake(rank, event)) return;
  while (!reached(rank, event)) sleep_for(rank, event);
}

bool ShmGroup::reached_awake(int rank, Event event) const {
  for (int i = 0; i < kSpins; ++i) {
    pause_briefly();
    if (reached(rank, event)) return true;
  }
  const auto end = std::chrono::steady_clock::now() + kAwake;
  do {
    ::sched_yield();
    if (reached(rank, event)) return true;
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

void ShmGroup::wait_for_all(Event event) {
  for (int i = 1; i < size(); ++i) wait_for((rank_ + i) % size(), event);
}

void ShmGroup::sleep_for(int rank, Event event) {
  SegmentHeader& peer = segments_[static_cast<size_t>(rank)].header();
  // Announced before the last look, so that the peer cannot publish unseen between the look and the sleep.
  peer.sleepers.fetch_add(1);
  const uint32_t seen = peer.progress.load();
  if (!reached(rank, event)) futex_wait(peer.progress, seen, kLookAround);
  peer.sleepers.fetch_sub(1);
  if (reached(rank, event)) return;
  // One that has passed the last operation may have ended since that look: who has ended, then whether the event is there now.
  const std::optional<std::string> trouble = trouble_of_peers();
  if (reached(rank, event)) return;
  TORCH_CHECK_WITH(DistBackendError, !trouble, *trouble);
  if (std::chrono::steady_clock::now() < deadline_) return;
  TORCH_CHECK_WITH(DistBackendError, false, name(rank), " did nothing for ", timeout_.count(), " ms");
}

std::optional<std::string> ShmGroup::trouble_of_peers() const {
  for (int rank = 0; rank < size(); ++rank) {
    const ShmSegment& segment = segments_[static_cast<size_t>(rank)];
    if (segment.header().aborted.load() != 0) return name(rank) + " gave up";
    if (rank != rank_ && !segment.owner_lives()) return name(rank) + " is gone";
  }
  return std::nullopt;
}

void ShmGroup::abort() {
  segments_[static_cast<size_t>(rank_)].header().aborted.store(1);
}

void ShmGroup::disagree(int rank) const {
  TORCH_CHECK_WITH(DistBackendError, false, name(rank_), " and ", name(rank),
                   " did not issue the same operation");
}

}  // namespace hftrain::comm
