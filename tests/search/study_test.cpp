#include "hftrain/search/study.h"

#include <sys/stat.h>

#include <cmath>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::search {
namespace {

using testing::TemporaryDirectory;

Specification five_random() {
  Specification specification;
  specification.method = Method::kRandom;
  specification.trials = 5;
  specification.space = {{.flag = "rate", .low = 0, .high = 1}};
  return specification;
}

TEST_CASE("a search that is started again goes on: no trial is lost or begun twice", "[search]") {
  const TemporaryDirectory folder;
  std::vector<Json> parameters;
  {
    Study study(five_random(), folder / "s");
    for (const double metric : {3.0, 1.0, 2.0}) study.end(*study.begin(), TrialState::kComplete, metric);
    study.begin();  // and is killed
    for (const Trial& trial : study.trials()) parameters.push_back(trial.parameters);
  }
  Study again(five_random(), folder / "s");
  REQUIRE(again.trials().size() == 4);
  for (size_t i = 0; i < 4; ++i) CHECK(again.trials()[i].parameters == parameters[i]);
  CHECK(again.interrupted() == std::vector<int>{3});
  CHECK(again.best()->number == 1);
  again.end(3, TrialState::kComplete, 0.5);
  CHECK(again.begin() == 4);
  CHECK_FALSE(again.begin());
  CHECK(again.best()->number == 3);
  CHECK(again.trials()[4].folder == folder / "s/trial-4");
  CHECK(read_json_file(folder / "s/search.json") == again.document());
}

TEST_CASE("a trial without a finite metric has failed, and pruned ones are not the best", "[search]") {
  const TemporaryDirectory folder;
  Study study(five_random(), folder / "s");
  CHECK(study.best() == nullptr);
  CHECK(study.document()["best"].is_null());
  study.end(*study.begin(), TrialState::kComplete, NAN);
  study.end(*study.begin(), TrialState::kComplete, std::nullopt);
  study.end(*study.begin(), TrialState::kPruned, 0.1);
  study.end(*study.begin(), TrialState::kComplete, 4);
  CHECK(study.trials()[0].state == TrialState::kFailed);
  CHECK(study.trials()[1].state == TrialState::kFailed);
  CHECK(study.best()->number == 3);
  const Json document = study.document();
  CHECK(document["best"]["metric"] == 4.0);
  CHECK(document["trials"][2]["state"] == "pruned");
  for (const char* member : {"number", "parameters", "state", "metric", "folder"})
    CHECK(document["trials"][0].contains(member));
  CHECK(table_of(study).find("* 3  complete  eval_loss 4") != std::string::npos);
}

TEST_CASE("a search goes on with the flags that it began with, and names those that differ", "[search]") {
  const TemporaryDirectory folder;
  const Json flags = {{"max_steps", 4}, {"learning_rate", 0.1}};
  Study(five_random(), folder / "s", flags).begin();
  CHECK(read_json_file(folder / "s/search.json")["flags"] == flags);
  CHECK(Study(five_random(), folder / "s", flags).trials().size() == 1);
  const auto refused = [&](const Json& others, const std::string& why) {
    CHECK_REFUSED(Study(five_random(), folder / "s", others), why);
  };
  refused({{"max_steps", 5}, {"learning_rate", 0.1}}, "why: max_steps: 4 there, 5 here\n");
  refused(Json::object({{"max_steps", 4}}), "why: learning_rate: 0.1 there, its default here\n");
  refused({{"max_steps", 4}, {"learning_rate", 0.1}, {"seed", 7}}, "why: seed: its default there, 7 here\n");
  Json written = read_json_file(folder / "s/search.json");
  written.erase("flags");  // of an earlier version
  write_file_atomically(folder / "s/search.json", dump_json(written));
  CHECK(Study(five_random(), folder / "s", flags).trials().size() == 1);
  written["flags"] = 5;
  write_file_atomically(folder / "s/search.json", dump_json(written));
  refused(flags, "its flags are no mapping");
}

TEST_CASE("all trials of a search have the number of ranks of the first", "[search]") {
  const TemporaryDirectory folder;
  const std::string path = folder / "s/search.json";
  {
    Study study(five_random(), folder / "s");
    study.begin();
    CHECK_FALSE(read_json_file(path).contains("world_size"));  // as in a search.json of an earlier version
  }
  Study study(five_random(), folder / "s");
  study.require_world_size(0, 2);
  CHECK(read_json_file(path)["world_size"] == 2);
  CHECK_NOTHROW(study.require_world_size(1, 2));
  Study again(five_random(), folder / "s");
  CHECK_REFUSED(again.require_world_size(3, 4), "why: world_size is 2 there, and 4 of this trial");
  Json written = read_json_file(path);
  written["world_size"] = "two";
  write_file_atomically(path, dump_json(written));
  CHECK_REFUSED(Study(five_random(), folder / "s"), "its world_size is no number of ranks");
}

TEST_CASE("flags of an earlier version are compared as this one records them", "[search]") {
  const TemporaryDirectory folder;
  Study(five_random(), folder / "s", {{"max_steps", 4}, {"fast", true}}).begin();
  const auto without_fast = [](Json flags) {
    flags.erase("fast");
    return flags;
  };
  const Json flags = Json::object({{"max_steps", 4}});
  CHECK_REFUSED(Study(five_random(), folder / "s", flags), "fast: true there, its default here");
  const Study again(five_random(), folder / "s", flags, without_fast);
  CHECK(again.differences(flags).empty());
  CHECK(again.differences(Json::object({{"max_steps", 8}})) == "max_steps: 4 there, 8 here");
  CHECK_FALSE(again.all_begun());
}

TEST_CASE("the code of a trial that failed is kept, and the first of them known", "[search]") {
  const TemporaryDirectory folder;
  Study study(five_random(), folder / "s");
  CHECK(study.first_failed() == nullptr);
  study.end(*study.begin(), TrialState::kComplete, 1.0, 8);
  CHECK(study.first_failed() == nullptr);
  study.end(*study.begin(), TrialState::kComplete, NAN, 8);
  study.end(*study.begin(), TrialState::kFailed, std::nullopt, 2);
  const Study again(five_random(), folder / "s");
  REQUIRE(again.first_failed() != nullptr);
  CHECK(again.first_failed()->number == 1);
  CHECK(again.first_failed()->exit_code == 8);
  CHECK(again.trials()[2].exit_code == 2);
  CHECK_FALSE(again.document()["trials"][0].contains("exit_code"));
}

TEST_CASE("a search whose space was kept by older names of its flags goes on", "[search]") {
  const TemporaryDirectory folder;
  Specification specification = five_random();
  specification.space = {{.flag = "learning_rate", .low = 0, .high = 1},
                         {.flag = "per_device_train_batch_size", .choices = {2, 4}}};
  Study(specification, folder / "s").begin();
  const std::string path = folder / "s/search.json";
  Json kept = read_json_file(path);
  const auto rename = [](Json& names) {
    names["learning-rate"] = names["learning_rate"];
    names["per_gpu_train_batch_size"] = names["per_device_train_batch_size"];
    for (const char* today : {"learning_rate", "per_device_train_batch_size"}) names.erase(today);
  };
  const Json parameters = kept["trials"][0]["parameters"];
  rename(kept["search"]["space"]);
  rename(kept["trials"][0]["parameters"]);
  write_file_atomically(path, kept.dump());
  CHECK(Study(specification, folder / "s").trials().at(0).parameters == parameters);
}

TEST_CASE("a search of a share of warmup that was kept as warmup_steps goes on", "[search]") {
  const TemporaryDirectory folder;
  Specification specification = five_random();
  specification.space = {{.flag = "warmup_ratio", .choices = {0.1, 0.5}}};
  Study(specification, folder / "s").begin();
  const std::string path = folder / "s/search.json";
  Json kept = read_json_file(path);
  const Json parameters = kept["trials"][0]["parameters"];
  kept["search"]["space"] = {{"warmup_steps", kept["search"]["space"]["warmup_ratio"]}};
  kept["trials"][0]["parameters"] = {{"warmup_steps", parameters["warmup_ratio"]}};
  write_file_atomically(path, kept.dump());
  CHECK(Study(specification, folder / "s").trials().at(0).parameters == parameters);
}

TEST_CASE("a search of before whose choices of texts were numbers goes on with them", "[search]") {
  const TemporaryDirectory folder;
  Specification specification = five_random();
  specification.space = {{.flag = "run_name", .choices = {"1e3", "007", "true", "a", 5}}};
  const std::vector<Json> before = {1000.0, 7, true, "a", 5};
  Study(specification, folder / "s").begin();
  const std::string path = folder / "s/search.json";
  Json kept = read_json_file(path);
  kept["search"]["space"]["run_name"]["choices"] = before;
  kept["trials"][0]["parameters"] = {{"run_name", 7}};
  write_file_atomically(path, kept.dump());
  Study study(specification, folder / "s");
  CHECK(study.specification().space.at(0).choices == before);
  study.begin();
  CHECK(read_json_file(path)["search"] == kept["search"]);
  CHECK(std::ranges::count(before, study.trials().at(1).parameters["run_name"]) == 1);
  specification.space[0].choices[0] = "1e4";
  CHECK_THROWS_AS(Study(specification, folder / "s"), Error);
}

TEST_CASE("a pipe in the place of search.json is refused, and not waited for", "[search]") {
  const TemporaryDirectory folder;
  REQUIRE(::mkfifo((folder / "search.json").c_str(), 0600) == 0);
  CHECK_REFUSED(Study(five_random(), folder.path()), "a file of the search is no regular file");
}

TEST_CASE("another search in the folder is refused, a damaged one named", "[search]") {
  const TemporaryDirectory folder;
  Study(five_random(), folder / "s").begin();
  Specification other = five_random();
  other.space[0].high = 2;
  try {
    const Study study(other, folder / "s");
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    CHECK_THAT(error.render(), Catch::Contains("another search is in this folder"));
  }
  Specification longer = five_random();
  longer.trials = 50;
  CHECK(Study(longer, folder / "s").trials().size() == 1);
  const std::string path = folder / "s/search.json";
  const Json sound = read_json_file(path);
  const auto refused = [&](const std::string& text, const std::string& why) {
    INFO(text << "\nis to be refused: " << why);
    write_file_atomically(path, text);
    CHECK_REFUSED(Study(five_random(), folder / "s"), why);
  };
  refused("{}", "it holds no trials");
  refused("3", "it holds no trials");
  refused("[", "where: " + path + ":1:");
  // Of this search, as its identity says.
  const auto with_trial = [&](const char* member, const Json& value) {
    Json damaged = sound;
    damaged["trials"][0][member] = value;
    return dump_json(damaged);
  };
  Json empty = sound;
  empty["trials"][0] = Json::object();
  refused(dump_json(empty), "search.json is damaged");
  refused(with_trial("state", "asleep"), "a trial is in the state asleep");
  refused(with_trial("number", 5), "a trial is out of its place");
  refused(with_trial("parameters", 5), "a trial is out of its place");
  refused(with_trial("folder", 5), "search.json is damaged");
  write_file_atomically(path, dump_json(sound));
  CHECK_NOTHROW(Study(five_random(), folder / "s"));
}

}  // namespace
}  // namespace hftrain::search
