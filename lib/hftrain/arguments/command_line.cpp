#include "hftrain/arguments/command_line.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/merge.h"
#include "hftrain/arguments/suggestions.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/printable.h"

namespace hftrain::arguments {
namespace {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// A word that starts a flag: --name, or -x for a letter of the table. Negative numbers and a lone dash are
// values.
bool is_flag(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return false;
  if (word[1] == '-') return true;
  return std::isalpha(static_cast<unsigned char>(word[1])) != 0;
}

class CommandLineReader {
 public:
  CommandLineReader(std::span<const std::string> words, Diagnostics& problems)
      : words_(words.begin(), words.end()), problems_(problems) {
    for (std::string& word : words_) {
      if (!first_invalid_utf8(word)) continue;
      word = printable(word);
      problem("'" + word + "' is not UTF-8 text", "names and values are written into plans and reports",
              "another name for the file or folder");
    }
  }

  std::vector<RawArgument> read() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (is_flag(word)) {
        read_flag(word);
      } else {
        stray(word);
      }
    }
    return std::move(raw_);
  }

 private:
  void read_flag(const std::string& word) {
    const size_t equals = word.find('=');
    const std::string spelling = word.substr(0, equals);
    std::optional<std::string> value;
    if (equals != std::string::npos) value = word.substr(equals + 1);
    const FlagMatch match = look_up(spelling);
    if (!match) return unknown(spelling, value.has_value());
    if (match.negated) {
      if (value)
        return problem(spelling + " takes no value", "it is the word for false",
                       "--" + std::string(match.flag->name) + " true or false");
      return take(*match.flag, spelling, false);
    }
    if (value)
      return take(*match.flag, spelling,
                  match.flag->slot.type == Type::kList ? Json::array({*value}) : Json(*value));
    read_value(*match.flag, spelling);
  }

  FlagMatch look_up(const std::string& spelling) const {
    if (spelling[1] == '-') return spelling.size() > 2 ? flag_table().find(spelling.substr(2)) : FlagMatch{};
    return {spelling.size() == 2 ? flag_table().find_letter(spelling[1]) : nullptr, false};
  }

  bool value_follows() const {
    return at_ < words_.size() && (!is_flag(words_[at_]) || is_spaced_value(words_[at_]));
  }

  // As argparse has it: --launcher_args "-o StrictHostKeyChecking=no".
  bool is_spaced_value(const std::string& word) const {
    return word.find(' ') != std::string::npos && !look_up(word.substr(0, word.find('=')));
  }

  void read_value(const Flag& flag, const std::string& spelling) {
    const bool truth = flag.slot.type == Type::kBool;
    if (read_switch(flag)) return;
    if (!value_follows() || (truth && ends_with(words_[at_], ".py"))) {
      if (truth) return take(flag, spelling, true);
      if (!flag.bare.empty()) return take(flag, spelling, std::string(flag.bare));
      return problem(spelling + " needs a value", "it takes " + describe_type(flag),
                     missing_value(flag, spelling));
    }
    if (flag.slot.type != Type::kList) return take(flag, spelling, words_[at_++]);
    Json list = Json::array();
    while (value_follows()) list.push_back(words_[at_++]);
    take(flag, spelling, std::move(list));
  }

  // The value may be there, behind a dash; a flag that is known is none.
  std::string missing_value(const Flag& flag, const std::string& spelling) const {
    if (!flag.switch_beside.empty()) return spelling + " FILE";
    const bool dash = at_ < words_.size() && !look_up(words_[at_].substr(0, words_[at_].find('=')));
    return dash ? spelling + "=VALUE for a value that begins with a dash" : explain(std::string(flag.name));
  }

  // DeepSpeed's own commands have --deepspeed beside --deepspeed_config FILE: it says no more than that one.
  bool read_switch(const Flag& flag) {
    const bool bare = !value_follows(), says_true = !bare && words_[at_] == "true";
    if (flag.switch_beside.empty() || !(bare || says_true)) return false;
    bool beside = false;
    for (size_t i = 0; i < words_.size(); ++i) {
      const size_t equals = words_[i].find('=');
      const FlagMatch match = is_flag(words_[i]) ? look_up(words_[i].substr(0, equals)) : FlagMatch{};
      if (!match || match.flag->name != flag.switch_beside) continue;
      const bool inside = equals != std::string::npos, last = i + 1 == words_.size();
      beside = inside ? equals + 1 < words_[i].size() : !last && !words_[i + 1].empty();
    }
    if (beside && says_true) ++at_;
    return beside;
  }

  // Accelerate takes these as texts, and gives them to its variables.
  static bool is_text_of_launchers(const Flag& flag) {
    return flag.slot.type == Type::kBool &&
           (flag.name.starts_with("fsdp_") || flag.name.starts_with("zero3_"));
  }

  void take(const Flag& flag, const std::string& spelling, Json written) {
    if (is_text_of_launchers(flag)) written = truth_of_launchers(std::move(written));
    raw_.push_back({.flag = &flag,
                    .spelling = spelling,
                    .written = with_plain_numbers(flag, std::move(written)),
                    .origin = spelling,
                    .layer = kCommandLineLayer,
                    .places = {}});
  }

  void unknown(const std::string& spelling, bool had_value) {
    const std::string name = spelling.substr(spelling[1] == '-' ? 2 : 1);
    problem("unknown flag " + spelling, "there is no flag of that name, and parts of names are not taken",
            hint_for_unknown(name, "--"));
    // Its values, if any, are part of this mistake.
    while (!had_value && value_follows() && !ends_with(words_[at_], ".py")) ++at_;
  }

  void stray(const std::string& word) {
    if (ends_with(word, ".py")) {
      return problem("unexpected '" + word + '\'', "hftrain needs no Python script",
                     "leave it out and give the flags of the script directly");
    }
    problem("unexpected '" + word + '\'', "values follow a flag; this one follows none",
            "the flag it belongs to in front of it, or leave it out");
  }

  void problem(std::string what, std::string why, std::string hint) {
    problems_.push_back(
        {.what = std::move(what), .where = "command line", .why = std::move(why), .hint = std::move(hint)});
  }

  std::vector<std::string> words_;
  Diagnostics& problems_;
  size_t at_ = 0;
  std::vector<RawArgument> raw_;
};

}  // namespace

std::vector<RawArgument> read_command_line(std::span<const std::string> words, Diagnostics& problems) {
  return CommandLineReader(words, problems).read();
}

std::vector<std::string> leave_out(std::span<const std::string> words,
                                   std::span<const std::string_view> flags) {
  Diagnostics unread;
  std::vector<std::string> kept;
  for (const RawArgument& each : read_command_line(words, unread)) {
    const auto is_meant = [&](std::string_view name) {
      return each.flag->name == name || each.flag->replaced_by.flag == name;
    };
    if (std::any_of(flags.begin(), flags.end(), is_meant)) continue;
    const bool negated =
        each.spelling.starts_with("--") && flag_table().find(each.spelling.substr(2)).negated;
    if (negated) {
      kept.push_back(each.spelling);
    } else if (each.written.is_array()) {
      kept.push_back(each.spelling);
      for (const Json& word : each.written) kept.push_back(word.get<std::string>());
    } else {
      kept.push_back(each.spelling + '=' +
                     (each.written.is_string() ? each.written.get<std::string>() : each.written.dump()));
    }
  }
  return kept;
}

}  // namespace hftrain::arguments
