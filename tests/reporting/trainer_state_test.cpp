#include "hftrain/reporting/trainer_state.h"

#include <fstream>
#include <string>

#include "golden.h"
#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/python.h"
#include "support/refusal.h"
#include "support/skip.h"

namespace hftrain::reporting {
namespace {

TrainerState sample_state() {
  TrainerState state;
  state.best_global_step = 20;
  state.best_metric = 0.1;
  state.best_model_checkpoint = "out/checkpoint-20";
  state.epoch = 1.5;
  state.eval_steps = 10;
  state.global_step = 30;
  state.logging_steps = 5;
  state.max_steps = 60;
  state.num_input_tokens_seen = 7680;
  state.num_train_epochs = 3;
  state.save_steps = 10;
  state.total_flos = 1234567890123456.0;
  state.train_batch_size = 8;
  state.log_history =
      LogHistory({{{"epoch", 0.25},
                   {"grad_norm", 1.5},
                   {"learning_rate", 4.9e-05},
                   {"loss", 2.345678901234567},
                   {"step", 5}},
                  {{"epoch", 0.5}, {"eval_loss", 2.25}, {"eval_runtime", 0.5}, {"step", 10}}});
  state.stateful_callbacks["TrainerControl"] = control_entry({.should_save = true});
  return state;
}

TEST_CASE("the file is byte for byte what transformers writes", "[reporting]") {
  CHECK(render_trainer_state(sample_state()) == testing::golden("state.json").at("text"));
}

TEST_CASE("a state comes back as it was written", "[reporting]") {
  const std::string text = render_trainer_state(sample_state());
  CHECK(render_trainer_state(parse_trainer_state(text, "here")) == text);
  const std::string fresh = render_trainer_state({});
  CHECK(render_trainer_state(parse_trainer_state(fresh, "here")) == fresh);
}

TEST_CASE("missing and unknown keys are tolerated, wrong types are not", "[reporting]") {
  const TrainerState old =
      parse_trainer_state(R"({"global_step": 7, "log_history": null, "new_key": 1})", "here");
  CHECK(old.global_step == 7);
  CHECK(old.save_steps == 500);
  CHECK(old.log_history.empty());
  CHECK_FALSE(old.best_metric);
  for (const char* text : {"[]", "{", "7", R"({"global_step": "seven"})", R"({"best_metric": []})"}) {
    CHECK_REFUSED(parse_trainer_state(text, "here"),
                  text == std::string("{") ? "not valid JSON" : "not a trainer state");
  }
}

TEST_CASE("whole numbers that none could hold are refused in words", "[reporting]") {
  for (const std::string text :
       {R"({"global_step": 1e300})", R"({"save_steps": -1e19})", R"({"max_steps": 18446744073709551615})"}) {
    CAPTURE(text);
    try {
      parse_trainer_state(text, "here");
      FAIL("it was read");
    } catch (const Error& error) {
      const Diagnostic& said = error.diagnostics().front();
      CHECK(said.where == "here");
      CHECK(said.why.find("its ") == 0);
      CHECK(!said.hint.empty());
    }
  }
  CHECK(parse_trainer_state(R"({"eval_steps": 500.0})", "here").eval_steps == 500);
  // Of a stream.
  CHECK(parse_trainer_state(R"({"num_train_epochs": 9223372036854775807})", "here").num_train_epochs ==
        9223372036854775807);
}

TEST_CASE("transformers loads the file", "[reporting][parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3 with transformers: set HFTRAIN_TEST_PYTHON");
  const testing::TemporaryDirectory folder;
  std::ofstream(folder / "full.json") << render_trainer_state(sample_state());
  std::ofstream(folder / "fresh.json") << render_trainer_state({});
  const testing::PythonResult result = testing::run_python(R"(
import sys
from transformers import TrainerState
full = TrainerState.load_from_json(sys.argv[1] + "/full.json")
assert full.global_step == 30 and full.best_metric == 0.1 and len(full.log_history) == 2
assert full.stateful_callbacks["TrainerControl"]["args"]["should_save"] is True
fresh = TrainerState.load_from_json(sys.argv[1] + "/fresh.json")
assert fresh == TrainerState(eval_steps=500), fresh
print("loaded")
)",
                                                           {folder.path()});
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Catch::Contains("loaded"));
}

}  // namespace
}  // namespace hftrain::reporting
