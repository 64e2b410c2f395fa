// A folder of images as rows: one sub-folder for each class, as the `imagefolder` of the `datasets` package has it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hftrain/data/row_source.h"

namespace hftrain::data {

// What the columns of such a row are called.
inline constexpr const char* kImageColumn = "image";  // the path of the file
inline constexpr const char* kImageLabel = "label";   // the name of the folder that it lies in

// Rows of all .png, .jpg, .jpeg, .jpe and .jfif files in the folder and those below it, sorted by their paths; names that begin
// with "." or "__" are passed over, and so are files of other names, as that package does. Images of kinds that it would read
// and this program does not are an Error (exit code 4), and so are an image that is a link to nothing, a file that describes the
// images (metadata.csv, .jsonl, .parquet), a folder without images, and an image beside the sub-folders where rows need classes.
std::unique_ptr<RowSource> open_image_folder_rows(const std::string& folder, const RowOptions& options);

// Path below `folder` and size of all its images, in their order: what tells one state of a folder from another.
struct ImageFile {
  std::string path;
  uint64_t bytes = 0;
};
std::vector<ImageFile> image_files(const std::string& folder);

}  // namespace hftrain::data
