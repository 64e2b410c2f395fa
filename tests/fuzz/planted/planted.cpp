// A reader with a mistake, to see that the short run finds one: only inputs that hold a word of its dictionary and keep
// the first byte of a seed reach it.
#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with('{') && text.find("planted") != std::string_view::npos) __builtin_trap();
  return 0;
}
