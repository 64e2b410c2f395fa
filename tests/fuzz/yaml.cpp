// A configuration file, YAML or (after a first byte of 'j') JSON, with all that a command line does with it:
// the values of its flags, the rules, and what it says in the ways of accelerate and DeepSpeed.
#include "fuzz.h"
#include "hftrain/arguments/config_file.h"
#include "hftrain/arguments/parse.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::read_or_refuse([&] {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    const bool json = text.starts_with('j');
    if (json) text.remove_prefix(1);
    const std::string path = fuzz::file_with(json ? "c.json" : "c.yaml", text);
    std::vector<Diagnostic> problems;
    arguments::read_config_file(path, /*layer=*/1, problems);
    // A command line over four hundred flags takes twenty times as long as reading most files, and of a broken one says
    // what is known already.
    if (problems.empty())
      arguments::parse_arguments(std::vector<std::string>{"--config", path}, Environment());
  });
}
