#include "hftrain/trainer/plugin_family.h"

#include <ATen/core/Tensor.h>

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "hftrain/architectures/tagged_numbers.h"
#include "hftrain/base/json.h"
#include "hftrain/models/own_family.h"

namespace hftrain::trainer {
namespace {

using Decoder = std::shared_ptr<const plugin::Decoder>;

Decoder made_decoder(const PluginPart& part, const plugin::MakeDecoder& make, const Json& config) {
  return part.call("being made", [&] {
    const plugin::FamilyConfig shown{
        dump_json(config), [numbers = architectures::without_tagged_numbers(config)](const std::string& key) {
          return numbers.at(key).get<double>();
        }};
    Decoder decoder = make(shown);
    if (!decoder) throw std::runtime_error("it made no decoder");
    return decoder;
  });
}

at::Tensor of_tokens(at::Tensor x) {
  if (x.defined() && x.dim() == 3) return x;
  throw std::runtime_error("it gave no [B, T, C]");
}

}  // namespace

void add_plugin_family(PluginPart part, const std::string& model_type, plugin::MakeDecoder make) {
  models::add_own_family(model_type, [part = std::move(part), make = std::move(make)](const Json& config) {
    const Decoder decoder = made_decoder(part, make, config);
    models::OwnDecoder maths;
    maths.embed = [part, decoder](const std::vector<at::Tensor>& parameters, const at::Tensor& ids) {
      return part.call("embed", [&] { return of_tokens(decoder->embed(parameters, ids)); });
    };
    maths.block = [part, decoder](int64_t layer, const std::vector<at::Tensor>& parameters,
                                  const at::Tensor& x, const at::Tensor& mask) {
      return part.call("block", [&] { return of_tokens(decoder->block(layer, parameters, x, mask)); });
    };
    maths.last = [part, decoder](const std::vector<at::Tensor>& parameters, const at::Tensor& x) {
      return part.call("last", [&] { return decoder->last(parameters, x); });
    };
    return maths;
  });
}

}  // namespace hftrain::trainer
