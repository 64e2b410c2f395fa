// The table of optimizers: name in --optim → maker.
#include <array>

#include "hftrain/base/error.h"
#include "hftrain/optim/adafactor.h"
#include "hftrain/optim/adagrad.h"
#include "hftrain/optim/adam.h"
#include "hftrain/optim/adamw.h"
#include "hftrain/optim/anyprecision_adamw.h"
#include "hftrain/optim/lion.h"
#include "hftrain/optim/rmsprop.h"
#include "hftrain/optim/sgd.h"

namespace hftrain::optim {
namespace {

using Maker = std::unique_ptr<Optimizer> (*)(const std::string&, std::vector<ParameterGroup>,
                                             const OptimizerSettings&, OptimizerOptions&);

template <typename T>
std::unique_ptr<Optimizer> make(const std::string& name, std::vector<ParameterGroup> groups,
                                const OptimizerSettings& settings, OptimizerOptions& options) {
  auto made = std::make_unique<T>(name, std::move(groups), settings, options);
  if (settings.as_on_device) made->compute_as_on_device();
  return made;
}

struct Entry {
  const char* name;
  Maker maker;
};

constexpr std::array kOptimizers{
    Entry{"adamw_torch_fused", make<AdamW>}, Entry{"adamw_torch", make<AdamW>},
    Entry{"adamw_hf", make<AdamW>},          Entry{"adamw_anyprecision", make<AnyprecisionAdamW>},
    Entry{"adafactor", make<Adafactor>},     Entry{"sgd", make<Sgd>},
    Entry{"adagrad", make<Adagrad>},         Entry{"rmsprop", make<Rmsprop>},
    Entry{"lion_32bit", make<Lion>},         Entry{"adam", make<Adam>},
};

}  // namespace

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kOptimizers) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Optimizer> make_optimizer(const std::string& name, std::vector<ParameterGroup> groups,
                                          const OptimizerSettings& settings) {
  for (const Entry& entry : kOptimizers) {
    if (name != entry.name) continue;
    OptimizerOptions options(name, settings.options);
    auto optimizer = entry.maker(name, std::move(groups), settings, options);
    options.finish();
    return optimizer;
  }
  std::string known;
  for (const Entry& entry : kOptimizers) known += known.empty() ? entry.name : std::string(", ") + entry.name;
  throw Error(ExitCode::kUsage, "unknown optimizer \"" + name + "\"")
      .where("--optim")
      .why("no optimizer is called so")
      .hint("known ones: " + known);
}

}  // namespace hftrain::optim
