#include "hftrain/interchange/zip_file.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "hftrain/base/checked_arithmetic.h"
#include "hftrain/base/error.h"
#include "hftrain/interchange/crc32.h"
#include "hftrain/interchange/zip_format.h"

namespace hftrain::interchange {
namespace {

constexpr size_t kLongestComment = 0xffff;

// Numbers of a header, little-endian, one after another. What lies behind the end is Error(kData).
class HeaderReader {
 public:
  HeaderReader(const std::string& path, std::string_view bytes, uint64_t at) : path_(path), bytes_(bytes) {
    if (at > bytes.size())
      throw not_a_torch_file(path, "a header lies behind its end: the file is cut short or damaged");
    rest_ = bytes.substr(at);
  }
  template <typename Integer>
  Integer number() {
    Integer value = 0;
    const std::string_view field = text(sizeof value);
    std::memcpy(&value, field.data(), sizeof value);
    return value;
  }
  std::string_view text(size_t length) {
    if (length > rest_.size()) throw not_a_torch_file(path_, "a header is cut short");
    const std::string_view field = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return field;
  }
  void expect(uint32_t signature, const char* what) {
    if (number<uint32_t>() != signature)
      throw not_a_torch_file(path_, std::string("there is no ") + what + " where one is due");
  }
  uint64_t place() const { return bytes_.size() - rest_.size(); }

 private:
  const std::string& path_;
  std::string_view bytes_, rest_;
};

struct Directory {
  uint64_t begin = 0, bytes = 0, count = 0;
};

// Where the record at the end of the file begins: the last place from which its comment reaches to the end exactly.
uint64_t place_of_end(const std::string& path, std::string_view bytes) {
  if (bytes.size() >= kEndBytes) {
    const size_t last = bytes.size() - kEndBytes, first = last - std::min(last, kLongestComment);
    for (size_t at = last + 1; at-- > first;) {
      uint32_t signature = 0;
      uint16_t comment = 0;
      std::memcpy(&signature, bytes.data() + at, sizeof signature);
      std::memcpy(&comment, bytes.data() + at + kEndBytes - sizeof comment, sizeof comment);
      if (signature == kEndSignature && at + kEndBytes + comment == bytes.size()) return at;
    }
  }
  throw not_a_torch_file(path, "it does not end as a zip file does: it is cut short, or it is none");
}

std::optional<Directory> large_directory(const std::string& path, std::string_view bytes, uint64_t end) {
  if (end < kLocatorBytes) return std::nullopt;
  HeaderReader locator(path, bytes, end - kLocatorBytes);
  if (locator.number<uint32_t>() != kLocatorSignature) return std::nullopt;
  locator.text(sizeof(uint32_t));  // the disk that it is on
  HeaderReader record(path, bytes, locator.number<uint64_t>());
  record.expect(kLargeEndSignature, "zip64 record");
  record.text(8 + 2 + 2 + 4 + 4 + 8);  // its size, versions, disks, and the entries of this disk
  Directory directory;
  directory.count = record.number<uint64_t>();
  directory.bytes = record.number<uint64_t>();
  directory.begin = record.number<uint64_t>();
  return directory;
}

Directory directory_of(const std::string& path, std::string_view bytes) {
  const uint64_t end = place_of_end(path, bytes);
  std::optional<Directory> found = large_directory(path, bytes, end);
  if (!found) {
    HeaderReader record(path, bytes, end);
    record.text(4 + 2 + 2 + 2);  // signature, disks, and the entries of this disk
    found.emplace();
    found->count = record.number<uint16_t>();
    found->bytes = record.number<uint32_t>();
    found->begin = record.number<uint32_t>();
  }
  const std::optional<uint64_t> behind = checked_sum(found->begin, found->bytes);
  if (!behind || *behind > end)
    throw not_a_torch_file(path, "its directory does not lie in front of its end");
  if (found->count > found->bytes / kEntryBytes)
    throw not_a_torch_file(path, "its directory is too short for its entries");
  return *found;
}

struct Listed {
  std::string name;
  uint32_t crc = 0;
  uint64_t stored = 0, size = 0, header = 0;
};

// Sizes and places that do not fit 32 bits stand in an extra field, those that are saturated and only those.
void take_large_numbers(const std::string& path, std::string_view extra, Listed& entry) {
  HeaderReader fields(path, extra, 0);
  while (fields.place() + 4 <= extra.size()) {
    const auto kind = fields.number<uint16_t>();
    const std::string_view body = fields.text(fields.number<uint16_t>());
    if (kind != kLargeField) continue;
    HeaderReader numbers(path, body, 0);
    for (uint64_t* number : {&entry.size, &entry.stored, &entry.header}) {
      if (*number == kSaturated) *number = numbers.number<uint64_t>();
    }
  }
}

Listed read_listed(const std::string& path, HeaderReader& directory) {
  Listed entry;
  directory.expect(kEntrySignature, "entry of its directory");
  directory.text(2 + 2);  // versions
  const auto flags = directory.number<uint16_t>(), method = directory.number<uint16_t>();
  directory.text(2 + 2);  // time
  entry.crc = directory.number<uint32_t>();
  entry.stored = directory.number<uint32_t>();
  entry.size = directory.number<uint32_t>();
  const auto name = directory.number<uint16_t>(), extra = directory.number<uint16_t>(),
             comment = directory.number<uint16_t>();
  directory.text(2 + 2 + 4);  // disk and attributes
  entry.header = directory.number<uint32_t>();
  entry.name = directory.text(name);
  take_large_numbers(path, directory.text(extra), entry);
  directory.text(comment);
  if ((flags & kEncryptedFlag) != 0) throw not_a_torch_file(path, "'" + entry.name + "' in it is encrypted");
  if (method != 0 || entry.stored != entry.size)
    throw not_a_torch_file(path, "'" + entry.name + "' in it is compressed, which torch.save never does");
  return entry;
}

// Where the bytes of an entry begin, behind a header of its own that names it, too.
uint64_t begin_of(const std::string& path, std::string_view bytes, const Listed& entry) {
  HeaderReader header(path, bytes, entry.header);
  header.expect(kHeaderSignature, "header of an entry");
  header.text(kHeaderBytes - 4 - 4);
  const auto name = header.number<uint16_t>(), extra = header.number<uint16_t>();
  if (header.text(name) != entry.name)
    throw not_a_torch_file(path, "the header of '" + entry.name + "' names another entry");
  header.text(extra);
  return header.place();
}

struct Span {
  uint64_t begin = 0, end = 0;
};

void refuse_overlaps(const std::string& path, std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < spans.size(); ++i) {
    if (spans[i].begin < spans[i - 1].end) throw not_a_torch_file(path, "entries of it overlap");
  }
}

}  // namespace

