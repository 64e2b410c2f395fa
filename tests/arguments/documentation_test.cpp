#include "hftrain/arguments/documentation.h"

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/help.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "support.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::arguments {
namespace {

const std::vector<CommandSummary> kCommands = {{"train", "train a model"}, {"plan", "the user's plan"}};

}  // namespace

TEST_CASE("docs/arguments.md is what `hftrain docs arguments` prints") {
  const std::string page = read_file(testing::source_dir() + "/docs/arguments.md");
  const bool same = page == arguments_markdown();
  INFO("hftrain docs arguments > docs/arguments.md");
  CHECK(same);
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
  CHECK_THROWS_AS(explain("lerning_rate", parse({})), Error);
}

TEST_CASE("the man page holds every flag and no stray control line") {
  const std::string page = man_page(kCommands);
  CHECK(page.rfind(".TH HFTRAIN 1\n", 0) == 0);
  CHECK(contains(page, "\\-\\-learning_rate"));
  for (const std::string& line : std::vector<std::string>{"\n'", "\n.unset"})
    CHECK_FALSE(contains(page, line));
}

TEST_CASE("completions offer what works and nothing planned") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    INFO(shell);
    const std::string script = completion_script(shell, kCommands);
    CHECK(contains(script, "lr_scheduler_type"));
    CHECK(contains(script, "cosine_with_min_lr"));
    CHECK(contains(script, "plan"));
    CHECK_FALSE(contains(script, "push_to_hub"));
    CHECK_FALSE(contains(script, "galore_adamw"));
  }
  CHECK_THROWS_AS(completion_script("tcsh", kCommands), Error);
}

TEST_CASE("explain says no sentence twice about any flag") {
  const ParseOutcome outcome = parse({});
  for (const Flag* flag : flag_table().flags()) {
    const std::string text = explain(std::string(flag->name), outcome);
    const std::string one_line = join(split_words(text), " ");
    for (const std::string_view sentence : {flag->help, flag->note, flag->support.reason}) {
      INFO(text);
      if (sentence.size() < 12) continue;
      const std::string said = join(split_words(sentence), " ");
      const size_t first = one_line.find(said);
      CHECK((first == std::string::npos || one_line.find(said, first + 1) == std::string::npos));
    }
  }
}

}  // namespace hftrain::arguments
