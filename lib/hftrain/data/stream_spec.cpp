#include "hftrain/data/stream_spec.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::data {
namespace {

struct stat status_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw system_error(errno, "cannot read a data file", path, ExitCode::kData);
  return status;
}

int64_t modified_ns(const struct stat& status) {
  return status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
}

}  // namespace

Json FileStamp::key() const {
  return {std::filesystem::path(path).filename().string(), static_cast<int>(format), bytes, modified_ns};
}

FileStamp stamp_of(const RowFile& file) {
  const struct stat status = status_of(file.path);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ExitCode::kData, "cannot stream from what is not a file")
        .where(file.path)
        .why("the data are read from their beginning again: in the next epoch, and when a run is resumed")
        .hint("write it to a file first");
  }
  const std::string path = std::filesystem::absolute(file.path).lexically_normal().string();
  return {path, file.format, static_cast<uint64_t>(status.st_size), modified_ns(status)};
}

void check_stamp(const FileStamp& stamp, ChangedTime time) {
  const struct stat status = status_of(stamp.path);
  const auto bytes = static_cast<uint64_t>(status.st_size);
  const bool other_time = time == ChangedTime::kMatters && modified_ns(status) != stamp.modified_ns;
  if (bytes == stamp.bytes && !other_time) return;
  throw Error(ExitCode::kData, "a data file has changed while the run reads it")
      .where(stamp.path)
      .why(bytes != stamp.bytes
               ? "it had " + with_thousands(static_cast<int64_t>(stamp.bytes)) +
                     " bytes when the run began, and has " + with_thousands(static_cast<int64_t>(bytes))
               : "it was written to since the run began")
      .hint(
          "put the file back as it was and resume; or name the new file and begin with "
          "--model_name_or_path CHECKPOINT, or go on with --resume_from_checkpoint and --ignore_data_skip");
}

}  // namespace hftrain::data
