#include <fmt/format.h>

#include "hftrain/arguments/documentation.h"
#include "hftrain/arguments/flag_table.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

// Flags worth completing: what this build does.
bool offered(const Flag& flag) {
  return flag.support.status == Support::kImplemented && flag.replaced_by.flag.empty() && !flag.pattern;
}

// The words that may follow a flag, separated by blanks; empty: files or anything.
std::string following(const Flag& flag) {
  std::vector<std::string> words;
  if (flag.slot.type == Type::kBool) words = {"true", "false"};
  for (const Choice& choice : flag.choices) {
    const bool works =
        choice.support.status == Support::kImplemented || choice.support.status == Support::kAccepted;
    if (works) words.emplace_back(choice.word);
  }
  return join(words, " ");
}

std::vector<const Flag*> offered_flags() {
  std::vector<const Flag*> flags;
  for (const Flag* flag : flag_table().flags()) {
    if (offered(*flag)) flags.push_back(flag);
  }
  return flags;
}

std::string names(std::span<const CommandSummary> commands) {
  std::vector<std::string> words;
  for (const auto& [name, summary] : commands) words.push_back(name);
  return join(words, " ");
}

std::string bash(std::span<const CommandSummary> commands) {
  std::string cases, flags;
  for (const Flag* flag : offered_flags()) {
    flags.append(flags.empty() ? "" : " ").append(option(*flag));
    if (flag->negatable) flags += " --no_" + std::string(flag->name);
    if (const std::string words = following(*flag); !words.empty()) {
      cases += fmt::format("    {}) words=\"{}\" ;;\n", option(*flag), words);
    }
  }
  return fmt::format(
      R"(# bash completion of hftrain; made by `hftrain completion bash`
_hftrain() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  case "$previous" in
{}  esac
  if [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "{}" -- "$current"))
  elif [[ -n "$words" ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  elif [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "{}" -- "$current") $(compgen -f -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _hftrain hftrain
)",
      cases, flags, names(commands));
}

// A text inside single quotes, for zsh and fish.
std::string quoted(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      if (special.find(c) != std::string_view::npos) result += '\\';
      result += c;
    }
  }
  return result;
}

std::string zsh(std::span<const CommandSummary> commands) {
  std::string text =
      "#compdef hftrain\n# zsh completion of hftrain; made by `hftrain completion zsh`\n_hftrain() {\n  "
      "_arguments \\\n";
  for (const Flag* flag : offered_flags()) {
    const std::string words = following(*flag);
    std::string action = ":_files";
    if (!words.empty()) action = ":(" + words + ')';
    const char* optional = flag->slot.type == Type::kBool || !flag->bare.empty() ? "::value" : ":value";
    text += fmt::format("    '*{}[{}]{}{}' \\\n", option(*flag), quoted(flag->help, "[]:"), optional, action);
  }
  text += fmt::format("    '1:command:({})' \\\n    '*:file:_files'\n}}\n_hftrain \"$@\"\n", names(commands));
  return text;
}

std::string fish(std::span<const CommandSummary> commands) {
  std::string text = "# fish completion of hftrain; made by `hftrain completion fish`\n";
  for (const auto& [name, summary] : commands) {
    text += fmt::format("complete -c hftrain -n __fish_use_subcommand -a {} -d '{}'\n", name,
                        quoted(summary, "\\"));
  }
  for (const Flag* flag : offered_flags()) {
    const std::string words = following(*flag);
    text += fmt::format("complete -c hftrain -l {} -d '{}'", flag->name, quoted(flag->help, "\\"));
    if (flag->letter != '\0') text += fmt::format(" -s {}", flag->letter);
    if (!words.empty()) text += fmt::format(" -x -a '{}'", words);
    if (words.empty()) text += " -r";
    text += '\n';
  }
  return text;
}

}  // namespace

std::string completion_script(const std::string& shell, std::span<const CommandSummary> commands) {
  if (shell == "bash") return bash(commands);
  if (shell == "zsh") return zsh(commands);
  if (shell == "fish") return fish(commands);
  throw Error(ExitCode::kUsage, "no completion for '" + shell + '\'')
      .where("command line")
      .why("there is one for bash, zsh and fish")
      .hint("hftrain completion bash");
}

}  // namespace hftrain::arguments
