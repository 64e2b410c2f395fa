#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "hftrain/arguments/compat.h"
#include "hftrain/arguments/documentation.h"
#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/release_history.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

constexpr const char* kCompatibilityIntroduction =
    R"(# Compatibility

Made by `hftrain docs compatibility` from the table of flags; change the table, not this page.

Every flag of the Trainer's TrainingArguments from transformers 4.2 to 5.17, of its example scripts, of torchrun 2.11, `accelerate launch`
1.15 and deepspeed 0.19, and what becomes of it here. Flags that a release has dropped are still taken, so that old commands
run. Releases were looked at one by one, not all of them: a flag may have come a little before the release that stands here as its
first, and have gone, or its default have changed, a little after the one that stands as the last. `--hf_compat 4.49.0` gives the defaults and habits of a release from 4.46.3 on
([training.md](training.md#habits-of-older-releases)). What a flag means: [arguments.md](arguments.md).

*works*: does here what it does there. *accepted*: may be given and has no effect, for the reason that follows.
*not supported*: an error that says why and what to do; the default may always be given.

)";

std::string in_cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

// The words of a flag that this build refuses, and those without effect.
std::string word_list(const Flag& flag, Support::Status status) {
  std::vector<std::string> words;
  for (const Choice& choice : flag.choices) {
    if (choice.support.status == status) words.emplace_back(choice.word);
  }
  return join(words, ", ");
}

std::string what_becomes_of(const Flag& flag) {
  std::string text = status_sentence(flag);
  if (!text.empty()) return in_cell(text);
  text = "works";
  if (const std::string words = word_list(flag, Support::kRefused); !words.empty())
    text += ", but for " + words;
  if (const std::string words = word_list(flag, Support::kAccepted); !words.empty())
    text += "; without effect: " + words;
  return in_cell(text);
}

std::string releases_of(const FlagHistory& row) {
  if (row.first.empty() && row.last.empty()) return "all";
  if (row.last.empty()) return fmt::format("from {}", row.first);
  if (row.first.empty()) return fmt::format("to {}", row.last);
  return row.first == row.last ? std::string(row.first) : fmt::format("{} to {}", row.first, row.last);
}

std::string older_defaults_of(const FlagHistory& row) {
  std::vector<std::string> parts;
  for (const OlderDefault& older : row.older)
    parts.push_back(fmt::format("{} to {}", older.value, older.last));
  return join(parts, ", ");
}

std::string versioned_table(Origin origin) {
  std::string text = "| flag | releases | default | before | here |\n|---|---|---|---|---|\n";
  for (const FlagHistory& row : flag_histories()) {
    if (row.origin != origin) continue;
    const Flag& flag = flag_table().named(row.flag);
    text +=
        fmt::format("| {} | {} | {} | {} | {} |\n", row.flag, releases_of(row),
                    in_cell(to_yaml(flag.default_value())), older_defaults_of(row), what_becomes_of(flag));
  }
  return text + '\n';
}

std::string launcher_table(Origin origin) {
  std::string text = "| flag | here |\n|---|---|\n";
  for (const FlagHistory& row : flag_histories()) {
    if (row.origin == origin)
      text += fmt::format("| {} | {} |\n", row.flag, what_becomes_of(flag_table().named(row.flag)));
  }
  return text + '\n';
}

// What was seen first or last in one release.
struct Changes {
  std::vector<std::string> came, went, defaults;
};

std::string change_table() {
  std::map<int64_t, std::pair<std::string, Changes>> by_release;
  const auto at = [&](std::string_view release) -> Changes& {
    auto& entry = by_release[release_number(release).value_or(0)];
    entry.first = release;
    return entry.second;
  };
  for (const FlagHistory& row : flag_histories()) {
    if (!row.first.empty()) at(row.first).came.emplace_back(row.flag);
    if (!row.last.empty()) at(row.last).went.emplace_back(row.flag);
    for (const OlderDefault& older : row.older)
      at(older.last).defaults.push_back(fmt::format("{}: {}", row.flag, older.value));
  }
  std::string text =
      "## Release by release\n\n| release | seen first | seen last | defaults seen last "
      "|\n|---|---|---|---|\n";
  for (const auto& [number, entry] : by_release) {
    const Changes& changes = entry.second;
    text += fmt::format("| {} | {} | {} | {} |\n", entry.first, join(changes.came, ", "),
                        join(changes.went, ", "), join(changes.defaults, ", "));
  }
  return text;
}

}  // namespace

std::string compatibility_markdown() {
  std::string text = kCompatibilityIntroduction;
  for (const Origin origin : {Origin::kTrainer, Origin::kSeq2Seq, Origin::kTensorFlow})
    text += fmt::format("## Flags of {}\n\n", describe(origin)) + versioned_table(origin);
  for (const Origin origin : {Origin::kScripts, Origin::kTorchrun, Origin::kAccelerate, Origin::kDeepSpeed})
    text += fmt::format("## Flags of {}\n\n", describe(origin)) + launcher_table(origin);
  return text + change_table();
}

}  // namespace hftrain::arguments
