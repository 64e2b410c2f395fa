// Where the plug-ins of the program lie.
#pragma once

#include <string>

namespace hftrain::worker {

// Of the file that holds this code: a program in bin, or libhftrain.so in lib of the same tree.
std::string installed_tree();

// In its lib.
std::string plugin_path(const char* name);

}  // namespace hftrain::worker
