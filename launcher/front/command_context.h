// What every command of the front program is given.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "hftrain/base/environment.h"

namespace hftrain::front {

struct CommandContext {
  std::vector<std::string> arguments;  // after the command's name
  Environment environment;
  std::string program;  // absolute path of this executable: hftrain-worker lies beside it
  std::ostream& out;    // results
  std::ostream& err;    // everything else
  bool out_is_terminal = false;
  bool err_is_terminal = false;
};

}  // namespace hftrain::front
