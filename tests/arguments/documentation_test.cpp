#include "hftrain/arguments/documentation.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/help.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "support.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/refusal.h"

namespace hftrain::arguments {
namespace {

// What a clause is about: its words of weight.
std::set<std::string> weighty(std::string_view clause) {
  static const std::set<std::string> light = {"a",    "an",  "the", "is",  "it", "of",  "all",  "be",
                                              "may",  "to",  "in",  "and", "or", "not", "no",   "by",
                                              "with", "for", "as",  "on",  "at", "are", "that", "means"};
  std::set<std::string> words;
  std::string text = to_lower(clause);
  for (char& c : text) c = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : ' ';
  for (const std::string& word : split_words(text)) {
    if (light.count(word) == 0) words.insert(word);
  }
  return words;
}

// Three quarters of the words of weight are the same.
bool says_the_same(const std::set<std::string>& one, const std::set<std::string>& other) {
  const auto common =
      std::count_if(one.begin(), one.end(), [&](const auto& word) { return other.count(word); });
  const size_t smaller = std::min(one.size(), other.size());
  return smaller >= 3 && 4 * static_cast<size_t>(common) >= 3 * smaller;
}

std::vector<std::string> clauses_of(std::string_view text) {
  std::vector<std::string> clauses;
  std::string separated(text);
  for (const char* end : {". ", "; ", ", "}) {
    for (size_t at = 0; (at = separated.find(end, at)) != std::string::npos;) separated[at] = '\n';
  }
  for (const std::string& clause : split(separated, '\n')) clauses.push_back(clause);
  return clauses;
}

const std::vector<CommandSummary> kCommands = {{"train", "train a model"}, {"plan", "the user's plan"}};

}  // namespace

TEST_CASE("docs/arguments.md is what `hftrain docs arguments` prints") {
  const std::string page = read_file(testing::source_dir() + "/docs/arguments.md");
  const bool same = page == arguments_markdown();
  INFO("hftrain docs arguments > docs/arguments.md");
  CHECK(same);
}

TEST_CASE("docs/compatibility.md is what `hftrain docs compatibility` prints") {
  const std::string page = read_file(testing::source_dir() + "/docs/compatibility.md");
  const bool same = page == compatibility_markdown();
  INFO("hftrain docs compatibility > docs/compatibility.md");
  CHECK(same);
  for (const Flag* flag : flag_table().flags()) {
    INFO(flag->name);
    if (!flag->ours) CHECK(contains(page, "\n| " + std::string(flag->name) + " | "));
  }
}

TEST_CASE("the long help has every flag and the short one what most runs need") {
  const std::string all = help_text(true), some = help_text(false);
  for (const Flag* flag : flag_table().flags()) {
    INFO(flag->name);
    const std::string name = option(*flag);
    CHECK((contains(all, "\n  " + name) ||
           contains(all, "\n  -" + std::string(1, flag->letter) + ", " + name)));
    if (flag->common) CHECK(contains(some, name));
  }
  CHECK(contains(
      some,
      "\nOptimizer:\n  --learning_rate X                 Peak learning rate of the schedule. [5e-05]\n"));
  CHECK(some.size() < all.size() / 3);
}

TEST_CASE("explain tells everything about a flag by any spelling") {
  const std::string text = explain("--warmup-steps", parse({"--warmup_steps", "5"}));
  CHECK(contains(text, "--warmup_steps\n"));
  CHECK(contains(text, "  default     0.0\n"));
  CHECK(contains(text, "  old names   --warmup_ratio\n"));
  CHECK(contains(text, "  value       5.0\n"));
  CHECK(contains(text, "  origin      --warmup_steps\n"));
  CHECK(contains(explain("fp16", parse({})), "rule 18"));
  CHECK(contains(explain("-h", parse({})), "--help\n"));
  CHECK(contains(explain("no_cuda", parse({})), "old name of --use_cpu true"));
  CHECK_REFUSED(explain("lerning_rate", parse({})), "unknown flag lerning_rate");
  const std::string words = explain("cuda_graphs", parse({}));
  CHECK(contains(words, "    true                            refused\n"));
  CHECK(contains(words, "    auto                            implemented\n"));
  CHECK(contains(words, "    false                           implemented\n"));
  CHECK_FALSE(contains(explain("print_config", parse({"--print_config"})), "\n  origin  "));
}

TEST_CASE("the man page holds every flag and no stray control line") {
  const std::string page = man_page(kCommands);
  CHECK(page.rfind(".TH HFTRAIN 1\n", 0) == 0);
  CHECK(contains(page, "\\-\\-learning_rate"));
  for (const std::string& line : std::vector<std::string>{"\n'", "\n.unset"})
    CHECK_FALSE(contains(page, line));
}

TEST_CASE("completions offer what works and nothing that is refused") {
  const std::vector<CompletedCommand> commands = {
      {.name = "train", .summary = "train a model", .takes_run_flags = true},
      {.name = "plan", .summary = "the user's plan", .takes_run_flags = true},
      {.name = "cache", .summary = "what lies there", .actions = {"list"}},
      {.name = "cache list", .options = {{"--json", "for machines [all]", {}, false}}}};
  for (const char* shell : {"bash", "zsh", "fish"}) {
    INFO(shell);
    const std::string script = completion_script(shell, commands);
    CHECK(contains(script, "lr_scheduler_type"));
    CHECK(contains(script, "cosine_with_min_lr"));
    CHECK(contains(script, "plan"));
    CHECK(contains(script, "push_to_hub"));
    CHECK_FALSE(contains(script, "load_in_8bit"));
    CHECK_FALSE(contains(script, "galore_adamw"));
  }
  CHECK_REFUSED(completion_script("tcsh", commands), "no completion for 'tcsh'");
}

TEST_CASE("explain says no sentence twice about any flag") {
  const auto times = [](const std::string& text, const std::string& sentence) {
    int found = 0;
    for (size_t at = 0; (at = text.find(sentence, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  const ParseOutcome outcome = parse({});
  for (const Flag* flag : flag_table().flags()) {
    const std::string text = explain(std::string(flag->name), outcome);
    const std::string one_line = join(split_words(text), " ");
    for (const std::string_view sentence : {flag->help, flag->note, flag->support.reason}) {
      INFO(text);
      if (sentence.size() < 12) continue;
      const std::string said = join(split_words(sentence), " ");
      CHECK(times(one_line, said) <= 1);
      // Why a flag does nothing that has another name by now is that one's to tell.
      if (sentence != flag->support.reason || flag->replaced_by.flag.empty())
        CHECK(times(one_line, said) == 1);
    }
  }
}

TEST_CASE("what a flag's help says its note does not say again in other words") {
  CHECK(says_the_same(weighty("below 1 it is a share of all steps"),
                      weighty("Below 1: a share of all updates")));
  for (const Flag* flag : flag_table().flags()) {
    for (const std::string& help : clauses_of(flag->help)) {
      for (const std::string& note : clauses_of(flag->note)) {
        INFO(flag->name << '\n' << help << '\n' << note);
        CHECK_FALSE(says_the_same(weighty(help), weighty(note)));
      }
    }
  }
}

}  // namespace hftrain::arguments
