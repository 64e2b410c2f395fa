// A chat template and the variables that it sees, as JSON: two parts of the input.
#include "hftrain/chat/chat_template.h"
#include "fuzz.h"
#include "hftrain/chat/dict.h"
#include "hftrain/chat/json_input.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::read_or_refuse([&] {
    const auto parts = fuzz::parts_of(data, size, 2);
    const chat::ChatTemplate parsed = chat::ChatTemplate::parse(std::string(parts[0]), "template");
    const chat::Value read = parts[1].empty() ? chat::Value() : chat::value_from_json(parts[1], "variables");
    chat::Variables variables;
    if (const chat::Dict* dict = read.as_dict()) {
      for (const auto& [name, value] : dict->items()) variables.emplace_back(name.as_text()->bytes, value);
    }
    const std::tm now{.tm_mday = 7, .tm_mon = 2, .tm_year = 126};
    parsed.render(variables, now, {.steps = 200'000, .bytes = 8 << 20, .depth = 300});
  });
}
