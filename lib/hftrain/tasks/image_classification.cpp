// Image classification, as run_image_classification has it: a folder with a sub-folder of images for each class.
//
//   rows        --train_dir, --validation_dir, or files with the columns --image_column_name (a path, in Parquet files also an image's bytes) and
//               --label_column_name; --train_val_split of the training images are held out when there is no validation set
//   labels      the names of the sub-folders, sorted
//   training    RandomResizedCrop and RandomHorizontalFlip; evaluation: Resize and CenterCrop; sizes, mean and deviation of
//               preprocessor_config.json
//   fewer rows  --max_train_samples and --max_eval_samples are taken after a shuffle with the seed
//   prediction  --test_file: the class of each picture, which needs none, in predict_results.txt
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/data/image_collator.h"
#include "hftrain/data/image_folder.h"
#include "hftrain/data/numpy_permutation.h"
#include "hftrain/images/image_reader.h"
#include "hftrain/tasks/class_scorer.h"
#include "hftrain/tasks/label_set.h"
#include "hftrain/tasks/model_labels.h"
#include "hftrain/tasks/task_table.h"

namespace hftrain::tasks {
namespace {

namespace fs = std::filesystem;

// In the order in which a rule gives them.
enum ImageColumn : size_t { kPathColumn, kClassColumn, kBytesColumn, kImageColumns };

// What `imagefolder` calls the column of paths in a file that lies beside the images.
constexpr const char* kFileName = "file_name";

std::vector<std::string> image_columns(const std::vector<std::string>& names, const std::string& image,
                                       const std::string& label, bool needs_label) {
  const auto has = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool by_file_name = !has(image) && image == data::kImageColumn && has(kFileName);
  if (!has(image) && !by_file_name)
    throw Error(ExitCode::kData, "there is no column '" + image + "' with the images")
        .hint("name it with --image_column_name");
  if (needs_label && !has(label))
    throw Error(ExitCode::kData, "there is no column '" + label + "' with the classes of the images")
        .hint("a folder with one sub-folder for each class, or --label_column_name");
  return {by_file_name ? kFileName : image, has(label) ? label : "", ""};
}

// An absolute path; relative ones of a file with rows start in its folder.
std::string path_of_image(const data::Records& records, size_t row) {
  const data::Value value = records.value(row, kPathColumn);
  if (value.kind() != data::ValueKind::kText || value.text().empty())
    throw Error(ExitCode::kData, "a row names no image")
        .where(records.where(row))
        .why(std::string("it is ") + data::kind_name(value.kind()))
        .hint("the column of the images holds the paths of their files, or in Parquet files their bytes");
  const std::string where = records.where(row);
  const fs::path named(value.text());
  if (named.is_absolute()) return named.string();
  return fs::absolute(fs::path(where.substr(0, where.rfind(':'))).parent_path() / named)
      .lexically_normal()
      .string();
}

class ImageEncoder final : public data::Encoder {
 public:
  explicit ImageEncoder(std::optional<LabelSet> labels) : labels_(std::move(labels)) {}

  data::FeatureSchema schema() const override {
    data::FeatureSchema schema = {{data::kImagePath, data::FeatureType::kByte},
                                  {data::kImageBytes, data::FeatureType::kByte}};
    if (labels_) schema.push_back({data::kImageClass, data::FeatureType::kInteger});
    return schema;
  }

  // Images are looked at as far as it costs little, so that a broken one is found before the run begins.
  void encode(const data::Records& records, data::Features& features) const override {
    for (size_t row = 0; row < records.rows(); ++row) {
      const data::Value bytes = records.value(row, kBytesColumn);
      const bool in_row = bytes.kind() == data::ValueKind::kText;
      const std::string path = in_row ? records.where(row) : path_of_image(records, row);
      if (in_row) {
        images::check_image(bytes.text(), path);
      } else {
        images::check_image(MappedFile(path).bytes(), path);
      }
      add_text(path, features.columns[0]);
      add_text(in_row ? bytes.text() : std::string_view(), features.columns[1]);
      if (labels_) labels_->add(records, row, kClassColumn, features.columns[2]);
    }
  }

