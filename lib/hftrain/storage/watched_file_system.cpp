#include "hftrain/storage/watched_file_system.h"

#include <utility>

namespace hftrain::storage {
namespace {

class WatchedFile final : public WritableFile {
 public:
  WatchedFile(std::unique_ptr<WritableFile> file, const ByteProgress& progress)
      : file_(std::move(file)), progress_(progress) {}
  void reserve(uint64_t bytes) override { file_->reserve(bytes); }
  void write(std::string_view bytes) override {
    file_->write(bytes);
    if (progress_) progress_(bytes.size());
  }
  void sync() override { file_->sync(); }

 private:
  std::unique_ptr<WritableFile> file_;
  ByteProgress progress_;
};

}  // namespace

std::unique_ptr<WritableFile> WatchedFileSystem::create(const std::string& path) {
  return std::make_unique<WatchedFile>(files_.create(path), progress_);
}

}  // namespace hftrain::storage
