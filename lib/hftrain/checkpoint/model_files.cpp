#include "hftrain/checkpoint/model_files.h"

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/base/file.h"
#include "hftrain/storage/model_folder.h"

namespace hftrain::checkpoint {
namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kPreprocessorConfig = "preprocessor_config.json";
constexpr const char* kGenerationConfig = "generation_config.json";
constexpr const char* kTokenizerConfig = "tokenizer_config.json";
constexpr const char* kChatTemplate = "chat_template.jinja";
constexpr const char* kOlderChatTemplate = "chat_template.json";

// With the settings and the template that the run has in the place of the tokenizer's own.
void save_tokenizer_config(const plan::ModelPlan& model, SaveTarget& target) {
  const std::string path = model.tokenizer_folder + '/' + kTokenizerConfig;
  if (model.tokenizer_settings.empty() && model.chat_template.empty()) {
    if (path_exists(path)) target.put(kTokenizerConfig, read_file(path));
    return;
  }
  Json settings = path_exists(path) ? read_json_file(path) : Json::object();
  settings.update(model.tokenizer_settings);
  if (!model.chat_template.empty()) {
    settings.erase("chat_template");
    target.put(kChatTemplate, model.chat_template);
  }
  target.put(kTokenizerConfig, dump_json(settings) + '\n');
}

}  // namespace

void save_model_files(const plan::ModelPlan& model, SaveTarget& target) {
  if (model.adapter) {
    target.put(architectures::kAdapterConfigName, model.adapter->config);
    // Labels of a head that is saved whole stand nowhere else.
    if (!model.adapter->spec.saved_modules.empty()) target.put(kConfig, dump_json(model.config) + '\n');
  } else {
    target.put(kConfig, dump_json(model.config) + '\n');
  }
  if (!model.generation_config.empty() && !model.adapter)
    target.put(kGenerationConfig, model.generation_config);
  if (!model.preprocessor_config.empty()) target.put(kPreprocessorConfig, model.preprocessor_config);
  if (model.tokenizer_folder.empty()) return;
  for (const std::string& name : storage::model_companion_files(model.tokenizer_folder)) {
    const bool replaced =
        name == kConfig || name == kGenerationConfig || name == kTokenizerConfig ||
        (!model.chat_template.empty() && (name == kChatTemplate || name == kOlderChatTemplate));
    if (!replaced) target.put(name, read_file(model.tokenizer_folder + '/' + name));
  }
  save_tokenizer_config(model, target);
}

}  // namespace hftrain::checkpoint
