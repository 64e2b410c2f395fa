#include "hftrain/base/suggest.h"

#include "support/catch.h"

namespace hftrain {

using Strings = std::vector<std::string>;

TEST_CASE("dashes, capitals and slips lead to the name, and short words to nothing by chance") {
  const Strings names = {"learning_rate", "warmup_steps", "logging_steps", "seed", "tee", "env"};
  CHECK(suggest_names("Learning-Rate", names) == Strings{"learning_rate"});
  CHECK(suggest_names("learningRate", names) == Strings{"learning_rate"});
  CHECK(suggest_names("lerning_rate", names) == Strings{"learning_rate"});
  CHECK(suggest_names("sede", names) == Strings{"seed"});
  CHECK(suggest_names("sed", names) == Strings{"seed"});
  CHECK(suggest_names("ete", names) == Strings{"tee"});
  CHECK(suggest_names("out", names).empty());
  CHECK(suggest_names("", names).empty());
  // A table of all its beginnings would take gigabytes.
  CHECK(suggest_names(std::string(100'000'000, 's'), names).empty());
}

TEST_CASE("parts of a name lead to it, the fewest unsaid words first") {
  const Strings names = {"max_grad_norm", "gradient_accumulation_steps", "save_steps", "save_total_limit"};
  CHECK(suggest_names("grad_norm", names) == Strings{"max_grad_norm"});
  CHECK(suggest_names("grad_acc_steps", names) == Strings{"gradient_accumulation_steps"});
  CHECK(suggest_names("save", names) == Strings{"save_steps"});
  CHECK(suggest_names("limit_save", names) == Strings{"save_total_limit"});
}

TEST_CASE("a synonym stands for its names, those that are not known left out") {
  const Strings names = {"output", "files"};
  const std::vector<Synonym> synonyms = {{"target", "output"}, {"input", "file", "files"}};
  CHECK(suggest_names("target", names, synonyms) == Strings{"output"});
  CHECK(suggest_names("targt", names, synonyms) == Strings{"output"});
  CHECK(suggest_names("input", names, synonyms) == Strings{"files"});
}

}  // namespace hftrain
