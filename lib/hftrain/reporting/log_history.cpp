#include "hftrain/reporting/log_history.h"

#include <zstd.h>

#include <algorithm>

#include "hftrain/base/error.h"
#include "hftrain/reporting/python_text.h"

namespace hftrain::reporting {
namespace {

constexpr size_t kHistoryBlock = 64 << 10;  // bytes of text
constexpr int kLevel = 3;
constexpr size_t kOwnPages = size_t{2}
                             << 20;  // bytes; what is larger malloc maps by itself (tensor_memory.cpp)

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
  if (open_.size() < kHistoryBlock) return;
  blocks_.push_back(std::make_shared<const std::string>(compressed(open_)));
  block_text_ += open_.size();
  open_.clear();
}

std::string LogHistory::text() const {
  return text_between("", "");
}

std::string LogHistory::text_between(std::string_view head, std::string_view tail) const {
  constexpr std::string_view kOpen = "[\n", kClose = "\n  ]", kNone = "[]";
  std::string text;
  text.reserve(std::max(
      kOwnPages, head.size() + kOpen.size() + block_text_ + open_.size() + kClose.size() + tail.size()));
  text += head;
  if (empty()) return text.append(kNone).append(tail);
  text += kOpen;
  for (const auto& block : blocks_) append_text_of(*block, text);
  return text.append(open_).append(kClose).append(tail);
}

Json LogHistory::records() const {
  return parse_json(text(), "the log of this run");
}

}  // namespace hftrain::reporting
