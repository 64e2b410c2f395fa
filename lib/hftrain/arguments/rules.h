// Checks between flags: a table of named predicates. Numbers are those of the transformers checks that users
// know from its documentation and issues (1-59, T for the start of training, E for the example scripts); H
// marks hftrain's own.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/arguments/raw_argument.h"

namespace hftrain::arguments {

struct Rule {
  std::string_view number;
  Diagnostic::Severity severity = Diagnostic::Severity::kError;
  std::vector<std::string_view> flags;  // involved, for the places in the message
  bool (*broken)(const ParseOutcome&) = nullptr;
  std::string_view what;  // {flag} stands for the flag's value
  std::string_view why = {};
  std::string_view fix = {};
  bool about_missing = false;  // says that something was not given
};

std::span<const Rule> rules();

// A check that is no rule, because it is made where names and files are merged or the plan is resolved: told by `hftrain explain`.
struct OtherCheck {
  std::string_view number;
  std::vector<std::string_view> flags;
  std::string_view what;
};

std::span<const OtherCheck> other_checks();

// Errors are appended to `problems`, warnings and notes to outcome.notes. Rules about missing flags are
// skipped unless `names_known`: a mistyped name may be the missing one.
void check_rules(ParseOutcome& outcome, bool names_known, Diagnostics& problems);

}  // namespace hftrain::arguments
