// A section of a shared library, by reading its file: nothing of it is loaded or run.
#pragma once

#include <optional>
#include <string_view>

namespace hftrain {

// Whether the bytes begin as those of a shared library (ELF) for the kind of machine that this program was built for.
bool is_shared_library(std::string_view file);

// The bytes of its section of that name, within `file`; nothing where it has none, or is no such library. For any bytes.
std::optional<std::string_view> elf_section(std::string_view file, std::string_view name);

}  // namespace hftrain
