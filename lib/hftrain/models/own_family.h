// Families of others: the maths of a decoder as functions.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "hftrain/models/model.h"

namespace hftrain::models {

struct OwnDecoder {
  std::function<at::Tensor(const std::vector<at::Tensor>&, const at::Tensor& ids)> embed;
  std::function<at::Tensor(int64_t, const std::vector<at::Tensor>&, const at::Tensor& x,
                           const at::Tensor& mask)>
      block;
  std::function<at::Tensor(const std::vector<at::Tensor>&, const at::Tensor& x)> last;
};

using OwnDecoderMaker = std::function<OwnDecoder(const Json& config)>;

// For build_model, from then on; before the first thread.
void add_own_family(const std::string& model_type, OwnDecoderMaker make);
// Null: none of that name was added.
std::unique_ptr<Model> make_own_model(std::shared_ptr<const architectures::Architecture> architecture,
                                      const ModelOptions& options);

}  // namespace hftrain::models
