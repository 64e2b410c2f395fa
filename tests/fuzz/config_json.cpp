// A config.json, up to the table of parameters.
#include "fuzz.h"
#include "hftrain/architectures/architecture.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::read_or_refuse([&] {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto model =
        architectures::Architecture::from_config(parse_json(text, "config.json"), "config.json");
    if (model->parameters().count() < 1) __builtin_trap();
    architectures::Architecture::from_config(model->config_json(), "what was written");
  });
}
