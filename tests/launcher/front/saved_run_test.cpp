#include "launcher/front/saved_run.h"

#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::front {
namespace {

using hftrain::testing::TemporaryDirectory;

TEST_CASE("whether a run had types of tokens its checkpoint says, and of one of before the plan beside it") {
  const TemporaryDirectory run;
  const std::string checkpoint = run / "checkpoint-2";
  const auto types = [&](const Json& more, const std::string& plan) {
    Json state = {{"global_batch", 8}, {"world_size", 1}, {"schedule", {{"name", "linear"}}}};
    state.update(more);
    write_file_atomically(checkpoint + "/trainer_state.json", "{}");
    write_file_atomically(checkpoint + "/hftrain_state.json", state.dump());
    write_file_atomically(run / "hftrain/plan.json", plan);
    return saved_run(checkpoint)->token_types;
  };
  const auto plan = [](const Json& columns) {
    return Json{{"data", {{"padding", {{"columns", columns}}}}}}.dump();
  };
  const Json ids = {{"tensor", "input_ids"}}, token_types = {{"tensor", "token_type_ids"}};
  CHECK(types({{"token_types", false}}, plan({ids, token_types})) == false);
  CHECK(types({{"token_types", true}}, "") == true);
  CHECK(types(Json::object(), plan({ids, token_types})) == true);
  CHECK(types(Json::object(), plan(Json::array({ids}))) == false);
  CHECK_FALSE(types(Json::object(), plan(Json::array())));  // of blocks
  for (const char* other : {"", "[]", R"({"data": 3})", R"({"data": {"padding": {"columns": 3}}})"})
    CHECK_FALSE(types(Json::object(), other));
  CHECK_FALSE(saved_run(""));
}

TEST_CASE("an optimizer is the checkpoint's own, and of one of before that of the plan of its training") {
  const TemporaryDirectory run;
  const std::string checkpoint = run / "checkpoint-2";
  const auto found = [&](const Json& more, const Json& plan) {
    Json state = {{"global_batch", 8}, {"world_size", 1}, {"schedule", {{"name", "linear"}}}};
    state.update(more);
    write_file_atomically(checkpoint + "/trainer_state.json", "{}");
    write_file_atomically(checkpoint + "/hftrain_state.json", state.dump());
    write_file_atomically(run / "hftrain/plan.json", plan.dump());
    const plan::SavedRun saved = *saved_run(checkpoint);
    return std::pair(saved.optimizer, saved.optimizer_options);
  };
  using Options = std::map<std::string, std::string>;
  const Json trained = {{"do_train", true},
                        {"optimizer", {{"name", "sgd"}, {"options", {{"momentum", "0.5"}}}}}};
  Json evaluated = trained;
  evaluated["do_train"] = false;
  CHECK(found({{"optimizer", "lion_32bit"}, {"optimizer_options", Json::object()}}, trained) ==
        std::pair(std::string("lion_32bit"), std::optional(Options{})));
  CHECK(found(Json::object(), trained) ==
        std::pair(std::string("sgd"), std::optional(Options{{"momentum", "0.5"}})));
  CHECK(found(Json::object(), evaluated) == std::pair(std::string(), std::optional<Options>()));
  CHECK(found(Json::object(), 3) == std::pair(std::string(), std::optional<Options>()));
}

}  // namespace
}  // namespace hftrain::front
