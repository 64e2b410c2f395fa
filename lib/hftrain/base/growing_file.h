// A file that is written piece by piece and appears whole.
#pragma once

#include <string>
#include <string_view>

#include "hftrain/base/file.h"
#include "hftrain/base/new_file.h"

namespace hftrain {

// A temporary sibling of `path`, which keep() puts into its place; until then readers see what was there before.
// What is not kept is removed with the object. Used by one thread; every failure is an Error that names the path.
class GrowingFile {
 public:
  // Creates missing parent folders.
  explicit GrowingFile(std::string path, FileAccess access = FileAccess::kShared);
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  ~GrowingFile();

  // Small pieces are collected in memory, 64 KiB of them at most.
  void append(std::string_view bytes);
  // Synced, renamed over `path`, and the folder synced. Nothing can be appended behind it.
  void keep();

 private:
  void create(FileAccess access);
  void flush();

  std::string path_, folder_;
  std::string temporary_;  // empty: kept
  FileDescriptor file_;
  std::string waiting_;
};

}  // namespace hftrain
