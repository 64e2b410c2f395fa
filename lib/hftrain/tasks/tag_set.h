// The tags of words: which there are, what number each has, and the keys of config.json that say so.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/data/row_source.h"

namespace hftrain::tasks {

// Immutable; thread-safe.
class TagSet {
 public:
  // The tags of all rows, in the order of code points, as run_ner numbers them; where a model was trained for
  // these very tags, in its order (`of_model`: its names by number, empty: none). Whole numbers are numbers of
  // tags already, as data sets with named classes have them: 0 to the largest, named by themselves. A row
  // without a list of tags, an empty tag, a negative number, numbers here and strings there, or a single tag
  // in all are an Error (exit code 4). Nothing when `stopped` said so.
  static std::optional<TagSet> of_rows(data::RowSource& rows, size_t columns, size_t tag_column,
                                       const std::vector<std::string>& of_model,
                                       const std::function<bool()>& stopped);
  explicit TagSet(std::vector<std::string> names);
  static TagSet from_json(const Json& value);
  Json to_json_value() const { return {{"tags", names_}}; }

  const std::vector<std::string>& names() const { return names_; }  // by number
  Json config_changes() const;                                      // id2label and label2id

  // The number of a tag of the row at `where`; one that is none of the set is an Error (exit code 4).
  int32_t number_of(const std::string& tag, const std::string& where) const;
  // What the further tokens of a word have whose first has `tag`: of B-X I-X, where there is such a tag.
  int32_t continued(int32_t tag) const { return continued_[static_cast<size_t>(tag)]; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, int32_t, std::less<>> numbers_;
  std::vector<int32_t> continued_;
};

}  // namespace hftrain::tasks
