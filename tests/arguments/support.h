// Short cuts of the tests of arguments/.
#pragma once

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/base/error.h"
#include "support/temporary_directory.h"

namespace hftrain::arguments {

using Words = std::vector<std::string>;

inline Words also(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Flags of a run that breaks no rule, in front of `words`.
inline Words with_run(const Words& words) {
  return also({"--model_type", "gpt2", "--train_file", "train.txt", "--output_dir", "out"}, words);
}

inline ParseOutcome parse(const Words& words, const Environment& environment = {}) {
  return parse_arguments(with_run(words), environment);
}

// The rendered mistakes of a command line; empty when there are none.
inline std::string mistakes(const Words& words, const Environment& environment = {}) {
  try {
    parse(words, environment);
  } catch (const Error& error) {
    return error.code() == ExitCode::kUsage ? error.render() : "wrong exit code";
  }
  return "";
}

inline std::string notes(const ParseOutcome& outcome) {
  std::string text;
  for (const Diagnostic& note : outcome.notes) text += note.render() + '\n';
  return text;
}

// Those of them that are warnings.
inline std::string warnings(const ParseOutcome& outcome) {
  std::string text;
  for (const Diagnostic& note : outcome.notes) {
    if (note.severity == Diagnostic::Severity::kWarning) text += note.render() + '\n';
  }
  return text;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// What the command line asks of sharding.
inline ParallelOptions sharding(const Words& words, const Environment& environment = {}) {
  return parse(words, environment).arguments.parallel.sharding;
}

inline std::string write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

// A configuration file written by the test, and the command line that names it by `flag`.
struct NamedFile {
  std::string flag;
  testing::TemporaryDirectory folder;
  std::string path;
  NamedFile(std::string its_flag, const std::string& name, const std::string& text)
      : flag(std::move(its_flag)), path(write(folder / name, text)) {}
  std::string at(const std::string& position) const { return path + ':' + position; }
  Words with(Words words = {}) const {
    words.insert(words.begin(), {flag, path});
    return words;
  }
  ParseOutcome outcome(const Words& words = {}) const { return parse(with(words)); }
  Arguments arguments(const Words& words = {}) const { return outcome(words).arguments; }
  std::string mistakes(const Words& words = {}) const { return arguments::mistakes(with(words)); }
  std::string notes(const Words& words = {}) const { return arguments::notes(outcome(words)); }
  std::string warnings(const Words& words = {}) const { return arguments::warnings(outcome(words)); }
};

}  // namespace hftrain::arguments