 private:
  static void add_text(std::string_view text, data::FeatureValues& values) {
    for (const char byte : text) values.integers.push_back(static_cast<uint8_t>(byte));
    values.lengths.push_back(static_cast<int32_t>(text.size()));
  }

  std::optional<LabelSet> labels_;  // nothing: rows have none (test data)
};

// The rows of a split as datasets' train_test_split and shuffle choose them.
struct ImageOrder {
  uint64_t seed = 0;
  double held_out = 0;  // share of the training images

  std::vector<int64_t> operator()(int64_t rows, data::Split split, data::RowShare share,
                                  std::optional<int64_t> most) const {
    std::vector<int64_t> order(static_cast<size_t>(rows));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    if (share != data::RowShare::kAll) order = part_of(rows, share);
    if (!most || *most > static_cast<int64_t>(order.size())) return order;
    std::vector<int64_t> chosen;
    const bool shuffles = split != data::Split::kTest;
    const std::vector<int64_t> places =
        shuffles ? data::numpy_permutation(seed, static_cast<int64_t>(order.size())) : order;
    for (int64_t i = 0; i < *most; ++i) {
      const auto place = static_cast<size_t>(shuffles ? places[static_cast<size_t>(i)] : i);
      chosen.push_back(order[place]);
    }
    return chosen;
  }

