#include "command_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/suggest.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"

namespace hftrain::app {
namespace {

// What people call the options and actions of the small commands.
constexpr Synonym kSynonyms[] = {
    {"out", "output"},
    {"output_dir", "output"},
    {"save", "output"},
    {"tokenizer", "tokenizer_name"},
    {"model", "model_name_or_path", "tokenizer_name"},
    {"model_name_or_path", "tokenizer_name"},
    {"vocabulary", "vocab_size"},
    {"input", "files", "file"},
    {"train_file", "files"},
    {"data", "files"},
    {"special", "special_tokens"},
    {"type", "kind"},
    {"bytes", "size"},
    {"length", "size"},
    {"check", "verify"},
    {"validate", "verify"},
    {"show", "inspect"},
    {"info", "inspect"},
    {"convert", "export"},
    {"learn", "train"},
    {"fit", "train"},
    {"tokenize", "encode"},
    {"detokenize", "decode"},
    {"clean", "prune"},
    {"clear", "prune"},
    {"remove", "prune"},
    {"age", "older_than"},
    {"model", "model_name_or_path"},
    {"input", "prompt", "prompt_file"},
    {"text", "prompt"},
    {"max_tokens", "max_new_tokens"},
    {"n_predict", "max_new_tokens"},
    {"beams", "num_beams"},
    {"temp", "temperature"},
    {"stop", "stop_strings"},
    {"sample", "do_sample"},
    {"system_prompt", "system"},
};

// Where what a command declares is wanted, and not what it does (declared_by). Commands are run by one thread.
Declared* declared_now = nullptr;

bool is_word_for_help(const std::string& word) {
  return word == "--help" || word == "-h" || word == "--help-all" || word == "--help_all";
}

void print_version(const CommandContext& context) {
  context.out << "hftrain " << HFTRAIN_VERSION << '\n';
}

std::string canonical(std::string name) {
  std::replace(name.begin() + 2, name.end(), '-', '_');
  return name;
}

// A word that names an option; -5 and a lone dash are values.
bool names_option(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return false;
  return word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])) != 0;
}

std::optional<bool> truth_of(const std::string& word) {
  const std::string lower = to_lower(word);
  for (const char* yes : {"true", "yes", "t", "y", "1", "on"})
    if (lower == yes) return true;
  for (const char* no : {"false", "no", "f", "n", "0", "off"})
    if (lower == no) return false;
  return std::nullopt;
}

Error wrong_value(const std::string& name, const std::string& word, const std::string& takes,
                  const std::string& example) {
  return Error(ExitCode::kUsage, name + ": '" + word + "' does not fit")
      .where("command line")
      .why("it takes " + takes)
      .hint(example);
}

bool read_truth(const std::string& name, const std::string& word) {
  const std::optional<bool> truth = truth_of(word);
  if (!truth) throw wrong_value(name, word, "true or false", name + " false");
  return *truth;
}

int64_t read_number(const std::string& name, const std::string& word, int64_t least, int64_t example) {
  const auto number = signed_number<int64_t>(word);
  if (!number || *number < least)
    throw wrong_value(name, word, "a whole number from " + std::to_string(least),
                      name + ' ' + std::to_string(std::max(example, least)));
  return *number;
}

// An empty path is a variable of a script that is not set; joined with a name it would be the root folder.
void require_place(const std::string& name, const std::vector<std::string>& words) {
  if (std::ranges::count(words, std::string()) == 0) return;
  throw wrong_value(name, "", "a path, and this one is empty",
                    "the path, or see whether the variable that it is from is set");
}

}  // namespace

// One pass over the words of a command.
class CommandOptions::Reading {
 public:
  explicit Reading(const CommandOptions& options)
      : options_(options), app_(options.summary_, options.command_) {
    app_.set_help_flag("-h,--help", "this text");
    app_.set_help_all_flag("--help-all", "the same");
    const std::string about = "the version of hftrain";  // a literal would fit two overloads
    app_.add_flag("--version", about);
    app_.allow_extras();
    if (!options.more_.empty()) app_.footer(options.more_);
    for (const Option& option : options.options_) declare(option);
  }

  std::string help() const { return app_.help(); }

  void read(const std::vector<std::string>& words) {
    for (size_t i = 0; i < words.size(); ++i)
      encode(words[i], i + 1 < words.size() && !names_option(words[i + 1]));
    if (!problems_.empty()) throw Error(ExitCode::kUsage, std::move(problems_));
    std::reverse(encoded_.begin(), encoded_.end());  // CLI11 takes them from the back
    try {
      app_.parse(std::move(encoded_));
    } catch (const CLI::RequiredError&) {
      // Said below, of all that are missing.
    } catch (const CLI::ParseError& error) {
      throw Error(ExitCode::kUsage, error.what())
          .where("command line")
          .why("the words do not fit what the command takes")
          .hint('`' + options_.command_ + " --help`");
    }
    for (const std::string& left : app_.remaining())
      if (left != "--") stray(decoded(left));  // values that are "--" have numbers, too
    for (const Option& option : options_.options_) {
      if (option.need == Need::kRequired && declared_.at(&option)->count() == 0) missing(option);
    }
    if (!problems_.empty()) throw Error(ExitCode::kUsage, std::move(problems_));
    for (const Option& option : options_.options_) take(option);
  }

