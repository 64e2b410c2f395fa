#include "hftrain/reporting/wandb_log.h"

#include <fcntl.h>
#include <isa-l/crc.h>

#include <cerrno>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/reporting/protobuf.h"

namespace hftrain::reporting {
namespace {

constexpr size_t kLogBlock = 32768, kPieceHeader = 7;
enum PieceType : char { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };
constexpr std::string_view kFileHeader("\x3aW&B\xe1\xbe\x00", 7);  // identity, magic number, version

// Checksum of type and content, length, type, content.
std::string piece(PieceType type, std::string_view content) {
  const std::string typed = static_cast<char>(type) + std::string(content);
  const uint64_t checksum =
      ::crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(typed.data()), typed.size());
  return little_endian(checksum, 4) + little_endian(content.size(), 2) + typed;
}

}  // namespace

WandbLog::WandbLog(const std::string& path)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666)) {
  if (!file_) throw system_error(errno, "cannot create", path, ExitCode::kDisk);
  write_all(file_.get(), kFileHeader, path_);
  written_ = kFileHeader.size();
}

void WandbLog::append(std::string_view record) {
  std::string bytes;
  bool begun = false;
  for (bool done = false; !done;) {
    size_t room = kLogBlock - (written_ + bytes.size()) % kLogBlock;
    if (room < kPieceHeader) bytes.append(std::exchange(room, kLogBlock), '\0');
    const std::string_view content = record.substr(0, room - kPieceHeader);
    record.remove_prefix(content.size());
    done = record.empty();
    bytes += piece(begun ? (done ? kLast : kMiddle) : (done ? kFull : kFirst), content);
    begun = true;
  }
  write_all(file_.get(), bytes, path_);
  written_ += bytes.size();
}

}  // namespace hftrain::reporting
