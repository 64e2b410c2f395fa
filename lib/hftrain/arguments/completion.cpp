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

// The words that may follow a flag; none: files or anything.
std::vector<std::string> following(const Flag& flag) {
  std::vector<std::string> words;
  if (flag.slot.type == Type::kBool) words = {"true", "false"};
  for (const Choice& choice : flag.choices) {
    const bool works =
        choice.support.status == Support::kImplemented || choice.support.status == Support::kAccepted;
    if (works) words.emplace_back(choice.word);
  }
  return words;
}

struct RunFlag {
  CompletedOption option;
  bool may_stand_alone = false;
};

std::vector<RunFlag> completed_run_flags() {
  std::vector<RunFlag> flags;
  for (const Flag* flag : flag_table().flags()) {
    if (!offered(*flag)) continue;
    const bool alone = flag->slot.type == Type::kBool || !flag->bare.empty();
    flags.push_back({{option(*flag), std::string(flag->help), following(*flag), true}, alone});
    if (flag->negatable)
      flags.push_back({{"--no_" + std::string(flag->name), "The word for false.", {}, false}, true});
  }
  return flags;
}

bool is_option(const CompletedOption& option) {
  return option.name.starts_with("--");
}

// What stands first behind the command.
std::vector<std::string> first_words(const CompletedCommand& command) {
  if (!command.actions.empty()) return command.actions;
  for (const CompletedOption& option : command.options)
    if (!is_option(option)) return option.words;
  return {};
}

// Of which `hftrain tokenizer train` is no command but an action.
bool is_command(const CompletedCommand& command) {
  return command.name.find(' ') == std::string::npos;
}

template <typename Takes>
std::string names_of(std::span<const CompletedCommand> commands, const char* between, Takes&& takes) {
  std::vector<std::string> names;
  for (const CompletedCommand& command : commands) {
    if (takes(command)) names.push_back(command.name);
  }
  return join(names, between);
}

bool has_actions(const CompletedCommand& command) {
  return !command.actions.empty();
}

std::string bash_case(const CompletedOption& option) {
  return option.words.empty()
             ? ""
             : fmt::format("        {}) words=\"{}\" ;;\n", option.name, join(option.words, " "));
}

std::string bash_flags(const std::vector<CompletedOption>& options) {
  std::vector<std::string> names;
  for (const CompletedOption& option : options)
    if (is_option(option)) names.push_back(option.name);
  return join(names, " ");
}

// One branch: which flags there are, what may follow each, and what stands first.
std::string bash_command(const CompletedCommand& command) {
  if (command.takes_run_flags && command.options.empty()) return "";
  std::string cases;
  for (const CompletedOption& option : command.options)
    if (is_option(option)) cases += bash_case(option);
  const std::string more = command.takes_run_flags ? "$flags " : "";
  std::string text =
      fmt::format("    \"{}\")\n      flags=\"{}{}\"\n", command.name, more, bash_flags(command.options));
  if (const auto first = first_words(command); !first.empty()) {
    const int at = is_command(command) ? 2 : 3;
    text += fmt::format("      [[ $COMP_CWORD -eq {} ]] && words=\"{}\"\n", at, join(first, " "));
  }
  if (!cases.empty()) text += "      case \"$flag\" in\n" + cases + "      esac\n";
  return text + "      ;;\n";
}

