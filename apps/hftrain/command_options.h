// The words behind a small command: its options, flags and positional words. CLI11 matches them to what is
// declared and prints the help, but sees the number of a value in its place: some of its rules change words
// ("[a]" is a list, "{}" an empty one, "010" is 8), and every word has to arrive as it was typed.
//
// Forms: --name value, --name=value, --flag; dashes and underscores are the same; what follows `--` is no
// option; a word that begins with a dash and is no number is one. Names of options that take several values
// may be repeated; of others the last counts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "command.h"

namespace hftrain::app {

class CommandOptions {
 public:
  // `command`: as typed, "hftrain tokenizer encode"; `summary`: what it does, for the help; `more`: text
  // below the options.
  CommandOptions(std::string command, std::string summary, std::string more = "");

  // Names without dashes are positional. `kind` is the word for a value in the help, or the words that it may be: "a|b".
  enum class Need { kRequired, kOptional };
  void flag(const std::string& name, bool& value, const std::string& help);   // without a value
  void truth(const std::string& name, bool& value, const std::string& help);  // true or false
  void truth(const std::string& name, std::optional<bool>& value, const std::string& help);
  void number(const std::string& name, int64_t& value, int64_t least, const std::string& help);
  void number(const std::string& name, std::optional<int64_t>& value, int64_t least, const std::string& help);
  void text(const std::string& name, std::string& value, const std::string& kind, const std::string& help,
            Need need = Need::kOptional);
  void texts(const std::string& name, std::vector<std::string>& values, const std::string& kind,
             const std::string& help, Need need = Need::kOptional);
  // The same of files, folders and what else is looked for by a path, which is not empty.
  void path(const std::string& name, std::string& value, const std::string& kind, const std::string& help,
            Need need = Need::kOptional);
  void paths(const std::string& name, std::vector<std::string>& values, const std::string& kind,
             const std::string& help, Need need = Need::kOptional);

  // Whatever `take` makes of the words. `alone` stands for a value that is left out; empty: it has to be there.
  using Take = std::function<void(const std::vector<std::string>&)>;
  enum class Words { kOne, kSeveral };
  void value(const std::string& name, const std::string& kind, const std::string& help, Words words,
             const std::string& alone, Take take);

  // Sets the values behind the options that were given; the others keep what they hold. False when help or
  // the version was asked for, and printed. Throws Error(kUsage) with every mistake that was found.
  bool read(const std::vector<std::string>& words, const CommandContext& context) const;

 private:
  struct Option {
    std::string name = {};  // "--vocab_size", "DIR"
    std::string kind = {};  // of a value; empty: takes none
    std::string help = {};
    std::string otherwise = {};  // shown as the default
    Need need = Need::kOptional;
    bool several = false;
    Take take = {};
    std::string alone = {};  // in place of a value that is left out

    bool positional() const { return !name.starts_with("--"); }
  };
  class Reading;

  void refuse_empty();

  std::string command_, summary_, more_;
  std::vector<Option> options_;
};

// What a command declares, in place of doing it: its options, or the actions that may stand first. `words`: what stands behind its name.
struct Declared {
  struct Option {
    std::string name;  // "--vocab_size", "DIR"
    std::string kind;  // of a value, "true|false" where it is one of some words; empty: takes none
    std::string help;
  };
  std::vector<std::string> actions;
  std::vector<Option> options;
};
Declared declared_by(const Command& command, const CommandContext& context, std::vector<std::string> words);

// For a command with actions behind it ("hftrain checkpoint"): true when `words` ask for help or the version,
// which is then printed.
bool answered(const std::vector<std::string>& words, const std::string& help, const CommandContext& context);

// Throws Error(kUsage): `word`, which may be empty, stands where one of `known` has to.
[[noreturn]] void throw_unknown_action(const std::string& command, const std::string& word,
                                       const std::vector<std::string>& known);

}  // namespace hftrain::app
