// Real files below a folder, with trouble at a chosen operation: it fails (disk full, disk broken), or the
// machine "crashes" there. After a crash every operation is refused and lose_unsynced() turns the folder into
// what a disk may hold then: file bytes past the last sync are gone, and so are names (created files,
// folders, renames) whose folder was not synced.
#pragma once

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/storage/file_system.h"

namespace hftrain::testing {

struct Crash {};  // not an Error: nothing catches it by type

class FaultInjectingFileSystem final : public storage::FileSystem {
 public:
  enum class Trouble { kNone, kDiskFull, kWriteError, kCrash };

  // `at` counts operations from 0. kDiskFull: that operation and all later ones that need space fail.
  // kWriteError: that operation and all later ones, as on a disk that dies.
  explicit FaultInjectingFileSystem(Trouble trouble = Trouble::kNone, int at = 0)
      : trouble_(trouble), at_(at) {}

  int operations() const { return operations_; }
  bool happened() const { return operations_ > at_; }
  // Whether an operation failed that was not the deletion of what is of no more use.
  bool failed_in_save() const { return failed_in_save_; }

  std::unique_ptr<storage::WritableFile> create(const std::string& path) override {
    deleting_ = false;
    step(true);
    auto file = real_.create(path);
    if (written_.count(path) == 0) entries_.push_back({Entry::Kind::kCreated, path, ""});
    written_[path] = {0, 0};
    return std::make_unique<File>(*this, path, std::move(file));
  }
  void make_directory(const std::string& path) override {
    deleting_ = false;
    step(true);
    if (!std::filesystem::exists(path)) entries_.push_back({Entry::Kind::kCreated, path, ""});
    real_.make_directory(path);
  }
  void sync_directory(const std::string& path) override {
    step(false);
    std::erase_if(entries_, [&](const Entry& entry) { return parent(entry.path) == path; });
  }
  void rename(const std::string& from, const std::string& to) override {
    deleting_ = to.find(".trash-") != std::string::npos;
    step(false);
    real_.rename(from, to);
    for (Entry& entry : entries_) entry.path = moved(entry.path, from, to);
    std::map<std::string, Size> sizes;
    for (auto& [path, size] : written_) sizes[moved(path, from, to)] = size;
    written_ = std::move(sizes);
    entries_.push_back({Entry::Kind::kRenamed, to, from});
  }
  void remove(const std::string& path) override {
    const bool half = trouble_ == Trouble::kCrash && operations_ == at_;
    if (half) remove_one_file(path);
    step(false);
    real_.remove(path);
    std::erase_if(entries_, [&](const Entry& entry) { return moved(entry.path, path, "") != entry.path; });
    std::erase_if(written_, [&](const auto& item) { return moved(item.first, path, "") != item.first; });
  }

  // What the disk holds after the crash, at worst.
  void lose_unsynced() {
    for (const auto& [path, size] : written_) {
      if (std::filesystem::exists(path)) std::filesystem::resize_file(path, size.synced);
    }
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
      if (!std::filesystem::exists(entry->path)) continue;
      if (entry->kind == Entry::Kind::kCreated) {
        std::filesystem::remove_all(entry->path);
      } else {
        std::filesystem::rename(entry->path, entry->from);
        for (auto later = std::next(entry); later != entries_.rend(); ++later) {
          later->path = moved(later->path, entry->path, entry->from);
        }
      }
    }
  }

 private:
  struct Size {
    uint64_t written = 0;
    uint64_t synced = 0;
  };
  struct Entry {
    enum class Kind { kCreated, kRenamed };
    Kind kind;
    std::string path;
    std::string from;  // of a rename
  };

  class File final : public storage::WritableFile {
   public:
    File(FaultInjectingFileSystem& owner, std::string path, std::unique_ptr<storage::WritableFile> file)
        : owner_(owner), path_(std::move(path)), file_(std::move(file)) {}
    void reserve(uint64_t bytes) override {
      owner_.step(true);
      file_->reserve(bytes);
    }
    void write(std::string_view bytes) override {
      if (owner_.about_to_crash()) {  // half of it had reached the disk
        file_->write(bytes.substr(0, bytes.size() / 2));
      }
      owner_.step(true);
      file_->write(bytes);
      owner_.written_[path_].written += bytes.size();
    }
    void sync() override {
      owner_.step(true);
      owner_.written_[path_].synced = owner_.written_[path_].written;
    }

   private:
    FaultInjectingFileSystem& owner_;
    std::string path_;
    std::unique_ptr<storage::WritableFile> file_;
  };

  bool about_to_crash() const { return trouble_ == Trouble::kCrash && operations_ == at_; }

  void step(bool needs_space) {
    const int now = operations_++;
    if (trouble_ == Trouble::kNone || now < at_) return;
    if (trouble_ == Trouble::kCrash) throw Crash();
    if (trouble_ == Trouble::kDiskFull && !needs_space && now != at_) return;
    failed_in_save_ = failed_in_save_ || !deleting_;
    if (trouble_ == Trouble::kWriteError) throw system_error(EIO, "cannot use", "the disk of this test");
    throw system_error(ENOSPC, "cannot write", "the disk of this test");
  }

  static std::string parent(const std::string& path) {
    return std::filesystem::path(path).parent_path().string();
  }
  static std::string moved(const std::string& path, const std::string& from, const std::string& to) {
    const bool inside = path == from || (path.size() > from.size() &&
                                         path.compare(0, from.size(), from) == 0 && path[from.size()] == '/');
    return inside ? to + path.substr(from.size()) : path;
  }
  static void remove_one_file(const std::string& path) {
    if (!std::filesystem::is_directory(path)) return;
    for (const auto& item : std::filesystem::directory_iterator(path)) {
      if (!item.is_regular_file()) continue;
      std::filesystem::remove(item.path());
      return;
    }
  }

  storage::PosixFileSystem real_;
  Trouble trouble_;
  int at_;
  int operations_ = 0;
  bool deleting_ = false;  // since a name was given to the trash, until something new is made
  bool failed_in_save_ = false;
  std::map<std::string, Size> written_;
  std::vector<Entry> entries_;  // names that are not durable yet, oldest first
};

}  // namespace hftrain::testing
