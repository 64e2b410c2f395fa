// Loads the real plug-in, so it has a process of its own: loading is for ever.
#include "hftrain/runtime/cuda_plugin.h"

#include <stdlib.h>

#include <string>

#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/paths.h"

using namespace hftrain;

TEST_CASE("where no GPU is visible the CUDA plug-in loads and says why CUDA cannot be used") {
  ::setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
  const std::string path = testing::binary_dir() + "/lib/libhftrain_cuda.so";
  try {
    runtime::load_cuda_plugin(path);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    INFO(error.render());
    CHECK(error.code() == ExitCode::kEnvironment);
    CHECK(error.diagnostics().front().where == path);
    const std::string& why = error.diagnostics().front().why;
    // The driver's words, not the loader's: the library itself was found and complete.
    CHECK((why.find("driver") != std::string::npos || why.find("device") != std::string::npos));
    CHECK(why.find("cannot open shared object") == std::string::npos);
    CHECK(why.find("undefined symbol") == std::string::npos);
  }
}
