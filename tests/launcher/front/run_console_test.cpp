#include "launcher/front/run_console.h"

#include <sstream>

#include "support/catch.h"

namespace hftrain::front {

TEST_CASE("a quiet console, and one of warnings, shows the notices that warn and no others") {
  for (const bool quiet : {true, false}) {
    std::ostringstream out;
    reporting::Console console(out, {.progress = reporting::ProgressStyle::kNone,
                                     .color = false,
                                     .width = 80,
                                     .quiet = quiet,
                                     .threshold = quiet ? LogLevel::kInfo : LogLevel::kWarning});
    show_notice("still waiting for node 1", console);
    show_notice("warning: refused a connection from 10.0.0.9: no", console);
    CHECK(out.str() == "warning: refused a connection from 10.0.0.9: no\n");
  }
}

}  // namespace hftrain::front
