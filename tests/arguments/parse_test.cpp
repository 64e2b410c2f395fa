#include "hftrain/arguments/parse.h"

#include "hftrain/arguments/print_config.h"
#include "support/catch.h"

namespace hftrain::arguments {
TEST_CASE("a first command line is read") {
  const std::vector<std::string> words = {"--model_type", "gpt2", "--train-file", "a.txt", "--fp16=false", "--seed", "7", "--lr_scheduler_type", "cosine_with_min_lr", "--lr_scheduler_kwargs", "{\"min_lr_rate\": \"0.1\"}", "--bf16"};
  const ParseOutcome o = parse_arguments(words, Environment{});
  CHECK(o.arguments.run.seed == 7);
  std::puts(print_config(o, "origins").c_str());
  for (auto& n : o.notes) std::puts(n.render().c_str());
}
TEST_CASE("errors") {
  const std::vector<std::string> words = {"--model_typ", "gpt2", "--fsdp", "--seed", "1e3", "--optim=adafactor", "--bf16", "--fp16", "run_clm.py", "--lr", "3", "--eval_strategy", "nope"};
  try { parse_arguments(words, Environment{}); } catch (const Error& e) { std::puts(e.render().c_str()); }
}
}
