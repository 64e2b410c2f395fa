#include "hftrain/data/image_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/data/column_choice.h"
#include "hftrain/data/dataset_kinds.h"
#include "hftrain/data/path_patterns.h"

namespace hftrain::data {
namespace {

namespace fs = std::filesystem;

constexpr std::array kRead = {".png", ".apng", ".jpg", ".jpeg", ".jpe", ".jfif"};
// Of those that PIL opens the ones that people have.
constexpr std::array kNotRead = {".bmp", ".gif",  ".webp", ".tif", ".tiff", ".ppm",
                                 ".pgm", ".avif", ".jp2",  ".tga", ".ico"};

template <size_t N>
bool is_one_of(const std::array<const char*, N>& suffixes, const fs::path& path) {
  const std::string suffix = to_lower(path.extension().string());
  return std::find(suffixes.begin(), suffixes.end(), suffix) != suffixes.end();
}

bool has_hidden_name(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with('.') || name.starts_with("__");
}

Error another_kind(const std::string& path) {
  return Error(ExitCode::kData, "a folder of images holds one of a kind that is not read")
      .where(path)
      .why("PNG and JPEG are")
      .hint("convert it, or take it out of the folder");
}

Error dangling_link(const fs::path& path) {
  std::error_code ignored;
  return Error(ExitCode::kData, "an image is a link that leads nowhere")
      .where(path.string())
      .why("there is no " + fs::read_symlink(path, ignored).string())
      .hint("fetch the images as a whole, or take the link away");
}

Error described_images(const std::string& path) {
  return Error(ExitCode::kData, "a file beside the images says what they are, and is not read")
      .where(path)
      .why("the classes of a folder of images are the names of its sub-folders")
      .hint("--train_file " + path + " takes its rows; or take it out of the folder");
}

Error no_images(const std::string& folder) {
  return Error(ExitCode::kData, "there is no image in the folder")
      .where(folder)
      .why("no file in it or below it is called " + join({kRead.begin(), kRead.end()}, ", "))
      .hint("one sub-folder for each class, with the images of that class");
}

Error loose_image(const std::string& path) {
  return Error(ExitCode::kData, "an image lies beside the folders of the classes")
      .where(path)
      .why("the class of an image is the name of the sub-folder that it lies in, and this one has none")
      .hint("move it into the folder of its class, or take it away");
}

bool lies_in_class(const ImageFile& file) {
  return file.path.find('/') != std::string::npos;
}

// Images have classes where all lie in sub-folders.
std::vector<std::string> columns_of_images(const RowOptions& options, const std::string& folder,
                                           const std::vector<ImageFile>& files) {
  const std::vector<std::string> with_class = {kImageColumn, kImageLabel};
  const auto loose = std::find_if_not(files.begin(), files.end(), lies_in_class);
  if (loose == files.end()) return chosen_columns(options.columns, with_class, folder);
  const bool beside_classes = std::any_of(files.begin(), files.end(), lies_in_class);
  try {
    return chosen_columns(options.columns, {kImageColumn}, folder);
  } catch (const Error&) {
    if (!beside_classes) throw;
  }
  chosen_columns(options.columns, with_class, folder);  // what else is wrong
  throw loose_image((fs::path(folder) / loose->path).string());
}

// One folder, as if it were a file with the columns of its images.
class ImageFolderRows final : public RowSource {
 public:
  ImageFolderRows(const std::string& folder, const RowOptions& options)
      : folder_(fs::absolute(folder).lexically_normal().string()), files_(image_files(folder)) {
    if (files_.empty()) throw no_images(folder);
    chosen_ = columns_of_images(options, folder, files_);
  }

  bool next(Records& records) override {
    if (next_ == files_.size()) return false;
    const std::string path = (fs::path(folder_) / files_[next_++].path).string();
    records.begin_row(path, 0);
    for (size_t column = 0; column < chosen_.size(); ++column) {
      if (chosen_[column] == kImageColumn) records.set_text(records.slot(column), path);
      if (chosen_[column] == kImageLabel)
        records.set_text(records.slot(column), fs::path(path).parent_path().filename().string());
    }
    return true;
  }

  uint64_t file_position() const override { return next_; }

 private:
  std::string folder_;
  std::vector<ImageFile> files_;
  std::vector<std::string> chosen_;
  size_t next_ = 0;
};

}  // namespace

std::vector<ImageFile> image_files(const std::string& folder) {
  std::vector<ImageFile> files;
  fs::path place = folder;
  try {
    fs::recursive_directory_iterator item(folder, fs::directory_options::follow_directory_symlink);
    for (; item != fs::recursive_directory_iterator(); ++item) {
      const fs::path& path = place = item->path();
      if (has_hidden_name(path)) {
        if (item->is_directory()) item.disable_recursion_pending();
        continue;
      }
      if (leads_nowhere(path) && is_one_of(kRead, path)) throw dangling_link(path);
      if (!item->is_regular_file()) continue;
      if (describes_images(path.string())) throw described_images(path.string());
      if (is_one_of(kNotRead, path)) throw another_kind(path.string());
      if (is_one_of(kRead, path))
        files.push_back({path.lexically_relative(folder).string(), item->file_size()});
    }
  } catch (const fs::filesystem_error& error) {
    throw system_error(error.code().value(), "cannot list the images of " + folder, place.string(),
                       ExitCode::kData);
  }
  std::sort(files.begin(), files.end(),
            [](const ImageFile& a, const ImageFile& b) { return a.path < b.path; });
  return files;
}

std::unique_ptr<RowSource> open_image_folder_rows(const std::string& folder, const RowOptions& options) {
  return std::make_unique<ImageFolderRows>(folder, options);
}

}  // namespace hftrain::data
