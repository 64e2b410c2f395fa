// Short cuts of the tests of arguments/.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/base/error.h"

namespace hftrain::arguments {

using Words = std::vector<std::string>;

// Flags of a run that breaks no rule, in front of `words`.
inline Words with_run(Words words) {
  Words all = {"--model_type", "gpt2", "--train_file", "train.txt", "--output_dir", "out"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
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

inline std::string write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

}  // namespace hftrain::arguments
