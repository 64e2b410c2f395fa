// Where the dynamic linker looks for the libraries of a program, read from the program's file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/environment.h"

namespace hftrain::machine {

// The folders of DT_RUNPATH (or DT_RPATH) of a 64-bit ELF file, with $ORIGIN replaced by the file's folder.
// Empty for a file that has none or is no ELF file.
std::vector<std::string> elf_run_path(const std::string& program);

// The file that `program` would load under the name `library`: in LD_LIBRARY_PATH, then in its run path.
std::optional<std::string> find_library(const std::string& program, const std::string& library,
                                        const Environment& environment);

}  // namespace hftrain::machine
