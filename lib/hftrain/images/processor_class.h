// What image processors of transformers make of keys that their file does not have, or has in a short form.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "hftrain/base/json.h"

namespace hftrain::images {

using Channels = std::array<double, 3>;  // of red, green, blue

struct ProcessorClass {
  std::string_view name;
  int64_t side;              // of its size where the file has none
  bool keeps_proportions;    // that side is the shortest edge, not height and width
  bool number_is_edge;       // and so is a size of one number
  Channels mean, deviation;  // where the file has none
};

// The class of `image_processor_type`, or of `feature_extractor_type` as older files have it; of neither `otherwise`.
std::string processor_class_name(const Json& config, const std::string& otherwise);
// Null: one that is not known here.
const ProcessorClass* find_processor_class(std::string_view name);

}  // namespace hftrain::images
