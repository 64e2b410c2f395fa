// The entry to this module: command line, configuration files and environment in, Arguments out.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/arguments/arguments.h"
#include "hftrain/base/environment.h"
#include "hftrain/base/error.h"

namespace hftrain::arguments {

// Where every value comes from: "default", "--flag" (command line), "file:line:column", "environment NAME",
// or "from other_flag" when a rule filled it in.
class Origins {
 public:
  const std::string& of(const std::string& flag) const;
  bool is_default(const std::string& flag) const { return by_flag_.count(flag) == 0; }
  // The user gave it, rather than a rule.
  bool is_given(const std::string& flag) const;
  // What a rule filled it in by, mostly another flag; empty: none did.
  std::string filled_in_by(const std::string& flag) const;
  // The user gave it or a rule filled it in, other than by a configuration file that repeats the default, as
  // those of --print_config do.
  bool is_chosen(const std::string& flag) const;
  void set(const std::string& flag, std::string origin);
  void set_filled_in(const std::string& flag, const std::string& by);  // a rule did
  void set_repeated(const std::string& flag, std::string origin);      // of a file that says the default
  void forget(const std::string& origin);                              // what it gave was not given after all
  // For messages: "--seed" or "seed (run.yaml:3:7)".
  std::string describe(const std::string& flag) const;

 private:
  std::map<std::string, std::string> by_flag_;
  std::map<std::string, std::string> filled_in_;  // by a rule
  std::set<std::string> repeated_;
};

// What the command line asks for besides training.
struct Actions {
  bool help = false;
  bool help_all = false;
  bool version = false;
  std::optional<std::string> print_config;  // full | minimal | origins
  bool dry_run = false;
  bool json = false;
};

struct ParseOutcome {
  Arguments arguments;
  Origins origins;
  Actions actions;
  std::vector<Diagnostic> notes;  // warnings and notes, to be shown once
  std::map<std::string, std::string>
      exported_environment;            // `env:` of the files, for this process and its workers
  std::map<std::string, Json> unread;  // given values of flags that have no member
  // Given values of mapping-valued flags that have a member, with the keys that the member does not hold.
  std::map<std::string, Json> mappings;
  // Of the parts of mappings in configuration files: flag -> JSON pointer -> file:line:column.
  std::map<std::string, std::map<std::string, std::string>> places;
  std::map<std::string, std::set<std::string>> plain;  // the same of those that stand without quotes
};

// Every mistake of the arguments (kUsage), and what could be read beside them: who has to be told of them may
// be among it.
class InvalidArguments : public Error {
 public:
  InvalidArguments(std::vector<Diagnostic> mistakes, ParseOutcome read)
      : Error(ExitCode::kUsage, std::move(mistakes)), read_(std::move(read)) {}

  const ParseOutcome& read() const noexcept { return read_; }

 private:
  ParseOutcome read_;
};

// Throws InvalidArguments with every mistake found. With help, help_all or version nothing is checked; with
// print_config what makes a configuration unrunnable becomes a warning.
ParseOutcome parse_arguments(std::span<const std::string> argv, const Environment& environment);

}  // namespace hftrain::arguments