 private:
  void declare(const Option& option) {
    CLI::Option* declared = option.kind.empty()
                                ? app_.add_flag(option.name)
                                : app_.add_option(option.name, [](const CLI::results_t&) { return true; });
    declared->description(option.help);
    declared_[&option] = declared;
    if (option.kind.empty()) return;
    declared->type_name(option.positional() ? "" : option.kind);
    if (!option.otherwise.empty()) declared->default_str(option.otherwise);
    if (option.several)
      declared->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args();
    else if (!option.positional())
      declared->take_last();
    if (option.need == Need::kRequired) declared->required();
  }

  void encode(const std::string& word, bool value_follows) {
    if (only_values_ || !names_option(word)) {
      encoded_.push_back(value(word));
    } else if (word == "--") {
      only_values_ = true;
      encoded_.push_back(word);
    } else {
      encode_option(word, value_follows);
    }
  }

  void encode_option(const std::string& word, bool value_follows) {
    const size_t equals = word.find('=');
    const std::string name = word[1] == '-' ? canonical(word.substr(0, equals)) : word;
    const auto option = std::find_if(options_.options_.begin(), options_.options_.end(),
                                     [&](const Option& each) { return each.name == name; });
    if (option == options_.options_.end()) return unknown(word.substr(0, equals));
    if (equals == std::string::npos && !value_follows && !option->kind.empty()) {
      if (option->alone.empty()) return without_value(*option);
      encoded_.push_back(name + '=' + value(option->alone));
      return;
    }
    encoded_.push_back(equals == std::string::npos ? name : name + '=' + value(word.substr(equals + 1)));
  }

  // The number of the value, which CLI11 gets in its place.
  std::string value(const std::string& word) {
    values_.push_back(word);
    return '#' + std::to_string(values_.size() - 1);
  }
  std::string decoded(const std::string& number) const {
    return number.starts_with('#') ? values_.at(std::stoul(number.substr(1))) : number;
  }

  void take(const Option& option) const {
    const CLI::Option* declared = declared_.at(&option);
    if (declared->count() == 0) return;
    std::vector<std::string> words;
    for (const std::string& number : declared->results()) words.push_back(decoded(number));
    if (!option.several) words.erase(words.begin(), words.end() - 1);
    option.take(words);
  }

  void unknown(const std::string& word) {
    std::vector<std::string> names;
    for (const Option& option : options_.options_)
      if (!option.positional()) names.push_back(option.name.substr(2));
    const std::string written = word.substr(word.find_first_not_of('-'));
    std::string hint = did_you_mean(suggest_names(written, names, kSynonyms), "--");
    if (hint.empty()) hint = "`" + options_.command_ + " --help`; a -- before texts that begin with a dash";
    problem("unknown option " + word, options_.command_ + " has no option of that name", std::move(hint));
  }
  void without_value(const Option& option) {
    problem(option.name + " needs a value", "it takes " + option.kind,
            option.name + "=VALUE for one that begins with a dash");
  }
  void stray(const std::string& word) {
    problem("unexpected '" + word + '\'', options_.command_ + " takes no more words",
            "leave it out, or see `" + options_.command_ + " --help`");
  }
  void missing(const Option& option) {
    problem(option.name + " is missing", option.help, "`" + options_.command_ + " --help`");
  }
  void problem(std::string what, std::string why, std::string hint) {
    problems_.push_back(
        {.what = std::move(what), .where = "command line", .why = std::move(why), .hint = std::move(hint)});
  }

  const CommandOptions& options_;
  CLI::App app_;
  std::map<const Option*, CLI::Option*> declared_;
  std::vector<std::string> values_, encoded_;
  std::vector<Diagnostic> problems_;
  bool only_values_ = false;
};

CommandOptions::CommandOptions(std::string command, std::string summary, std::string more)
    : command_(std::move(command)), summary_(std::move(summary)), more_(std::move(more)) {}

void CommandOptions::flag(const std::string& name, bool& value, const std::string& help) {
  options_.push_back(
      {.name = name, .help = help, .take = [name, &value](const std::vector<std::string>& words) {
         const std::optional<bool> truth = truth_of(words.front());
         if (!truth) throw wrong_value(name, words.front(), "no value", name);
         value = *truth;
       }});
}

