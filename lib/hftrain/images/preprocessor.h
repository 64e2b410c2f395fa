// preprocessor_config.json, and what run_image_classification makes of it: how pictures become the numbers of a model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "hftrain/base/json.h"
#include "hftrain/images/image.h"
#include "hftrain/images/processor_class.h"

namespace hftrain::images {

inline constexpr const char* kPreprocessorName = "preprocessor_config.json";
// Of a whole processor: an image processor that stands in it comes before the other file's.
inline constexpr const char* kProcessorName = "processor_config.json";
inline constexpr const char* kNestedPreprocessor = "image_processor";

struct Preprocessor {
  int64_t height = 224, width = 224;  // of the result
  // Of "size": {"shortest_edge": …}: for evaluation the picture keeps its proportions, and its middle is taken.
  bool keeps_proportions = false;
  Channels mean = {0.5, 0.5, 0.5}, deviation = {0.5, 0.5, 0.5};

  bool operator==(const Preprocessor&) const = default;
};

// Missing keys, and a size that is one number, mean what they do to the class that the file names (processor_class.h), else to
// `family`'s. What cannot be used, or is left to a class that is not known here, is an Error (exit code 4) that names `origin`.
Preprocessor read_preprocessor(const Json& config, const std::string& family, const std::string& origin);
// As save_pretrained of the class `type` writes it.
Json preprocessor_json(const Preprocessor& preprocessor, const std::string& type);

// Resize and CenterCrop. A picture whose proportions ask for more pixels than are read (image_reader.h) is an Error
// (exit code 4) that names `origin`.
Image evaluation_view(const Image& image, const Preprocessor& preprocessor, const std::string& origin);
// RandomResizedCrop and RandomHorizontalFlip; `uniform` gives numbers in [0, 1): two for each try of a crop, two for its
// place, one for the flip.
Image training_view(const Image& image, const Preprocessor& preprocessor,
                    const std::function<double()>& uniform);

// ToTensor and Normalize: (byte/255 − mean)/deviation in float32, [3, height, width].
void write_pixels(const Image& image, const Preprocessor& preprocessor, float* target);

}  // namespace hftrain::images
