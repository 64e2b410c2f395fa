// A configuration file, YAML or (after a first byte of 'j') JSON.
#include "fuzz.h"
#include "hftrain/arguments/config_file.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::read_or_refuse([&] {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    const bool json = text.starts_with('j');
    if (json) text.remove_prefix(1);
    arguments::Diagnostics problems;
    arguments::read_config_file(fuzz::file_with(json ? "c.json" : "c.yaml", text), 0, problems);
    if (!problems.empty()) throw Error(ExitCode::kUsage, problems);
  });
}