void CommandOptions::truth(const std::string& name, bool& value, const std::string& help) {
  options_.push_back(
      {.name = name,
       .kind = "true|false",
       .help = help,
       .otherwise = value ? "true" : "false",
       .take = [name, &value](const auto& words) { value = read_truth(name, words.front()); }});
}

void CommandOptions::truth(const std::string& name, std::optional<bool>& value, const std::string& help) {
  options_.push_back(
      {.name = name, .kind = "true|false", .help = help, .take = [name, &value](const auto& words) {
         value = read_truth(name, words.front());
       }});
}

void CommandOptions::number(const std::string& name, int64_t& value, int64_t least, const std::string& help) {
  options_.push_back({.name = name,
                      .kind = "N",
                      .help = help,
                      .otherwise = std::to_string(value),
                      .take = [name, &value, least](const auto& words) {
                        value = read_number(name, words.front(), least, value);
                      }});
}

void CommandOptions::number(const std::string& name, std::optional<int64_t>& value, int64_t least,
                            const std::string& help) {
  options_.push_back(
      {.name = name, .kind = "N", .help = help, .take = [name, &value, least](const auto& words) {
         value = read_number(name, words.front(), least, value.value_or(least));
       }});
}

void CommandOptions::text(const std::string& name, std::string& value, const std::string& kind,
                          const std::string& help, Need need) {
  options_.push_back({.name = name,
                      .kind = kind,
                      .help = help,
                      .otherwise = value,
                      .need = need,
                      .take = [&value](const std::vector<std::string>& words) { value = words.front(); }});
}

void CommandOptions::texts(const std::string& name, std::vector<std::string>& values, const std::string& kind,
                           const std::string& help, Need need) {
  options_.push_back({.name = name,
                      .kind = kind,
                      .help = help,
                      .otherwise = join(values, " "),
                      .need = need,
                      .several = true,
                      .take = [&values](const std::vector<std::string>& words) { values = words; }});
}

void CommandOptions::path(const std::string& name, std::string& value, const std::string& kind,
                          const std::string& help, Need need) {
  text(name, value, kind, help, need);
  refuse_empty();
}

void CommandOptions::paths(const std::string& name, std::vector<std::string>& values, const std::string& kind,
                           const std::string& help, Need need) {
  texts(name, values, kind, help, need);
  refuse_empty();
}

// Of the option that was declared last.
void CommandOptions::refuse_empty() {
  Option& option = options_.back();
  option.take = [name = option.name, take = std::move(option.take)](const std::vector<std::string>& words) {
    require_place(name, words);
    take(words);
  };
}

void CommandOptions::value(const std::string& name, const std::string& kind, const std::string& help,
                           Words words, const std::string& alone, Take take) {
  options_.push_back({.name = name,
                      .kind = kind,
                      .help = help,
                      .several = words == Words::kSeveral,
                      .take = std::move(take),
                      .alone = alone});
}

bool CommandOptions::read(const std::vector<std::string>& words, const CommandContext& context) const {
  if (declared_now != nullptr) {
    for (const Option& option : options_)
      declared_now->options.push_back({option.name, option.kind, option.help});
    return false;
  }
  Reading reading(*this);
  const std::vector<std::string> before(words.begin(), std::find(words.begin(), words.end(), "--"));
  if (answered(before, reading.help(), context)) return false;
  reading.read(words);
  return true;
}

Declared declared_by(const Command& command, const CommandContext& context, std::vector<std::string> words) {
  Declared declared;
  CommandContext asking = context;
  asking.arguments = std::move(words);
  declared_now = &declared;
  try {
    command.run(asking);
  } catch (const Error&) {
    // A command with actions, which has said them.
  }
  declared_now = nullptr;
  return declared;
}

bool answered(const std::vector<std::string>& words, const std::string& help, const CommandContext& context) {
  if (std::any_of(words.begin(), words.end(), is_word_for_help)) {
    context.out << help;
    return true;
  }
  if (std::find(words.begin(), words.end(), "--version") == words.end()) return false;
  print_version(context);
  return true;
}

void throw_unknown_action(const std::string& command, const std::string& word,
                          const std::vector<std::string>& known) {
  if (declared_now != nullptr) declared_now->actions = known;
  std::string hint = did_you_mean(suggest_names(word, known, kSynonyms));
  if (hint.empty()) hint = '`' + command + " --help`";
  if (word.empty())
    throw Error(ExitCode::kUsage, command + " needs an action")
        .where("command line")
        .why("it is one of " + join(known, ", "))
        .hint(std::move(hint));
  throw Error(ExitCode::kUsage, "unknown action '" + word + '\'')
      .where("command line")
      .why(command + " has " + join(known, ", "))
      .hint(std::move(hint));
}

}  // namespace hftrain::app
