#include "hftrain/data/cache_use.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <ctime>
#include <utility>

namespace hftrain::data {
namespace {

// Locks of several machines on one file system want the file open for writing, which not every reader may.
FileDescriptor open_record(const std::string& folder) {
  const std::string path = folder + '/' + kCacheRecord;
  const int both = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  return FileDescriptor(both >= 0 ? both : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

// The record that was opened is still the one of that name.
bool is_still_there(const FileDescriptor& record, const std::string& folder) {
  struct stat held {
  }, named{};
  return ::fstat(record.get(), &held) == 0 && ::stat((folder + '/' + kCacheRecord).c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

// One that is being looked at or removed is waited for: that is over at once.
void share(const FileDescriptor& record) {
  while (::flock(record.get(), LOCK_SH) != 0 && errno == EINTR) {
  }
}

// Whether somebody uses it; who only looks, as this does, is gone a moment later.
bool is_shared(const FileDescriptor& record) {
  constexpr int kTries = 3;
  constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 5'000'000};
  for (int i = 0; i < kTries; ++i) {
    if (::flock(record.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return false;
    ::nanosleep(&kMoment, nullptr);
  }
  return true;
}

}  // namespace

Json record_of(const std::string& folder) {
  return read_json_file(folder + '/' + kCacheRecord);
}

std::optional<CacheUse> CacheUse::take(const std::string& folder) {
  FileDescriptor record = open_record(folder);
  if (!record) return std::nullopt;
  share(record);
  if (!is_still_there(record, folder)) return std::nullopt;
  ::futimens(record.get(), nullptr);  // of somebody else's entry it may not be possible
  return CacheUse(std::move(record));
}

CacheRemoval::CacheRemoval(const std::string& folder) : record_(open_record(folder)) {
  if (!record_) return;
  if (is_shared(record_)) {
    answer_ = Answer::kInUse;
  } else if (is_still_there(record_, folder)) {
    answer_ = Answer::kFree;
  }
}

}  // namespace hftrain::data
