// Every record that a run has logged, as trainer_state.json lists them. Kept as compressed text, some dozens
// of bytes a record: a run may log millions of them, and as values each would take a kilobyte, in pieces
// between everything else. A copy shares the compressed text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/base/json.h"

namespace hftrain::reporting {

class LogHistory {
 public:
  LogHistory() = default;
  // From the list of a file; what is no list counts as empty.
  explicit LogHistory(const Json& records);

  void add(const Json& record);
  bool empty() const { return blocks_.empty() && open_.empty(); }

  // The list as it stands in trainer_state.json: json.dumps(records, indent=2, sort_keys=True), one level in.
  std::string text() const;
  // `head`, that list, `tail`, in one buffer that goes back to the system when it is freed: written at every
  // save and longer each time, it would find no room in the holes of a heap and leave another one.
  std::string text_between(std::string_view head, std::string_view tail) const;
  // All records as values; large, for the end of a run.
  Json records() const;

 private:
  // The elements, indented, with commas between them: blocks compressed by zstd, and what comes after them.
  std::vector<std::shared_ptr<const std::string>> blocks_;
  size_t block_text_ = 0;  // bytes of the blocks' text
  std::string open_;
};

}  // namespace hftrain::reporting
