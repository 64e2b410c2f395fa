// Published models that example scripts take where none is named. Nothing is fetched by itself here, so rules name them.
#pragma once

#include <string_view>

namespace hftrain::arguments {

inline constexpr std::string_view kTakenForImages =
    "run_image_classification takes google/vit-base-patch16-224-in21k then, and nothing is fetched by itself "
    "here";
inline constexpr std::string_view kNameForImages =
    "hftrain fetch google/vit-base-patch16-224-in21k, and --model_name_or_path "
    "google/vit-base-patch16-224-in21k";

}  // namespace hftrain::arguments
