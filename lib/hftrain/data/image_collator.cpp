#include "hftrain/data/image_collator.h"

#include <set>

#include "hftrain/base/file.h"
#include "hftrain/data/feature_sink.h"
#include "hftrain/data/split_mix.h"
#include "hftrain/images/image_reader.h"

namespace hftrain::data {
namespace {

class ImageDraws {
 public:
  ImageDraws(const DrawKey& key, int64_t sample)
      : state_(mixed(mixed(mixed(key.seed) + static_cast<uint64_t>(key.epoch)) +
                     static_cast<uint64_t>(sample))) {}

  double uniform() {
    constexpr double kUnit = 0x1p-53;
    return static_cast<double>(split_mix(state_ += kSplitMixIncrement) >> 11) * kUnit;
  }

 private:
  static uint64_t mixed(uint64_t number) { return split_mix(number + kSplitMixIncrement); }

  uint64_t state_;
};

std::string text_of(const ColumnFile& column, int64_t sample) {
  std::vector<int64_t> bytes(static_cast<size_t>(column.length(sample)));
  column.copy_to(sample, bytes.data());
  std::string text;
  text.reserve(bytes.size());
  for (const int64_t byte : bytes) text.push_back(static_cast<char>(byte));
  return text;
}

images::Image image_of(const Dataset& dataset, int64_t sample, const std::string& path) {
  if (dataset.has(kImageBytes) && dataset.column(kImageBytes).length(sample) > 0)
    return images::decode_image(text_of(dataset.column(kImageBytes), sample), path);
  return images::read_image(path);
}

class ImageCollator final : public Collator {
 public:
  ImageCollator(const images::Preprocessor& preprocessor, ImageView view)
      : preprocessor_(preprocessor), view_(view) {}

  std::vector<TensorShape> shapes(const Dataset& dataset, std::span<const int64_t> samples) const override {
    const auto rows = static_cast<int64_t>(samples.size());
    std::vector<TensorShape> shapes = {
        {"pixel_values", TensorType::kFloat32, {rows, 3, preprocessor_.height, preprocessor_.width}}};
    if (dataset.has(kImageClass)) shapes.push_back({"labels", TensorType::kInt64, {rows}});
    return shapes;
  }

  void fill(const Dataset& dataset, std::span<const int64_t> samples, const DrawKey& key,
            std::span<void* const> memory) const override {
    const ColumnFile& paths = dataset.column(kImagePath);
    auto* pixels = static_cast<float*>(memory[0]);
    for (const int64_t sample : samples) {
      const std::string path = text_of(paths, sample);
      write_pixels(seen(image_of(dataset, sample, path), path, sample, key), preprocessor_, pixels);
      pixels += 3 * preprocessor_.height * preprocessor_.width;
    }
    if (!dataset.has(kImageClass)) return;
    auto* label = static_cast<int64_t*>(memory[1]);
    for (const int64_t sample : samples) dataset.column(kImageClass).copy_to(sample, label++);
  }

 private:
  images::Image seen(const images::Image& image, const std::string& path, int64_t sample,
                     const DrawKey& key) const {
    if (view_ == ImageView::kEvaluation) return evaluation_view(image, preprocessor_, path);
    ImageDraws draws(key, sample);
    return training_view(image, preprocessor_, [&] { return draws.uniform(); });
  }

  images::Preprocessor preprocessor_;
  ImageView view_;
};

}  // namespace

std::unique_ptr<Collator> image_collator(const images::Preprocessor& preprocessor, ImageView view) {
  return std::make_unique<ImageCollator>(preprocessor, view);
}

std::vector<std::string> images_by_folder(const std::string& prefix) {
  std::vector<std::string> columns;
  for (const char* name : {kImagePath, kImageBytes}) {
    if (path_exists(column_prefix(prefix, name) + ".idx")) columns.emplace_back(name);
  }
  if (columns.empty() || columns.front() != kImagePath) return {};
  const std::shared_ptr<const Dataset> split = Dataset::open(prefix, columns);
  std::set<std::string> folders;
  std::vector<std::string> images;
  for (int64_t sample = 0; sample < split->size(); ++sample) {
    if (split->has(kImageBytes) && split->column(kImageBytes).length(sample) > 0) continue;
    std::string path = text_of(split->column(kImagePath), sample);
    if (folders.insert(path.substr(0, path.rfind('/'))).second) images.push_back(std::move(path));
  }
  return images;
}

}  // namespace hftrain::data
