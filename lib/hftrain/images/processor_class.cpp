#include "hftrain/images/processor_class.h"

#include <algorithm>
#include <array>

#include "hftrain/base/json_member.h"

namespace hftrain::images {
namespace {

constexpr Channels kHalf = {0.5, 0.5, 0.5};
constexpr Channels kImageNetMean = {0.485, 0.456, 0.406}, kImageNetDeviation = {0.229, 0.224, 0.225};
constexpr Channels kClipMean = {0.48145466, 0.4578275, 0.40821073},
                   kClipDeviation = {0.26862954, 0.26130258, 0.27577711};

// Those of models that classify images, and CLIP's relatives. tests/parity/image_processors_match.py holds them against transformers.
constexpr std::array<ProcessorClass, 18> kClasses = {{
    {"ViTImageProcessor", 224, false, false, kHalf, kHalf},
    {"BeitImageProcessor", 224, false, false, kHalf, kHalf},
    {"BitImageProcessor", 224, true, true, kClipMean, kClipDeviation},
    {"BlipImageProcessor", 384, false, false, kClipMean, kClipDeviation},
    {"CLIPImageProcessor", 224, true, true, kClipMean, kClipDeviation},
    {"ChineseCLIPImageProcessor", 224, true, true, kClipMean, kClipDeviation},
    {"ConvNextImageProcessor", 384, true, true, kHalf, kHalf},
    {"DeiTImageProcessor", 256, false, false, kHalf, kHalf},
    {"EfficientNetImageProcessor", 346, false, false, kHalf, kHalf},
    {"LevitImageProcessor", 224, true, true, kImageNetMean, kImageNetDeviation},
    {"MobileNetV1ImageProcessor", 256, true, true, kHalf, kHalf},
    {"MobileNetV2ImageProcessor", 256, true, true, kHalf, kHalf},
    {"MobileViTImageProcessor", 224, true, true, kHalf, kHalf},
    {"PerceiverImageProcessor", 224, false, false, kImageNetMean, kImageNetDeviation},
    {"PoolFormerImageProcessor", 224, true, true, kImageNetMean, kImageNetDeviation},
    {"PvtImageProcessor", 224, false, false, kImageNetMean, kImageNetDeviation},
    {"SegformerImageProcessor", 512, false, false, kImageNetMean, kImageNetDeviation},
    {"SiglipImageProcessor", 224, false, true, kHalf, kHalf},
}};

}  // namespace

std::string processor_class_name(const Json& config, const std::string& otherwise) {
  constexpr std::string_view kExtractor = "FeatureExtractor";
  std::string name = json_text(config, "image_processor_type");
  if (name.empty()) name = json_text(config, "feature_extractor_type");
  if (name.empty()) return otherwise;
  if (const size_t at = name.find(kExtractor); at != std::string::npos)
    name.replace(at, kExtractor.size(), "ImageProcessor");
  // Of the same class on another backend.
  for (const std::string_view backend : {"Fast", "Pil"})
    if (name.ends_with(backend)) name.resize(name.size() - backend.size());
  return name;
}

const ProcessorClass* find_processor_class(std::string_view name) {
  const auto* found = std::ranges::find(kClasses, name, &ProcessorClass::name);
  return found == kClasses.end() ? nullptr : &*found;
}

}  // namespace hftrain::images