std::string bash(std::span<const CompletedCommand> commands) {
  std::vector<CompletedOption> flags;
  std::string cases, branches;
  for (const RunFlag& flag : completed_run_flags()) {
    flags.push_back(flag.option);
    cases += bash_case(flag.option);
  }
  for (const CompletedCommand& command : commands) branches += bash_command(command);
  return fmt::format(
      R"(# bash completion of hftrain; made by `hftrain completion bash`
_hftrain() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" flag="${{COMP_WORDS[COMP_CWORD-1]}}" words="" flags="" command=train
  # bash makes a word of the "=" in --flag=value.
  if [[ "$current" == "=" ]]; then current=""; elif [[ "$flag" == "=" ]]; then flag="${{COMP_WORDS[COMP_CWORD-2]}}"; fi
  if [[ $COMP_CWORD -gt 1 ]]; then
    case "${{COMP_WORDS[1]}}" in
      {names}) command="${{COMP_WORDS[1]}}" ;;
    esac
    case "$command" in
      {nested}) [[ $COMP_CWORD -gt 2 ]] && command="$command ${{COMP_WORDS[2]}}" ;;
    esac
  fi
  case "$command" in
    {of_run})
      flags="{flags}"
      case "$flag" in
{cases}      esac
      ;;
  esac
  case "$command" in
{branches}  esac
  if [[ "$current" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
  elif [[ -n "$words" ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  elif [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "{commands}" -- "$current"; compgen -f -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}}
complete -o filenames -F _hftrain hftrain
)",
      fmt::arg("names", names_of(commands, "|", is_command)),
      fmt::arg("nested", names_of(commands, "|", has_actions)),
      fmt::arg("of_run", names_of(commands, "|", [](const auto& each) { return each.takes_run_flags; })),
      fmt::arg("flags", bash_flags(flags)), fmt::arg("cases", cases), fmt::arg("branches", branches),
      fmt::arg("commands", names_of(commands, " ", is_command)));
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

std::string zsh_spec(const CompletedOption& option, bool may_stand_alone) {
  const std::string help = quoted(option.help, "[]:\\");
  if (!option.takes_value) return fmt::format("'*{}[{}]'", option.name, help);
  const std::string action = option.words.empty() ? "_files" : '(' + join(option.words, " ") + ')';
  return fmt::format("'*{}=[{}]{}value:{}'", option.name, help, may_stand_alone ? "::" : ":", action);
}

std::string zsh_command(const CompletedCommand& command) {
  std::string text = fmt::format("    '{}')\n      _arguments", command.name);
  if (command.takes_run_flags) text += " $run_flags";
  for (const CompletedOption& option : command.options)
    if (is_option(option)) text += " \\\n        " + zsh_spec(option, false);
  if (const auto first = first_words(command); !first.empty())
    text += fmt::format(" \\\n        '1:word:({})'", join(first, " "));
  return text + " \\\n        '*:file:_files'\n      ;;\n";
}

std::string zsh(std::span<const CompletedCommand> commands) {
  std::string flags, alone, branches;
  for (const RunFlag& flag : completed_run_flags()) {
    flags += "    " + zsh_spec(flag.option, flag.may_stand_alone) + '\n';
    if (flag.may_stand_alone && !flag.option.words.empty())
      alone += fmt::format("    {} '{}'\n", flag.option.name, join(flag.option.words, " "));
  }
  for (const CompletedCommand& command : commands) branches += zsh_command(command);
  return fmt::format(
      R"(#compdef hftrain
# zsh completion of hftrain; made by `hftrain completion zsh`
_hftrain() {{
  local -a run_flags=(
{flags}  )
  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
    _alternative 'commands:command:({commands})' 'files:file:_files'
    return
  fi
  local command=train
  if [[ "$words[2]" == ({names}) ]]; then
    command=$words[2]
    shift words
    (( CURRENT-- ))
    if [[ "$command" == ({nested}) ]] && (( CURRENT > 2 )); then
      command="$command $words[2]"
      shift words
      (( CURRENT-- ))
    fi
  fi
  # _arguments takes a value that may be left out behind "=" alone.
  if [[ "$command" == ({of_run}) && "$PREFIX" != -* ]] && (( CURRENT > 1 )); then
    local -A standing_alone=(
{alone}    )
    local -a values=(${{=standing_alone[$words[CURRENT-1]]}})
    if (( $#values )); then
      compadd -a values
      return
    fi
  fi
  case "$command" in
{branches}  esac
}}
# Read by `source`, or found on fpath as _hftrain.
if [[ "$funcstack[1]" == _hftrain ]]; then _hftrain "$@"; else compdef _hftrain hftrain; fi
)",
      fmt::arg("flags", flags), fmt::arg("alone", alone),
      fmt::arg("commands", names_of(commands, " ", is_command)),
      fmt::arg("of_run", names_of(commands, "|", [](const auto& each) { return each.takes_run_flags; })),
      fmt::arg("names", names_of(commands, "|", is_command)),
      fmt::arg("nested", names_of(commands, "|", has_actions)), fmt::arg("branches", branches));
}

std::string fish_option(const CompletedOption& option, const std::string& condition, bool may_stand_alone) {
  std::string text = fmt::format("complete -c hftrain -n '{}' -l {} -d '{}'", condition,
                                 option.name.substr(2), quoted(option.help, "\\"));
  if (!option.takes_value) return text + '\n';
  if (option.words.empty()) return text + (may_stand_alone ? "\n" : " -r\n");
  return text + fmt::format(" -x -a '{}'\n", join(option.words, " "));
}

std::string fish_command(const CompletedCommand& command) {
  const std::string condition = "__hftrain_is \"" + command.name + '"';
  std::string text;
  if (is_command(command))
    text += fmt::format("complete -c hftrain -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                        quoted(command.summary, "\\"));
  if (const auto first = first_words(command); !first.empty()) {
    const int words = is_command(command) ? 2 : 3;
    text +=
        fmt::format("complete -c hftrain -n '{}; and test (count (commandline -opc)) -eq {}' -f -a '{}'\n",
                    condition, words, join(first, " "));
  }
  for (const CompletedOption& option : command.options)
    if (is_option(option)) text += fish_option(option, condition, false);
  return text;
}

std::string fish(std::span<const CompletedCommand> commands) {
  const std::string of_run =
      "__hftrain_is " + names_of(commands, " ", [](const auto& each) { return each.takes_run_flags; });
  std::string text = fmt::format(
      R"(# fish completion of hftrain; made by `hftrain completion fish`
function __hftrain_is
  set -l words (commandline -opc)
  set -l command train
  if set -q words[2]; and contains -- $words[2] {names}
    set command $words[2]
    if set -q words[3]; and contains -- $command {nested}
      set command "$command $words[3]"
    end
  end
  contains -- $command $argv
end
)",
      fmt::arg("names", names_of(commands, " ", is_command)),
      fmt::arg("nested", names_of(commands, " ", has_actions)));
  for (const CompletedCommand& command : commands) text += fish_command(command);
  for (const RunFlag& flag : completed_run_flags())
    text += fish_option(flag.option, of_run, flag.may_stand_alone);
  return text;
}

}  // namespace

std::vector<std::string> offered_flag_names() {
  std::vector<std::string> names;
  for (const Flag* flag : flag_table().flags())
    if (offered(*flag)) names.emplace_back(flag->name);
  return names;
}

std::string completion_script(const std::string& shell, std::span<const CompletedCommand> commands) {
  if (shell == "bash") return bash(commands);
  if (shell == "zsh") return zsh(commands);
  if (shell == "fish") return fish(commands);
  throw Error(ExitCode::kUsage, "no completion for '" + shell + '\'')
      .where("command line")
      .why("there is one for bash, zsh and fish")
      .hint("hftrain completion bash");
}

}  // namespace hftrain::arguments
