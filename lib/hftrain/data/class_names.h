// Names of classes that Python's package datasets keeps beside data (its ClassLabel): numbers in a column stand for them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hftrain::data {

// By column, in the order of their numbers; of lists of classes too. `features` is what a Parquet file holds under `huggingface`. What is no
// such text gives none: the numbers then stand for themselves.
std::map<std::string, std::vector<std::string>> class_names_of(std::string_view features);

}  // namespace hftrain::data
