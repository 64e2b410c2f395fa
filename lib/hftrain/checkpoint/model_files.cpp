#include "hftrain/checkpoint/model_files.h"

#include "hftrain/base/file.h"
#include "hftrain/storage/model_folder.h"

namespace hftrain::checkpoint {
namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kPreprocessorConfig = "preprocessor_config.json";
constexpr const char* kGenerationConfig = "generation_config.json";

}  // namespace

void save_model_files(const plan::ModelPlan& model, SaveTarget& target) {
  target.put(kConfig, dump_json(model.config) + '\n');
  if (!model.generation_config.empty()) target.put(kGenerationConfig, model.generation_config);
  if (!model.preprocessor_config.empty()) target.put(kPreprocessorConfig, model.preprocessor_config);
  if (model.tokenizer_folder.empty()) return;
  for (const std::string& name : storage::model_companion_files(model.tokenizer_folder)) {
    if (name != kConfig && name != kGenerationConfig)
      target.put(name, read_file(model.tokenizer_folder + '/' + name));
  }
}

}  // namespace hftrain::checkpoint
