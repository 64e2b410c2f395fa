#include "hftrain/interchange/zip_writer.h"

#include <algorithm>

#include "hftrain/base/error.h"
#include "hftrain/interchange/crc32.h"
#include "hftrain/interchange/zip_format.h"

namespace hftrain::interchange {
namespace {

constexpr size_t kAlignment = 64;
constexpr uint16_t kVersion = 45;  // of readers that know zip64
constexpr uint16_t kPaddingField = 0x4246;
constexpr size_t kFieldHead = 4;
constexpr size_t kPieceBytes = size_t{8} << 20;

template <typename Integer>
void append_number(std::string& text, Integer value) {
  for (size_t i = 0; i < sizeof value; ++i)
    text += static_cast<char>((static_cast<uint64_t>(value) >> (8 * i)) & 0xff);
}

void append_field(std::string& text, uint16_t kind, const std::string& body) {
  append_number<uint16_t>(text, kind);
  append_number<uint16_t>(text, static_cast<uint16_t>(body.size()));
  text += body;
}

bool is_large(uint64_t number) {
  return number >= kSaturated;
}
uint32_t small(uint64_t number) {
  return static_cast<uint32_t>(std::min(number, kSaturated));
}

// What a header and a directory's entry begin with. A header in front of the bytes does not know their checksum.
void append_common(std::string& text, uint32_t crc, uint64_t size, const std::string& name, size_t extra) {
  append_number<uint16_t>(text, kVersion);
  append_number<uint16_t>(text, kChecksumFollowsFlag | kUnicodeFlag);
  append_number<uint16_t>(text, 0);           // stored
  append_number<uint32_t>(text, 0x00210000);  // the first day of 1980
  append_number<uint32_t>(text, crc);
  append_number<uint32_t>(text, small(size));
  append_number<uint32_t>(text, small(size));
  append_number<uint16_t>(text, static_cast<uint16_t>(name.size()));
  append_number<uint16_t>(text, static_cast<uint16_t>(extra));
}

// The sizes stand here already: only the checksum follows.
std::string header_of(const std::string& name, uint64_t at, uint64_t size) {
  std::string extra;
  if (is_large(size)) {
    std::string sizes;
    append_number<uint64_t>(sizes, size);
    append_number<uint64_t>(sizes, size);
    append_field(extra, kLargeField, sizes);
  }
  const size_t begin = at + kHeaderBytes + name.size() + extra.size() + kFieldHead;
  append_field(extra, kPaddingField, std::string((kAlignment - begin % kAlignment) % kAlignment, '\0'));
  std::string header;
  append_number<uint32_t>(header, kHeaderSignature);
  append_common(header, 0, size, name, extra.size());
  return header + name + extra;
}

std::string checksum_record(uint32_t crc, uint64_t size) {
  std::string record;
  append_number<uint32_t>(record, kChecksumSignature);
  append_number<uint32_t>(record, crc);
  for (int i = 0; i < 2; ++i) {
    if (is_large(size)) {
      append_number<uint64_t>(record, size);
    } else {
      append_number<uint32_t>(record, static_cast<uint32_t>(size));
    }
  }
  return record;
}

std::string listed(const std::string& name, uint32_t crc, uint64_t size, uint64_t header) {
  std::string large, extra, entry;
  if (is_large(size)) {
    append_number<uint64_t>(large, size);
    append_number<uint64_t>(large, size);
  }
  if (is_large(header)) append_number<uint64_t>(large, header);
  if (!large.empty()) append_field(extra, kLargeField, large);
  append_number<uint32_t>(entry, kEntrySignature);
  append_number<uint16_t>(entry, kVersion);
  append_common(entry, crc, size, name, extra.size());
  append_number<uint16_t>(entry, 0);  // comment
  append_number<uint16_t>(entry, 0);  // disk
  append_number<uint16_t>(entry, 0);  // attributes
  append_number<uint32_t>(entry, 0);
  append_number<uint32_t>(entry, small(header));
  return entry + name + extra;
}

// Always with zip64's records, as torch.save writes them.
std::string end_of(uint64_t begin, uint64_t bytes, uint64_t count) {
  std::string end;
  append_number<uint32_t>(end, kLargeEndSignature);
  append_number<uint64_t>(end, kLargeEndBytes - 12);  // what follows
  append_number<uint16_t>(end, kVersion);
  append_number<uint16_t>(end, kVersion);
  append_number<uint64_t>(end, 0);  // disks
  append_number<uint64_t>(end, count);
  append_number<uint64_t>(end, count);
  append_number<uint64_t>(end, bytes);
  append_number<uint64_t>(end, begin);
  append_number<uint32_t>(end, kLocatorSignature);
  append_number<uint32_t>(end, 0);
  append_number<uint64_t>(end, begin + bytes);
  append_number<uint32_t>(end, 1);
  append_number<uint32_t>(end, kEndSignature);
  append_number<uint32_t>(end, 0);
  const auto few = static_cast<uint16_t>(std::min<uint64_t>(count, 0xffff));
  append_number<uint16_t>(end, few);
  append_number<uint16_t>(end, few);
  append_number<uint32_t>(end, small(bytes));
  append_number<uint32_t>(end, small(begin));
  append_number<uint16_t>(end, 0);
  return end;
}

}  // namespace

ZipWriter::ZipWriter(storage::FileSystem& files, const std::string& path, uint64_t expected_bytes)
    : path_(path), file_(files.create(path)) {
  file_->reserve(expected_bytes);
}

void ZipWriter::begin(const std::string& name, uint64_t size) {
  if (missing_ != 0) refuse("'" + entries_.back().name + "' lacks " + std::to_string(missing_) + " bytes");
  entries_.push_back({name, size_, size, 0});
  missing_ = size;
  put(header_of(name, size_, size));
}

void ZipWriter::write(std::string_view bytes) {
  if (entries_.empty() || bytes.size() > missing_) refuse("more bytes came than an entry has");
  missing_ -= bytes.size();
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kPieceBytes, bytes.size()))) {
    const std::string_view piece = bytes.substr(0, kPieceBytes);
    entries_.back().crc = crc32(piece, entries_.back().crc);
    put(piece);
  }
}

void ZipWriter::end() {
  if (missing_ != 0) refuse("'" + entries_.back().name + "' lacks " + std::to_string(missing_) + " bytes");
  put(checksum_record(entries_.back().crc, entries_.back().size));
}

void ZipWriter::add(const std::string& name, std::string_view bytes) {
  begin(name, bytes.size());
  write(bytes);
  end();
}

storage::FileRecord ZipWriter::finish() {
  const uint64_t begin = size_;
  for (const Entry& entry : entries_) put(listed(entry.name, entry.crc, entry.size, entry.header));
  put(end_of(begin, size_ - begin, entries_.size()));
  file_->sync();
  file_.reset();
  return {path_, size_, hasher_.hex()};
}

void ZipWriter::put(std::string_view bytes) {
  hasher_.update(bytes);
  file_->write(bytes);
  size_ += bytes.size();
}

void ZipWriter::refuse(const std::string& why) const {
  throw Error(ExitCode::kInternal, "bytes of a zip file came out of order").where(path_).why(why);
}

}  // namespace hftrain::interchange
