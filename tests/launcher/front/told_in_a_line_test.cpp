// What other machines' terminals say of an error.
#include "launcher/front/told_in_a_line.h"

#include "support/catch.h"

namespace hftrain::front {

TEST_CASE("an error is told to other machines by what happened and why") {
  Error error(ExitCode::kDisk, "cannot write");
  CHECK(in_a_line(error.diagnostics().front()) == "cannot write");
  CHECK(in_a_line(error.render()) == "error: cannot write");
  error.where("/out").hint("free space");
  CHECK(in_a_line(error.render()) == "error: cannot write");
  error.why("no space is left\nof 4 GiB").context("saving");
  CHECK(in_a_line(error.diagnostics().front()) == "cannot write: no space is left");
  CHECK(in_a_line(error.render()) == "error: cannot write: no space is left");
}

TEST_CASE("of several mistakes the first is told, with no reason but its own") {
  const Error error(ExitCode::kUsage, {{Diagnostic::Severity::kError, "first", "x", "", ""},
                                       {Diagnostic::Severity::kError, "second", "", "because", ""}});
  CHECK(in_a_line(error.render()) == "error: first");
}

}  // namespace hftrain::front
