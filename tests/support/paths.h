// Where the checkout and its build lie. Functions, so that only paths.cpp holds them and every other object
// is the same in any checkout (the compiler cache finds it again).
#pragma once

#include <string>

namespace hftrain::testing {

std::string source_dir();
std::string binary_dir();
// python3 with the peers' packages (HFTRAIN_TEST_PYTHON); empty when there is none.
std::string test_python();

// The path of a built program or plug-in.
std::string program(const std::string& name);
std::string plugin(const std::string& name);

}  // namespace hftrain::testing
