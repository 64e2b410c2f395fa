// The table of families: model_type → constructor.
#include <array>
#include <string>

#include "hftrain/base/error.h"
#include "hftrain/models/bart_model.h"
#include "hftrain/models/encoder_model.h"
#include "hftrain/models/gemma_model.h"
#include "hftrain/models/gpt2_model.h"
#include "hftrain/models/llama_model.h"
#include "hftrain/models/model.h"
#include "hftrain/models/own_family.h"
#include "hftrain/models/t5_model.h"
#include "hftrain/models/vit_model.h"

namespace hftrain::models {
namespace {

using ArchitecturePointer = std::shared_ptr<const architectures::Architecture>;

template <typename Family>
std::unique_ptr<Model> make(ArchitecturePointer architecture, const ModelOptions& options) {
  return std::make_unique<Family>(std::move(architecture), options);
}

struct Entry {
  const char* model_type;
  std::unique_ptr<Model> (*make)(ArchitecturePointer, const ModelOptions&);
};

constexpr std::array kFamilies{
    Entry{"gpt2", make<Gpt2Model>},
    Entry{"llama", make<LlamaModel>},
    Entry{"mistral", make<LlamaModel>},
    Entry{"qwen2", make<LlamaModel>},
    Entry{"qwen3", make<LlamaModel>},
    Entry{"gemma", make<GemmaModel>},
    Entry{"bert", make<EncoderModel>},
    Entry{"roberta", make<EncoderModel>},
    Entry{"distilbert", make<EncoderModel>},
    Entry{"vit", make<VitModel>},
    Entry{"t5", make<T5Model>},
    Entry{"bart", make<BartModel>},
};

}  // namespace

std::unique_ptr<Model> build_model(ArchitecturePointer architecture, const ModelOptions& options) {
  for (const Entry& family : kFamilies) {
    if (architecture->model_type() == family.model_type) return family.make(std::move(architecture), options);
  }
  if (std::unique_ptr<Model> own = make_own_model(architecture, options)) return own;
  throw Error(ExitCode::kInternal, "no forward pass for model type \"" + architecture->model_type() + "\"");
}

}  // namespace hftrain::models
