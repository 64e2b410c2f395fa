#include "hftrain/reporting/configuration.h"

#include "support/catch.h"

namespace hftrain::reporting {
namespace {

TEST_CASE("an argument that nobody gave hides no key of the model from trackers", "[reporting]") {
  ReportedRun run;
  run.model_config = {{"n_layer", 2}, {"model_type", "gpt2"}, {"dtype", "float32"}};
  run.arguments = R"({"model_type": null, "dtype": "bfloat16", "run_name": null, "n_head": 3})";
  CHECK(configuration_of(run) == Json{{"n_layer", 2},
                                      {"model_type", "gpt2"},
                                      {"dtype", "bfloat16"},
                                      {"run_name", nullptr},
                                      {"n_head", 3}});
}

TEST_CASE("intervals of updates are whole numbers for trackers, and shares are not", "[reporting]") {
  ReportedRun run;
  run.arguments = R"({"logging_steps": 500.0, "eval_steps": 0.5, "save_steps": null, "eval_delay": 0.0,
                      "num_train_epochs": 3.0})";
  const Json seen = configuration_of(run);
  CHECK(seen["logging_steps"].is_number_integer());
  CHECK(seen["logging_steps"] == 500);
  CHECK(seen["eval_steps"] == 0.5);
  CHECK(seen["save_steps"].is_null());
  CHECK(seen["eval_delay"].is_number_integer());
  CHECK(seen["num_train_epochs"].is_number_float());
}

}  // namespace
}  // namespace hftrain::reporting
