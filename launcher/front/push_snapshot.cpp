#include "launcher/front/push_snapshot.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "launcher/front/pushed_files.h"

namespace hftrain::front {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceOfACopy = size_t{1} << 20;

}  // namespace

PushSnapshot::PushSnapshot(std::string folder, const std::atomic<bool>& stop)
    : folder_(std::move(folder)), stop_(stop) {
  fs::remove_all(folder_);
  create_directories(folder_);
}

PushSnapshot::~PushSnapshot() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void PushSnapshot::take_output(const std::string& output_dir) {
  for (const std::string& path : files_of_output(output_dir)) take(output_dir + '/' + path, path, false);
}

bool PushSnapshot::take_model(const std::string& output_dir, const std::string& checkpoint) {
  const std::optional<ModelFiles> files = files_of_model(output_dir, checkpoint);
  if (!files) return false;
  for (const std::string& path : files->of_checkpoint) take(checkpoint + '/' + path, path, false);
  for (const std::string& path : files->of_output) take(output_dir + '/' + path, path, true);
  return true;
}

void PushSnapshot::take_checkpoint(const std::string& checkpoint, const std::string& name) {
  for (const std::string& path : files_of_checkpoint(checkpoint))
    take(checkpoint + '/' + path, name + '/' + path, false);
}

void PushSnapshot::take(const std::string& from, const std::string& path, bool changes) {
  const std::string to = folder_ + '/' + path;
  create_directories(fs::path(to).parent_path().string());
  std::error_code failed;
  const bool copied = changes || fs::is_symlink(from);  // a link to a link leads elsewhere from its new place
  if (!copied) fs::create_hard_link(from, to, failed);
  if (copied || failed) copy(from, to);  // a file system without hard links
  files_.push_back({to, path});
}

// In pieces, for the end of a run does not wait for the rest of a large file.
void PushSnapshot::copy(const std::string& from, const std::string& to) const {
  const FileDescriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  const FileDescriptor target(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  std::vector<char> buffer(kPieceOfACopy);
  ssize_t got = source && target ? 1 : -1;
  while (got > 0) {
    if (stop_)
      throw Error(ExitCode::kDisk, "cannot keep for the push")
          .where(from)
          .why("it was stopped")
          .hint("start again");
    got = ::read(source.get(), buffer.data(), buffer.size());
    if (got > 0) write_all(target.get(), {buffer.data(), static_cast<size_t>(got)}, to);
  }
  if (got < 0) throw system_error(errno, "cannot keep for the push", from, ExitCode::kDisk);
}

}  // namespace hftrain::front
