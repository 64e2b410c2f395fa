#include "hftrain/models/own_family.h"

#include <map>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/models/decoder_model.h"

namespace hftrain::models {
namespace {

std::map<std::string, OwnDecoderMaker>& own_families() {
  static std::map<std::string, OwnDecoderMaker> families;
  return families;
}

std::vector<at::Tensor> plain_tensors(nn::Parameters parameters) {
  std::vector<at::Tensor> tensors;
  for (const nn::Parameter& parameter : parameters) {
    const at::Tensor& tensor = parameter;
    tensors.push_back(tensor);
  }
  return tensors;
}

class OwnModel final : public DecoderModel {
 public:
  OwnModel(std::shared_ptr<const architectures::Architecture> architecture, const ModelOptions& options,
           OwnDecoder maths)
      : DecoderModel(std::move(architecture), options), maths_(std::move(maths)) {
    draws_random(true, true);  // what a plug-in draws is not known: replayed when a unit is recomputed
  }
  bool remembers() const noexcept override { return false; }  // nor what its blocks could keep of a text

 protected:
  at::Tensor embed(nn::Parameters parameters, const at::Tensor& ids,
                   const DecoderPlaces& places) const override {
    if (!places.documents.empty())
      throw Error(ExitCode::kUsage, "the plug-in's family cannot keep documents of a row apart")
          .where(architecture().model_type())
          .why("its tokens see all that stands before them in the row, other documents too")
          .hint("without --packing and --padding_free");
    return maths_.embed(plain_tensors(parameters), ids);
  }
  at::Tensor block(int64_t layer, nn::Parameters parameters, const at::Tensor& x,
                   const DecoderPlaces& places) const override {
    return maths_.block(layer, plain_tensors(parameters), x, places.padding);
  }
  at::Tensor final_norm(nn::Parameters parameters, const at::Tensor& x) const override {
    return maths_.last(plain_tensors(parameters), x);
  }

 private:
  OwnDecoder maths_;
};

}  // namespace

void add_own_family(const std::string& model_type, OwnDecoderMaker make) {
  own_families()[model_type] = std::move(make);
}

std::unique_ptr<Model> make_own_model(std::shared_ptr<const architectures::Architecture> architecture,
                                      const ModelOptions& options) {
  const auto found = own_families().find(architecture->model_type());
  if (found == own_families().end()) return nullptr;
  OwnDecoder maths = found->second(architecture->config_json());
  return std::make_unique<OwnModel>(std::move(architecture), options, std::move(maths));
}

}  // namespace hftrain::models
