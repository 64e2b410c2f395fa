// First words of the command lines that people bring along from Python.
#pragma once

#include <string>

namespace hftrain::app {

// What to type in the place of a script's name, a launcher or a task's name; empty for other words.
std::string instead_of_python(const std::string& word);

}  // namespace hftrain::app
