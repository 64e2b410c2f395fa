#include "hftrain/reporting/log_history.h"

#include <zstd.h>

#include "hftrain/base/error.h"
#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {
namespace {

constexpr size_t kBlock = 64 << 10;  // bytes of text
constexpr int kLevel = 3;

std::string compressed(const std::string& text) {
  std::string block(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(block.data(), block.size(), text.data(), text.size(), kLevel);
  if (ZSTD_isError(size)) throw Error(ExitCode::kInternal, "the log's history could not be compressed");
  block.resize(size);
  block.shrink_to_fit();
  return block;
}

void append_text_of(const std::string& block, std::string& text) {
  const size_t begin = text.size();
  const size_t size = ZSTD_getFrameContentSize(block.data(), block.size());
  text.resize(begin + size);
  if (ZSTD_decompress(text.data() + begin, size, block.data(), block.size()) != size)
    throw Error(ExitCode::kInternal, "the log's history could not be read back");
}

}  // namespace

LogHistory::LogHistory(const Json& records) {
  if (!records.is_array()) return;
  for (const Json& record : records) add(record);
}

void LogHistory::add(const Json& record) {
  if (!empty()) open_ += ",\n";
  open_ += "    ";
  for (const char character : python_json(record, 2)) {
    open_ += character;
    if (character == '\n') open_ += "    ";
  }
  if (open_.size() < kBlock) return;
  blocks_.push_back(compressed(open_));
  open_.clear();
}

std::string LogHistory::text() const {
  if (empty()) return "[]";
  std::string text = "[\n";
  text.reserve((blocks_.size() + 2) * kBlock * 5 / 4);
  for (const std::string& block : blocks_) append_text_of(block, text);
  return text + open_ + "\n  ]";
}

Json LogHistory::records() const {
  return parse_json(text(), "the log of this run");
}

}  // namespace hftrain::reporting
