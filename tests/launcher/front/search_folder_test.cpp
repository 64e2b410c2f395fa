// Runs and searches keep out of each other's output folders.
#include "launcher/front/search_folder.h"

#include "hftrain/base/file.h"
#include "launcher/front/output_stage.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::front {
namespace {

constexpr const char* kSearch = R"({"search": {}, "trials": [], "best": null})";

Inputs inputs_of(const std::string& output_dir) {
  Inputs inputs;
  inputs.output_dir = output_dir;
  return inputs;
}

}  // namespace

TEST_CASE("a run is refused in the folder of a search, with the ways out") {
  const testing::TemporaryDirectory folder;
  const std::string output = folder / "s";
  Inputs inputs = inputs_of(output);
  plan::RunPlan plan;
  CHECK_NOTHROW(decide_resume(inputs, plan));
  write_file_atomically(output + "/search.json", "{\"trials\": 5}");  // of somebody else
  CHECK_NOTHROW(decide_resume(inputs, plan));
  write_file_atomically(output + "/search.json", kSearch);
  for (const bool trains : {false, true}) {
    plan.do_train = trains;
    CHECK_REFUSED(decide_resume(inputs, plan), output + " holds a search\n");
    CHECK_REFUSED(decide_resume(inputs, plan), "try: another --output_dir, or --overwrite_output_dir");
  }
  inputs.parsed.arguments.output.overwrite_output_dir = true;
  CHECK_NOTHROW(decide_resume(inputs, plan));
  inputs.parsed.arguments.output.overwrite_output_dir = false;
  write_file_atomically(output + "/hftrain/plan.json", "{}");  // an earlier version has begun both
  CHECK_NOTHROW(decide_resume(inputs, plan));
}

TEST_CASE("a search is refused in the folder of a run, and goes on in its own") {
  const testing::TemporaryDirectory folder;
  const Inputs inputs = inputs_of(folder / "r");
  CHECK_NOTHROW(refuse_folder_of_run(inputs));
  write_file_atomically(folder / "r/hftrain/log.jsonl", "");
  CHECK_REFUSED(refuse_folder_of_run(inputs), (folder / "r") + " holds a run\n");
  CHECK_REFUSED(refuse_folder_of_run(inputs), "try: another --output_dir, or move the run away");
  write_file_atomically(folder / "r/search.json", kSearch);
  CHECK_NOTHROW(refuse_folder_of_run(inputs));
}

}  // namespace hftrain::front
