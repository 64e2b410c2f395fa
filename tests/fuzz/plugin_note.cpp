// A file that --plugin names: what a section of it says, read before anything is loaded.
#include "fuzz.h"
#include "hftrain/base/elf_section.h"
#include "hftrain/plan/plugin_file.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  for (const char* name : {".hftrain_plugin", ""}) {
    const auto section = elf_section(file, name);
    if (section && !section->empty() && (section->data() < file.data() || section->end() > file.end()))
      __builtin_trap();
  }
  return fuzz::read_or_refuse(
      [&] { plan::check_plugin_note(plan::read_plugin_note(file, "a.so"), "a.so", "2.11.0"); });
}
