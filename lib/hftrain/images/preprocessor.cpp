#include "hftrain/images/preprocessor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hftrain/base/error.h"
#include "hftrain/images/crop.h"
#include "hftrain/images/image_reader.h"
#include "hftrain/images/resize.h"

namespace hftrain::images {
namespace {

constexpr int64_t kLargestSide = 1 << 16;

Error unusable(const std::string& what, const Json& value, const std::string& origin) {
  return Error(ExitCode::kData, what)
      .where(origin)
      .why("it is " + value.dump(-1, ' ', false, Json::error_handler_t::replace))
      .hint("correct it as the image processor of the model has it");
}

int64_t side_of(const Json& value, const std::string& origin) {
  if (value.is_number_integer() && value >= 1 && value <= kLargestSide) return value.get<int64_t>();
  throw unusable("a side of the images must be a whole number from 1 to " + std::to_string(kLargestSide),
                 value, origin);
}

// What the file leaves to its class.
const ProcessorClass& defaults_of(const std::string& name, const std::string& key,
                                  const std::string& origin) {
  if (const ProcessorClass* known = find_processor_class(name)) return *known;
  throw Error(ExitCode::kData, "what the image processor means by its " + key + " is not known here")
      .where(origin)
      .why("its class is " + name + ", and the file leaves " + key + " to it")
      .hint("write out size (height and width, or shortest_edge), image_mean and image_std as " + name +
            " of transformers has them");
}

bool has(const Json& config, const char* key) {
  return config.contains(key) && !config[key].is_null();
}

bool number_is_edge(const Json& config, const std::string& name, const std::string& origin) {
  const auto square = config.find("default_to_square");
  if (square != config.end() && square->is_boolean()) return !square->get<bool>();
  return defaults_of(name, "size of one number", origin).number_is_edge;
}

void read_sides(const Json& height, const Json& width, const std::string& origin,
                Preprocessor& preprocessor) {
  preprocessor.height = side_of(height, origin);
  preprocessor.width = side_of(width, origin);
}

void read_size(const Json& config, const std::string& name, const std::string& origin,
               Preprocessor& preprocessor) {
  if (!has(config, "size")) {
    const ProcessorClass& defaults = defaults_of(name, "size", origin);
    preprocessor.height = preprocessor.width = defaults.side;
    preprocessor.keeps_proportions = defaults.keeps_proportions;
    return;
  }
  const Json& size = config["size"];
  if (size.is_number()) {
    read_sides(size, size, origin, preprocessor);
    preprocessor.keeps_proportions = number_is_edge(config, name, origin);
  } else if (size.is_array() && size.size() == 2) {
    defaults_of(name, "size of two numbers", origin);  // all that are known have the height first, others not
    read_sides(size[0], size[1], origin, preprocessor);
  } else if (size.is_object() && size.contains("height") && size.contains("width")) {
    read_sides(size["height"], size["width"], origin, preprocessor);
  } else if (size.is_object() && size.contains("shortest_edge")) {
    read_sides(size["shortest_edge"], size["shortest_edge"], origin, preprocessor);
    preprocessor.keeps_proportions = true;
  } else {
    throw unusable("size must be one side, height and width, or shortest_edge", size, origin);
  }
}

// One number stands for all channels.
void read_channels(const Json& value, const char* key, bool divides, const std::string& origin,
                   Channels& channels) {
  const std::string what =
      std::string(key) + " must be three numbers, or one" + (divides ? ", other than 0" : "");
  const bool one = value.is_number() || (value.is_array() && value.size() == 1);
  if (!one && !(value.is_array() && value.size() == channels.size())) throw unusable(what, value, origin);
  for (size_t i = 0; i < channels.size(); ++i) {
    const Json& number = value.is_number() ? value : value[one ? 0 : i];
    channels[i] = number.is_number() ? number.get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!std::isfinite(channels[i]) || (divides && channels[i] == 0)) throw unusable(what, value, origin);
  }
}

}  // namespace

Preprocessor read_preprocessor(const Json& config, const std::string& family, const std::string& origin) {
  if (!config.is_object())
    throw unusable("the configuration of an image processor is no object", config, origin);
  const std::string name = processor_class_name(config, family);
  Preprocessor preprocessor;
  read_size(config, name, origin, preprocessor);
  if (has(config, "image_mean")) {
    read_channels(config["image_mean"], "image_mean", /*divides=*/false, origin, preprocessor.mean);
  } else {
    preprocessor.mean = defaults_of(name, "image_mean", origin).mean;
  }
  if (has(config, "image_std")) {
    read_channels(config["image_std"], "image_std", /*divides=*/true, origin, preprocessor.deviation);
  } else {
    preprocessor.deviation = defaults_of(name, "image_std", origin).deviation;
  }
  return preprocessor;
}

Json preprocessor_json(const Preprocessor& preprocessor, const std::string& type) {
  constexpr int kBilinear = 2;
  Json size = {{"height", preprocessor.height}, {"width", preprocessor.width}};
  if (preprocessor.keeps_proportions) size = {{"shortest_edge", preprocessor.height}};
  return {{"do_normalize", true},
          {"do_rescale", true},
          {"do_resize", true},
          {"image_mean", preprocessor.mean},
          {"image_processor_type", type},
          {"image_std", preprocessor.deviation},
          {"resample", kBilinear},
          {"rescale_factor", 1.0 / 255.0},
          {"size", std::move(size)}};
}

Image evaluation_view(const Image& image, const Preprocessor& preprocessor, const std::string& origin) {
  if (!preprocessor.keeps_proportions) return resize_bilinear(image, preprocessor.width, preprocessor.height);
  const int64_t edge = preprocessor.height, shorter = std::min(image.width, image.height);
  const int64_t longer = std::max(image.width, image.height);
  if (edge * longer / shorter > ImageLimits{}.pixels / edge) {
    throw Error(ExitCode::kData, "an image is too narrow for the size that the model wants")
        .where(origin)
        .why("it has " + std::to_string(image.width) + " by " + std::to_string(image.height) +
             " pixels, and its shortest edge is to become " + std::to_string(edge))
        .hint("cut it, or name height and width as the size in " + std::string(kPreprocessorName));
  }
  const Image resized = resize_shortest_edge(image, edge);
  return crop(resized, center_of(resized, edge, edge));
}

Image training_view(const Image& image, const Preprocessor& preprocessor,
                    const std::function<double()>& uniform) {
  const Rectangle part = random_part(image.width, image.height, uniform);
  Image view = resize_bilinear(crop(image, part), preprocessor.width, preprocessor.height);
  if (uniform() < 0.5) flip_horizontally(view);
  return view;
}

void write_pixels(const Image& image, const Preprocessor& preprocessor, float* target) {
  const auto pixels = static_cast<size_t>(image.width * image.height);
  for (size_t channel = 0; channel < 3; ++channel) {
    const auto mean = static_cast<float>(preprocessor.mean[channel]);
    const auto deviation = static_cast<float>(preprocessor.deviation[channel]);
    std::array<float, 256> values;
    for (size_t byte = 0; byte < values.size(); ++byte)
      values[byte] = (static_cast<float>(byte) / 255.0F - mean) / deviation;
    float* out = target + channel * pixels;
    for (size_t i = 0; i < pixels; ++i) out[i] = values[image.rgb[3 * i + channel]];
  }
}

}  // namespace hftrain::images
