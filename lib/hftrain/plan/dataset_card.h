// What the card of a data set says of its files: the YAML block at the head of its README.md, and .huggingface.yaml beside it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/data/dataset_layout.h"

namespace hftrain::plan {

struct DatasetConfiguration {
  std::string name;
  bool is_default = false;
  std::string folder;                         // within the data set; empty: all of it
  std::vector<data::SplitPatterns> patterns;  // empty: names of files tell
};

// The `configs` of the card in `folder`, in their order; none without a card or where it names none. A card that cannot be read, and a
// configuration that asks for more than files to be read as they are, is an Error (exit code 4) with its place.
std::vector<DatasetConfiguration> read_dataset_card(const std::string& folder);

// The one that is called `named`; without a name the only one, or the one that says it is the default. Null where there are none, and "default"
// or nothing is asked for. Otherwise an Error (exit code 4) that lists them.
const DatasetConfiguration* chosen_configuration(const std::vector<DatasetConfiguration>& configurations,
                                                 const std::optional<std::string>& named,
                                                 const std::string& folder);

}  // namespace hftrain::plan
