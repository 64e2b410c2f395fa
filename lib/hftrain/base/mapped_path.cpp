#include "hftrain/base/mapped_path.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace hftrain {
namespace {

uint64_t hexadecimal(const char*& at, const char* end) {
  uint64_t value = 0;
  for (; at != end; ++at) {
    const char c = *at;
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value * 16 + static_cast<uint64_t>(c - 'a' + 10);
    } else {
      break;
    }
  }
  return value;
}

// Of a line "from-to perms offset device inode   path".
bool holds(const char* line, size_t size, uint64_t address) {
  const char* at = line;
  const uint64_t from = hexadecimal(at, line + size);
  if (at == line + size) return false;
  ++at;
  return address >= from && address < hexadecimal(at, line + size);
}

}  // namespace

bool MappedPath::find(uint64_t address) {
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return false;
  std::array<char, 1024> buffer;
  size_t size = 0;
  bool found = false;
  for (ssize_t count; !found && (count = ::read(maps, buffer.data(), buffer.size())) > 0;) {
    for (ssize_t i = 0; i < count && !found; ++i) {
      const char c = buffer[static_cast<size_t>(i)];
      if (c != '\n') {
        if (size < line_.size()) line_[size++] = c;
        continue;
      }
      found = holds(line_.data(), size, address);
      if (!found) size = 0;
    }
  }
  ::close(maps);
  const void* slash = found ? std::memchr(line_.data(), '/', size) : nullptr;
  if (slash == nullptr) return false;
  text_ = static_cast<const char*>(slash);
  size_ = static_cast<size_t>(line_.data() + size - text_);
  return true;
}

}  // namespace hftrain
