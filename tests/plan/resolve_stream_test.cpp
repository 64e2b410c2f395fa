// Plans of runs that stream their training data.
#include "hftrain/plan/identity.h"
#include "hftrain/plan/resolve.h"
#include "resolve_case.h"
#include "support/catch.h"

namespace hftrain::plan {
namespace {

data::StreamSpec spec_of(size_t files) {
  data::StreamSpec spec;
  for (size_t i = 0; i < files; ++i)
    spec.files.push_back({"/data/" + std::to_string(i) + ".txt", data::RowFormat::kText, 1000, 5});
  spec.recipe = Json::object();
  spec.identity = "stream-7";
  return spec;
}

Case streaming(std::vector<std::string> flags, size_t files = 1) {
  flags.insert(flags.end(), {"--streaming", "--max_steps", "20"});
  Case one(flags);
  one.data.train.reset();
  one.data.stream = spec_of(files);
  return one;
}

}  // namespace

TEST_CASE("an epoch of a stream has no end in the plan, and the run that of max_steps") {
  const RunPlan plan =
      streaming({"--gradient_accumulation_steps", "3", "--per_device_train_batch_size", "2"}).plan();
  CHECK(plan.steps.max_steps == 20);
  CHECK(plan.steps.limited_by_steps);
  CHECK(plan.steps.batches_per_epoch == 60);
  CHECK(plan.steps.epochs == kEndlessEpochs);
  CHECK(plan.steps.samples_for_speed == 120);
  CHECK(plan.data.sampling == "sequential");
  CHECK_FALSE(plan.data.train->exact);
  CHECK(run_identity(plan).at("data") == "stream-7");
}

TEST_CASE("rank 0 reads a stream for all, unless every rank is to read, which then takes files of its own") {
  const auto plan_of = [](std::vector<std::string> flags, size_t files) {
    flags.insert(flags.end(), {"--nproc_per_node", "2"});
    return streaming(std::move(flags), files).plan().data;
  };
  const std::string own = R"({"dispatch_batches": false})";
  CHECK(plan_of({}, 4).dispatch_batches);
  CHECK_FALSE(plan_of({}, 4).stream->by_files);
  CHECK_FALSE(plan_of({"--accelerator_config", own}, 2).dispatch_batches);
  CHECK(plan_of({"--accelerator_config", own}, 2).stream->by_files);
  CHECK_FALSE(plan_of({"--accelerator_config", own}, 1).stream->by_files);
  CHECK_FALSE(plan_of({"--accelerator_config", R"({"dispatch_batches": false, "split_batches": true})"}, 2)
                  .stream->by_files);
  CHECK_FALSE(streaming({}).plan().data.dispatch_batches);  // of one rank
}

TEST_CASE("checkpoints at the ends of a stream's epochs are one an update at the most") {
  CHECK(streaming({"--save_strategy", "epoch"}).plan().disk.checkpoints_kept <= 21);
}

TEST_CASE("flags that cannot act on a stream are told") {
  const std::string notes =
      streaming({"--train_sampling_strategy", "batch_rebalance", "--data_seed", "4"}).notes();
  CHECK(contains(notes, "a stream has no use for train_sampling_strategy batch_rebalance, data_seed"));
  CHECK_FALSE(
      contains(streaming({"--train_sampling_strategy", "sequential"}).notes(), "a stream has no use"));
}

}  // namespace hftrain::plan
