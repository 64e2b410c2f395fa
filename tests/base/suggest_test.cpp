#include "hftrain/base/suggest.h"

#include <string>
#include <string_view>
#include <vector>

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

TEST_CASE("words that say nothing are passed over before slips are looked for") {
  const Strings names = {"use_cpu", "gpu_ids", "fp16"};
  const std::vector<Synonym> synonyms = {{"gpu", "gpu_ids"}};
  const std::vector<std::string_view> fillers = {"use", "trainer"};
  CHECK(suggest_names("use_fp16", KnownNames(names), synonyms, fillers) == Strings{"fp16"});
  CHECK(suggest_names("trainer.fp16", KnownNames(names), synonyms, fillers) == Strings{"fp16"});
  CHECK(suggest_names("use_gpu", KnownNames(names), synonyms, fillers) == Strings{"gpu_ids"});
  CHECK(suggest_names("use", KnownNames(names), synonyms, fillers) == Strings{"use_cpu"});
}

TEST_CASE("another letter in a short word is another word, and a lost or doubled one is a slip") {
  const Strings names = {"use_cpu", "max_steps", "train_file"};
  CHECK(suggest_names("use_gpu", names).empty());
  CHECK(suggest_names("min_steps", names).empty());
  CHECK(suggest_names("train_size", names).empty());
  CHECK(suggest_names("mx_steps", names) == Strings{"max_steps"});
  CHECK(suggest_names("maax_steps", names) == Strings{"max_steps"});
  CHECK(suggest_names("tran_file", names) == Strings{"train_file"});
}

TEST_CASE("a synonym with a slip is a long one") {
  const Strings names = {"model_name", "output"};
  const std::vector<Synonym> synonyms = {{"model", "model_name"}, {"target", "output"}};
  CHECK(suggest_names("text", names, std::vector<Synonym>{{"test", "output"}}).empty());
  CHECK(suggest_names("tarjet", names, synonyms) == Strings{"output"});
}

TEST_CASE("what a name goes on with is nearer than what it lacks, and four that are as near are a guess") {
  CHECK(suggest_names("freeze", Strings{"freeze_encoder", "padding_free"}) == Strings{"freeze_encoder"});
  CHECK(suggest_names("evaluation_steps", Strings{"eval_steps"}) == Strings{"eval_steps"});
  CHECK(suggest_names("callbacks", Strings{"restore_callback_states_from"}).empty());
  const Strings four = {"eval_strategy", "hub_strategy", "logging_strategy", "save_strategy"};
  CHECK(suggest_names("strategy", four).empty());
  CHECK(suggest_names("strategy", Strings{"eval_strategy", "save_strategy"}).size() == 2);
}

TEST_CASE("a name that is found by slips only stands for nothing else, and behind those that are as near") {
  const Strings names = {"learning_rate"}, old = {"warmup_ratio", "learning_rata"};
  const KnownNames known(names, old);
  CHECK(suggest_names("warmup_ration", known) == Strings{"warmup_ratio"});
  CHECK(suggest_names("warmup", known).empty());
  CHECK(suggest_names("lr", known, std::vector<Synonym>{{"lr", "warmup_ratio", "learning_rate"}}) ==
        Strings{"learning_rate"});
  CHECK(suggest_names("learning_rat", known) == Strings{"learning_rate"});
}

}  // namespace hftrain
