// A config.json, up to the table of parameters.
#include "fuzz.h"
#include "hftrain/architectures/architecture.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

namespace {

// A table of thousands of layers takes a second to write and says no more than one of a few; too many for any
// table are left to be refused.
void take_layers_away(Json& config) {
  if (!config.is_object()) return;
  for (const char* key : {"num_hidden_layers", "n_layer"}) {
    const auto layers = config.find(key);
    if (layers == config.end() || !layers->is_number_unsigned() || *layers > 10'000) continue;
    *layers = layers->get<uint64_t>() % 16;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::read_or_refuse([&] {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    Json config = parse_json(text, "config.json");
    take_layers_away(config);
    const auto model = architectures::Architecture::from_config(config, "config.json");
    if (model->parameters().count() < 1) __builtin_trap();
    fuzz::must([&] { return architectures::Architecture::from_config(model->config_json(), "again"); });
  });
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return fuzz::mutate_json(data, size, max_size, seed);
}
