// Batches of images: files are read and decoded by the threads that collate, so that the cache holds their paths alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hftrain/data/collator.h"
#include "hftrain/images/preprocessor.h"

namespace hftrain::data {

// Columns of the cache: the bytes of an image's absolute path, the image itself where it stands in a row (its path is then
// the row's place), and its class where the split has any.
inline constexpr const char* kImagePath = "image";
inline constexpr const char* kImageBytes = "image_bytes";
inline constexpr const char* kImageClass = "labels";

enum class ImageView {
  kTraining,    // a random part, flipped or not: pure of (seed, epoch, sample)
  kEvaluation,  // the whole, or its middle
};

// pixel_values [B, 3, height, width] float32 and, of a split that has them, labels [B] int64. A file that cannot be read any more
// is an Error (exit code 4). What is drawn for a sample are the numbers k = 0, 1, … of SplitMix64 with the state
// mix(mix(mix(seed + g) + epoch + g) + sample + g), mix being its finalizer and g its increment, as numbers from 0 to
// below 1 made of the upper 53 bits.
std::unique_ptr<Collator> image_collator(const images::Preprocessor& preprocessor, ImageView view);

// Where the images of a prepared split lie, given as the prefix of its columns: the path of one of each folder. Empty where it
// has no images, or rows hold them. Reads all paths, and looks at no file.
std::vector<std::string> images_by_folder(const std::string& prefix);

}  // namespace hftrain::data
