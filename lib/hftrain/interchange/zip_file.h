// A zip file as torch.save writes one: its entries are stored as they are, so each is a part of the mapped file that a
// tensor can be read from without a copy. Format: PKWARE's APPNOTE 6.3, with zip64.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain::interchange {

struct ZipEntry {
  std::string_view bytes;  // valid while the ZipFile lives
  uint32_t crc = 0;        // as the file gives it
};

// Error(kData): `path` is no file of torch.save, or a damaged one, because of `why`.
Error not_a_torch_file(const std::string& path, const std::string& why);

// Mapped read-only and checked when opened: the directory and the header of each entry lie inside the file and say the same,
// entries do not overlap, no name occurs twice, nothing is compressed or encrypted. Any violation is Error(kData)
// naming the file. Checksums are compared when asked for. Several threads may read it.
class ZipFile {
 public:
  explicit ZipFile(const std::string& path);
  // Of a part of a file that the caller keeps mapped; `origin` is what messages call it.
  ZipFile(std::string origin, std::string_view bytes);

  const std::string& path() const noexcept { return origin_; }
  const std::map<std::string, ZipEntry, std::less<>>& entries() const noexcept { return entries_; }
  // nullptr when there is no such entry.
  const ZipEntry* find(std::string_view name) const;
  // Error(kData) naming the entry when its bytes do not have its checksum. Lets its pages go.
  void check(std::string_view name) const;

 private:
  void read_directory(std::string_view bytes);

  std::optional<MappedFile> file_;
  std::string origin_;
  std::map<std::string, ZipEntry, std::less<>> entries_;
};

}  // namespace hftrain::interchange
