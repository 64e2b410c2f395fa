// Every record that a run has logged, as trainer_state.json lists them. Kept as compressed text, some dozens
// of bytes a record: a run may log millions of them, and as values each would take a kilobyte, in pieces
// between everything else.
#pragma once

#include <string>
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
  // All records as values; large, for the end of a run.
  Json records() const;

 private:
  // The elements, indented, with commas between them: blocks compressed by zstd, and what comes after them.
  std::vector<std::string> blocks_;
  std::string open_;
};

}  // namespace hftrain::reporting
