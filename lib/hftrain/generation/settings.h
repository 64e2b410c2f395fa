// The settings of generation as people give them, each under transformers' name. One table serves generation_config.json
// and the flags of commands that generate.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/base/json.h"

namespace hftrain::generation {

struct Setting {
  // What its words are read as. kTokens: one id or several; kJson: a value written as JSON.
  enum class Kind { kWhole, kNumber, kTruth, kTokens, kTexts, kEarlyStopping, kJson };
  std::string_view name;
  Kind kind = Kind::kWhole;
  std::string_view help;
};

// In the order of help texts.
const std::vector<Setting>& settings();

// Keys of generation_config.json that ask for ways of decoding that are not here.
std::span<const std::string_view> settings_not_here();

// The setting's value in the form of generation_config.json; null for the one word "null": its default. `words` is not
// empty. Whether the value is in its range is take_json's to say. Error (exit code 2): words of another kind.
Json value_from_words(const Setting& setting, std::span<const std::string> words);

}  // namespace hftrain::generation
