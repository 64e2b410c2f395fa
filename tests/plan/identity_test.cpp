#include "hftrain/plan/identity.h"

#include "support/catch.h"

namespace hftrain::plan {
namespace {

RunPlan example() {
  RunPlan plan;
  plan.model.model_type = "gpt2";
  plan.model.config = {{"n_layer", 2}, {"transformers_version", "5.17.0"}};
  plan.data.train = SplitPlan{.cache_path = "/cache/tokens/abc123/train", .samples = 10};
  plan.data.block_size = 128;
  return plan;
}

TEST_CASE("a run that only moved its cache or was written by another version is the same run") {
  RunPlan other = example();
  other.data.train->cache_path = "/elsewhere/abc123/train";
  other.model.config["transformers_version"] = "4.40.0";
  other.output_dir = "/somewhere/else";
  CHECK(identity_differences(run_identity(example()), run_identity(other)).empty());
}

TEST_CASE("another seed, model or text is another run, and the difference is named") {
  RunPlan seed = example(), model = example(), data = example();
  seed.seed = 7;
  model.model.config["n_layer"] = 3;
  data.data.train->cache_path = "/cache/tokens/def456/train";
  const Json saved = run_identity(example());
  CHECK(identity_differences(saved, run_identity(seed)) ==
        std::vector<std::string>{"seed: 42 there, 7 here"});
  CHECK(identity_differences(saved, run_identity(model)).size() == 1);
  CHECK(identity_differences(saved, run_identity(data)).at(0) == "data: \"abc123\" there, \"def456\" here");
}

TEST_CASE("a run that is evaluated on other data is the same run, and one that learns from others is not") {
  RunPlan before = example(), evaluated = example(), taught = example();
  before.data.training_key = evaluated.data.training_key = "aaa";
  taught.data.training_key = "bbb";
  evaluated.data.train->cache_path = taught.data.train->cache_path = "/cache/tokens/def456/train";
  const Json saved = run_identity(before);
  CHECK(identity_differences(saved, run_identity(evaluated)).empty());
  CHECK(evaluated_otherwise(saved, run_identity(evaluated)));
  CHECK_FALSE(evaluated_otherwise(saved, saved));
  CHECK(identity_differences(saved, run_identity(taught)) ==
        std::vector<std::string>{"training_data: \"aaa\" there, \"bbb\" here"});
  CHECK_FALSE(evaluated_otherwise(saved, run_identity(taught)));
  Json older = saved;  // which knows the hash of all data alone
  older.erase("training_data");
  CHECK(identity_differences(older, run_identity(before)).empty());
  CHECK(identity_differences(older, run_identity(evaluated)).size() == 1);
}

TEST_CASE("a stream that is evaluated on other data is the same run, and its notes say so") {
  const auto streamed = [](const std::string& entry) {
    RunPlan plan = example();
    plan.data.train.reset();
    plan.data.stream.emplace();
    plan.data.stream->identity = "stream-" + entry;  // its options are of evaluation, too
    plan.data.training_key = "stream-aaa";
    plan.data.validation.emplace();
    plan.data.validation->cache_path = "/cache/tokens/" + entry + "/validation";
    plan.data.validation->exact = true;
    return run_identity(plan);
  };
  const Json saved = streamed("abc");
  CHECK(identity_differences(saved, streamed("def")).empty());
  CHECK(evaluated_otherwise(saved, streamed("def")));
  CHECK_FALSE(evaluated_otherwise(saved, saved));
}

TEST_CASE("an adapter's modules in another order are the same") {
  RunPlan one = example(), other = example(), third = example();
  for (RunPlan* plan : {&one, &other, &third}) plan->model.adapter.emplace();
  one.model.adapter->spec.targets = {"query", "value"};
  other.model.adapter->spec.targets = {"value", "query"};
  third.model.adapter->spec.targets = {"query"};
  CHECK(identity_differences(run_identity(one), run_identity(other)).empty());
  CHECK(identity_differences(run_identity(one), run_identity(third)).size() == 1);
}

TEST_CASE(
    "weights that begin elsewhere are another run, but beside a checkpoint that does not say where its own "
    "began") {
  RunPlan drawn = example(), tuned = example(), other = example(), own = example();
  tuned.model.source_folder = other.model.source_folder = own.model.source_folder = "/models/some";
  tuned.model.weights_mark = "aaa";
  other.model.weights_mark = "bbb";
  CHECK(identity_differences(run_identity(tuned), run_identity(other)) ==
        std::vector<std::string>{"weights: \"aaa\" there, \"bbb\" here"});
  CHECK(identity_differences(run_identity(drawn), run_identity(tuned)) ==
        std::vector<std::string>{"weights: \"drawn\" there, \"aaa\" here"});
  CHECK(
      identity_differences(run_identity(tuned), run_identity(own)).empty());  // from the output folder itself
  Json before = run_identity(tuned);
  before.erase("weights");
  CHECK(identity_differences(before, run_identity(other)).empty());
}

TEST_CASE("the base of an adapter is the same with and without a slash that was typed behind it") {
  RunPlan plan = example();
  plan.model.source_folder = "/models/some";
  plan.model.adapter = AdapterPlan{};
  Json typed = run_identity(plan);
  typed["adapter"]["base"] = "/models/some/";
  CHECK(identity_differences(typed, run_identity(plan)).empty());
  typed["adapter"]["base"] = "/models/other/";
  CHECK(identity_differences(typed, run_identity(plan)).size() == 1);
}

TEST_CASE("a member that an older checkpoint lacks counts as different") {
  Json saved = run_identity(example());
  saved.erase("task");
  CHECK(identity_differences(saved, run_identity(example())).size() == 1);
}

}  // namespace
}  // namespace hftrain::plan
