// Runs a script in the python3 that has the peers' packages (HFTRAIN_TEST_PYTHON), for tests tagged [parity].
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::testing {

struct PythonResult {
  int exit_code = -1;
  std::string output;  // stdout and stderr
};

inline bool has_python() {
  return test_python() != "";
}

// `arguments` become sys.argv[1:]; they must not hold quotes.
inline PythonResult run_python(const std::string& script, const std::vector<std::string>& arguments) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "script.py") << script;
  std::string command = "HF_HUB_OFFLINE=1 '" + test_python() + "' '" + (folder / "script.py") + "'";
  for (const std::string& argument : arguments) command += " '" + argument + "'";
  PythonResult result;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  while (const size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) result.output.append(buffer, count);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace hftrain::testing
