#include "hftrain/plan/tracker_variables.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/plan/trackio_project.h"
#include "support/catch.h"

namespace hftrain::plan {
namespace {

using Asked = std::vector<std::string>;

std::string tracker_notes(const Asked& asked, std::map<std::string, std::string> variables,
                          const std::string& run_name = "") {
  std::vector<Diagnostic> notes;
  note_trackers(asked, run_name, Environment(std::move(variables)), notes);
  std::string text;
  for (const Diagnostic& note : notes) text += note.what + '\n';
  return text;
}

bool is_refused(const Asked& asked, const std::string& id) {
  Problems problems;
  check_trackers(asked, Environment(std::map<std::string, std::string>{{"WANDB_RUN_ID", id}}), problems);
  return !problems.none();
}

}  // namespace

TEST_CASE("variables turn wandb off, as in its package") {
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"WANDB_MODE", "Disabled"}, {"WANDB_DISABLED", "true"}}) {
    INFO(name);
    const Environment environment(std::map<std::string, std::string>{{name, value}});
    CHECK(running_trackers({"csv", "wandb"}, environment) == Asked{"csv"});
    CHECK(tracker_notes({"wandb"}, {{name, value}}) ==
          name + '=' + value + " of the environment: no run of wandb is written\n");
  }
  const Environment online(
      std::map<std::string, std::string>{{"WANDB_MODE", "online"}, {"WANDB_DISABLED", "false"}});
  CHECK(running_trackers({"csv", "wandb"}, online) == Asked{"csv", "wandb"});
}

TEST_CASE("variables of wandb act or are told, and keys are shown to nobody") {
  CHECK(tracker_notes(
            {"wandb"},
            {{"WANDB_MODE", "offline"}, {"WANDB_API_KEY", "k"}, {"WANDB_WATCH", "false"}, {"HOME", "/h"}})
            .empty());
  CHECK(tracker_notes({"csv"}, {{"WANDB_MODE", "online"}, {"WANDB_PROJECT", "p"}}).empty());
  CHECK(tracker_notes({"wandb"}, {{"WANDB_PROJECT", "p"}}) ==
        "WANDB_PROJECT=p of the environment is used for the run of wandb\n");
  CHECK(tracker_notes({"wandb"}, {{"WANDB_MODE", "online"},
                                  {"WANDB_TAGS", "a,b"},
                                  {"WANDB_NAME", "n"},
                                  {"WANDB_OTHER_TOKEN", "k"}}) ==
        "WANDB_NAME=n, WANDB_TAGS=a,b of the environment are used for the run of wandb\n"
        "WANDB_MODE=online, WANDB_OTHER_TOKEN=<WANDB_OTHER_TOKEN> of the environment have no effect on the "
        "run of wandb\n");
  CHECK(tracker_notes({"wandb"}, {{"WANDB_NAME", "n"}, {"WANDB_TAGS", "a"}}, "mine") ==
        "WANDB_NAME=n of the environment has no effect on the run of wandb\n"
        "WANDB_TAGS=a of the environment is used for the run of wandb\n");
}

TEST_CASE("variables of MLflow act or are told, and credentials are shown to nobody") {
  CHECK(tracker_notes({"mlflow"}, {{"MLFLOW_TRACKING_URI", "https://me:mine@host"},
                                   {"MLFLOW_TRACKING_TOKEN", "t"},
                                   {"MLFLOW_TRACKING_USERNAME", "me"},
                                   {"HF_MLFLOW_LOG_ARTIFACTS", "1"}}) ==
        "MLFLOW_TRACKING_TOKEN, MLFLOW_TRACKING_URI=https://me:<password>@host, MLFLOW_TRACKING_USERNAME of "
        "the environment are used for the run of mlflow\n"
        "HF_MLFLOW_LOG_ARTIFACTS=1 of the environment has no effect on the run of mlflow\n");
  CHECK(tracker_notes({"mlflow"}, {{"MLFLOW_NESTED_RUN", "false"}, {"MLFLOW_ALLOW_FILE_STORE", "true"}})
            .empty());
  const Environment off(std::map<std::string, std::string>{{"DISABLE_MLFLOW_INTEGRATION", "TRUE"}});
  CHECK(running_trackers({"mlflow", "csv"}, off) == Asked{"csv"});
}

TEST_CASE("variables of Trackio act or are told, and a Space is for trackio sync") {
  CHECK(tracker_notes(
            {"trackio"},
            {{"TRACKIO_DIR", "/store"}, {"TRACKIO_THEME", "soft"}, {"TRACKIO_SPACE_ID", "me/space"}}) ==
        "TRACKIO_DIR=/store of the environment is used for the run of trackio\n"
        "TRACKIO_SPACE_ID=me/space of the environment has no effect on the run of trackio\n");
}

TEST_CASE("a project that Trackio would not keep is refused") {
  const auto refused = [](const char* project) {
    Problems problems;
    check_trackio_project(project, "command line", problems);
    return !problems.none();
  };
  for (const char* project :
       {"", "  ", "registry-mine", "reg.istry-mine", "model_artifacts", "my model_system"})
    CHECK(refused(project));
  for (const char* project : {"huggingface", "registry", "_system", "a b", "systems"})
    CHECK_FALSE(refused(project));
}

TEST_CASE("a tracking URI that nobody here can write to is refused, and so are tags that are none") {
  const auto refused = [](const char* name, const char* value) {
    Problems problems;
    check_trackers({"mlflow"}, Environment(std::map<std::string, std::string>{{name, value}}), problems);
    return !problems.none();
  };
  for (const char* uri :
       {"sqlite:///mlflow.db", "databricks", "databricks-uc", "databricks://profile", "ftp://host"})
    CHECK(refused("MLFLOW_TRACKING_URI", uri));
  for (const char* uri : {"", "runs", "/runs", "file:///runs", "http://host:5000", "https://host/a"})
    CHECK_FALSE(refused("MLFLOW_TRACKING_URI", uri));
  for (const char* tags : {"[1]", "a=b"}) CHECK(refused("MLFLOW_TAGS", tags));
  CHECK_FALSE(refused("MLFLOW_TAGS", "{\"a\": 1}"));
}

TEST_CASE("an id of a run that cannot be part of a file's name is refused where it is used") {
  for (const char* id : {"a/b", "..\\x", "a?", " a"}) CHECK(is_refused({"wandb"}, id));
  for (const char* id : {"", "a-b_1.c"}) CHECK_FALSE(is_refused({"wandb"}, id));
  CHECK_FALSE(is_refused({"csv"}, "a/b"));
}

}  // namespace hftrain::plan
