// Every record that a run has logged, as trainer_state.json lists them. Kept as text, about a hundred bytes a
// record: a run may log millions of them, and as values each would take ten times as much, in pieces between
// everything else.
#pragma once

#include <string>

#include "hftrain/base/json.h"

namespace hftrain::reporting {

class LogHistory {
 public:
  LogHistory() = default;
  // From the list of a file; what is no list counts as empty.
  explicit LogHistory(const Json& records);

  void add(const Json& record);
  bool empty() const { return text_.empty(); }

  // The list as it stands in trainer_state.json: json.dumps(records, indent=2, sort_keys=True), one level in.
  std::string text() const;
  // All records as values; large, for the end of a run.
  Json records() const;

 private:
  std::string text_;  // the elements, indented, with commas between them
};

}  // namespace hftrain::reporting
