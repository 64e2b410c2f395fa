// What values of files mean that stand there without quotes: YAML 1.1, as PyYAML reads it, has truth values and numbers that
// the command line and JSON do not have.
#pragma once

#include <set>
#include <string>

#include "hftrain/arguments/flag.h"
#include "hftrain/base/json.h"

namespace hftrain::arguments {

// JSON pointers of the parts of a value that stand without quotes.
using PlainParts = std::set<std::string>;

// The written value of a flag, or each of a list: on, off and words for the `no` of one that has it are truth values, numbers are
// those of yaml_numbers.h beside what the flag takes anyway (5e-5, which is a text there), and underscores between digits count in quotes, too.
Json meant_in_yaml(const Flag& flag, Json written, const PlainParts& plain);
// The same of a mapping whose keys are no flags. What is text stays text.
Json parts_meant_in_yaml(Json mapping, const PlainParts& plain, const std::string& pointer = "");

// Of a value in JSON: true and false are truth values for a flag with words of its own, too, as `false` of a `no` that went
// through YAML.
Json meant_in_json(const Flag& flag, Json written, const PlainParts& plain);

// For people and other readers: numbers, true and false that stood without quotes as what they are.
Json typed_parts(Json value, const PlainParts& plain, const std::string& pointer = "");

}  // namespace hftrain::arguments
