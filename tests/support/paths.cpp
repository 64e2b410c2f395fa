#include "support/paths.h"

#include <stdlib.h>

namespace hftrain::testing {

std::string source_dir() {
  return HFTRAIN_SOURCE_DIR;
}

std::string binary_dir() {
  const char* elsewhere = ::getenv("HFTRAIN_BINARY_DIR");  // a tree that was carried to another machine
  return elsewhere != nullptr ? elsewhere : HFTRAIN_BINARY_DIR;
}

std::string test_python() {
  return HFTRAIN_TEST_PYTHON;
}

std::string program(const std::string& name) {
  return binary_dir() + "/bin/" + name;
}

std::string plugin(const std::string& name) {
  return binary_dir() + "/lib/lib" + name + ".so";
}

}  // namespace hftrain::testing
