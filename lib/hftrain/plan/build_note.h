// What a plug-in or a program of the user's was built for: read from a section of its file (plugin/note.h) without loading it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "hftrain/base/error.h"

namespace hftrain::plan {

// "interface" -> "1", …; printable. Of any bytes: empty where they have no note.
std::map<std::string, std::string, std::less<>> lines_of_note(std::string_view file);

// What both are compiled for.
struct CompiledFor {
  std::string interface, torch, cxx11_abi;  // empty: it does not say
};

// Finishes `refusal` and throws it when that is another interface than `interface`, another C++ ABI or, where it uses LibTorch, another
// release of that than `torch_version` (empty: this program has none).
void check_compiled_for(const CompiledFor& what, const char* interface_name, const std::string& interface,
                        const std::string& torch_version, const Error& refusal);

}  // namespace hftrain::plan