Error not_a_torch_file(const std::string& path, const std::string& why) {
  return Error(ExitCode::kData, "not a file that torch.save writes")
      .where(path)
      .why(why)
      .hint(
          "copy it again, or use another checkpoint; --model_name_or_path starts a new run from its weights "
          "alone");
}

ZipFile::ZipFile(const std::string& path) : file_(path), origin_(path) {
  read_directory(file_->bytes());
}

ZipFile::ZipFile(std::string origin, std::string_view bytes) : origin_(std::move(origin)) {
  read_directory(bytes);
}

void ZipFile::read_directory(std::string_view bytes) {
  const std::string& path = origin_;
  const Directory place = directory_of(path, bytes);
  HeaderReader directory(path, bytes.substr(0, place.begin + place.bytes), place.begin);
  std::vector<Span> spans;
  for (uint64_t i = 0; i < place.count; ++i) {
    const Listed entry = read_listed(path, directory);
    const uint64_t begin = begin_of(path, bytes, entry);
    const std::optional<uint64_t> end = checked_sum(begin, entry.size);
    if (!end || *end > place.begin)
      throw not_a_torch_file(path, "'" + entry.name + "' does not lie in front of its directory");
    if (!entries_.emplace(entry.name, ZipEntry{bytes.substr(begin, entry.size), entry.crc}).second)
      throw not_a_torch_file(path, "it has two entries '" + entry.name + "'");
    spans.push_back({entry.header, *end});
  }
  refuse_overlaps(path, std::move(spans));
}

const ZipEntry* ZipFile::find(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

void ZipFile::check(std::string_view name) const {
  constexpr size_t kPiece = size_t{8} << 20;
  const ZipEntry* entry = find(name);
  if (entry == nullptr) throw not_a_torch_file(path(), "it holds no '" + std::string(name) + "'");
  uint32_t sum = 0;
  for (std::string_view rest = entry->bytes; !rest.empty();
       rest.remove_prefix(std::min(kPiece, rest.size()))) {
    const std::string_view piece = rest.substr(0, kPiece);
    sum = crc32(piece, sum);
    release_mapped(piece);
  }
  if (sum != entry->crc)
    throw not_a_torch_file(path(), "'" + std::string(name) + "' in it does not have its checksum");
}

}  // namespace hftrain::interchange