 private:
  std::vector<int64_t> part_of(int64_t rows, data::RowShare share) const {
    const auto validation = static_cast<int64_t>(std::ceil(held_out * static_cast<double>(rows)));
    if (validation >= rows)
      throw Error(ExitCode::kData, "there are too few training images to hold out some for validation")
          .where("--train_val_split")
          .why(std::to_string(validation) + " of " + std::to_string(rows) + " would be held out")
          .hint("more images, or a --validation_dir");
    const std::vector<int64_t> order = data::numpy_permutation(seed, rows);
    const auto border = order.begin() + static_cast<std::ptrdiff_t>(validation);
    return share == data::RowShare::kHeldOut ? std::vector<int64_t>(order.begin(), border)
                                             : std::vector<int64_t>(border, order.end());
  }
};

// An image has one class: no number with a fraction, and not several.
void require_classes(const LabelSet& labels) {
  if (labels.kind() == LabelSet::Kind::kClasses) return;
  const bool numbers = labels.kind() == LabelSet::Kind::kRegression;
  throw Error(ExitCode::kData, "the labels of the images are no classes")
      .why(numbers ? "they are numbers with a fraction" : "they are lists")
      .hint("one string or whole number for each image");
}

void require_classes_of_model(const LabelSet& labels, const TaskInput& input) {
  if (labels.kind() == LabelSet::Kind::kClasses) return;
  const auto& folder = input.arguments.model.model_name_or_path;
  const Json problem = input.model_config.value("problem_type", Json());
  throw Error(ExitCode::kData, "the labels of the model are no classes")
      .where(folder ? *folder + "/config.json" : "--model_name_or_path")
      .why(problem.is_string() ? "its problem_type is " + problem.get<std::string>()
                               : "it counts one label, that of a regression")
      .hint("the folder of a model that was trained for this task, or train it with --do_train");
}

data::Recipe image_recipe(const TaskInput& input) {
  const arguments::DataArguments& asked = input.arguments.data;
  const std::string image = asked.image_column_name,
                    label = asked.label_column_name.value_or(data::kImageLabel);
  const ImageOrder order{.seed = static_cast<uint64_t>(input.arguments.run.seed),
                         .held_out = asked.train_val_split.value_or(0)};
  const std::optional<LabelSet> kept = labels_of_model(input);
  data::Recipe recipe;
  recipe.task = "image-classification";
  recipe.options = {{"image_column_name", image},
                    {"label_column_name", label},
                    {"seed", order.seed},
                    {"train_val_split", order.held_out}};
  recipe.arrangement = data::Arrangement::kKeepRows;
  recipe.reads_text = false;
  recipe.image_folders = true;
  recipe.order = order;
  const auto rule = [=](data::Split split, bool with_images) {
    const bool needs_label = split != data::Split::kTest;
    return data::ColumnRule{.columns = kImageColumns,
                            .choose =
                                [=](const auto& names) {
                                  std::vector<std::string> chosen =
                                      image_columns(names, image, label, needs_label);
                                  if (!with_images) chosen[kPathColumn].clear();
                                  return chosen;
                                },
                            .text_only = false,
                            .typed_cells = {kClassColumn},
                            .of_classes = {kClassColumn},
                            .of_images = data::ColumnRule::Images{kPathColumn, kBytesColumn}};
  };
  recipe.columns = [=](data::Split split) { return rule(split, true); };
  recipe.survey_columns = [=](data::Split split) { return rule(split, false); };
  if (kept) {
    require_classes_of_model(*kept, input);
    recipe.facts = kept->to_json_value();
  } else {
    recipe.survey = [](data::RowSource& rows, const std::function<bool()>& stopped) -> std::optional<Json> {
      const auto found =
          LabelSet::of_rows(rows, kImageColumns, kClassColumn, /*always_regression=*/false, stopped);
      if (found) require_classes(*found);
      return found ? std::optional(found->to_json_value()) : std::nullopt;
    };
  }
  recipe.encoder = [](std::shared_ptr<const tokenizer::Tokenizer>, data::Split split,
                      const Json& facts) -> std::unique_ptr<data::Encoder> {
    std::optional<LabelSet> labels;
    if (split != data::Split::kTest) labels = LabelSet::from_json(facts);
    return std::make_unique<ImageEncoder>(std::move(labels));
  };
  return recipe;
}

std::string sides(int64_t height, int64_t width) {
  return std::to_string(height) + " by " + std::to_string(width);
}

// Without a file that says so: the model's size, and 0.5 for mean and deviation.
images::Preprocessor preprocessor_of(const TaskInput& input) {
  if (!input.image)
    throw Error(ExitCode::kUsage, "the model does not look at images")
        .where("--model_type")
        .why("--task image-classification shows it images")
        .hint("the folder of a model that looks at images");
  const architectures::ImageShape& model = *input.image;
  images::Preprocessor preprocessor{.height = model.height, .width = model.width};
  if (!input.preprocessor.is_null())
    preprocessor = images::read_preprocessor(input.preprocessor, model.processor, input.preprocessor_origin);
  const std::string origin =
      input.preprocessor.is_null() ? std::string("the model's config") : input.preprocessor_origin;
  if (model.channels != 3)
    throw Error(ExitCode::kData,
                "the model looks at images of " + std::to_string(model.channels) + " channels")
        .where("num_channels of the model's config")
        .why("images are read as red, green and blue")
        .hint("a model with num_channels 3");
  if (preprocessor.height == model.height && preprocessor.width == model.width) return preprocessor;
  throw Error(ExitCode::kData, "the image processor gives images of another size than the model's")
      .where(origin)
      .why("it gives " + sides(preprocessor.height, preprocessor.width) + " pixels, the model looks at " +
           sides(model.height, model.width))
      .hint("another --image_processor_name, or a model with that image_size");
}

Scoring image_scoring(const TaskInput& input, const Json& facts) {
  const std::optional<LabelSet> labels =
      facts.is_null() ? LabelSet::of_config(input.model_config) : std::optional(LabelSet::from_json(facts));
  if (labels && labels->kind() == LabelSet::Kind::kClasses)
    return class_scoring({"accuracy", *labels, "predict_results.txt"});
  Scoring scoring;
  if (!labels) scoring.metrics.emplace_back("accuracy");
  return scoring;
}

}  // namespace

TaskRow image_classification() {
  return {.task = Task::kImageClassification,
          .name = "image-classification",
          .head = architectures::Head::kImageClassification,
          .pipeline = "image-classification",
          .flags = {"train_dir", "validation_dir", "train_val_split", "image_column_name",
                    "image_processor_name", "label_column_name"},
          .recipe = image_recipe,
          .preprocessor = preprocessor_of,
          .config_changes = [](const Json& facts) { return LabelSet::from_json(facts).config_changes(); },
          .scoring = image_scoring,
          .scorer = make_class_scorer};
}

}  // namespace hftrain::tasks
