#include "hftrain/reporting/model_card.h"

#include "support/catch.h"
#include "support/python.h"
#include "support/skip.h"

namespace hftrain::reporting {
namespace {

const Json kHistory = {
    {{"epoch", 0.5}, {"eval_loss", 3.5}, {"eval_runtime", 1.0}, {"step", 5}},
    {{"epoch", 1.0}, {"loss", 2.34567}, {"step", 10}},
    {{"epoch", 1.0}, {"eval_loss", 3.0}, {"eval_exact_match", 0.25}, {"step", 10}},
    {{"epoch", 1.0}, {"train_loss", 2.5}, {"train_runtime", 9.5}, {"step", 10}},
    {{"epoch", 1.0}, {"eval_loss", 2.98766}, {"eval_runtime", 1.0}, {"step", 10}},
};

ModelCard sample_card() {
  ModelCard card;
  card.model_name = "tiny: \"quoted\"";
  card.license = "apache-2.0";
  card.language = "no";
  card.pipeline_tag = "text-generation";
  card.tags = {"generated_from_trainer", "tiny"};
  card.hyperparameters = {{"learning_rate", "5e-05"}, {"seed", "42"}};
  card.versions = {{"hftrain", "0.1.0"}};
  return card;
}

TEST_CASE("the table has a row per evaluation with the loss logged before it", "[reporting]") {
  const std::string text = render_model_card(sample_card(), kHistory);
  CHECK_THAT(text, Catch::Contains("| Training Loss | Epoch | Step | Validation Loss | Exact Match |\n"
                                   "|:-------------:|:-----:|:----:|:---------------:|:-----------:|\n"
                                   "| No log        | 0.5   | 5    | 3.5             | -           |\n"
                                   "| 2.3457        | 1.0   | 10   | 3.0             | 0.25        |\n"));
  CHECK_THAT(text, Catch::Contains("- Loss: 2.9877\n"));
  CHECK_THAT(text, Catch::Contains("- learning_rate: 5e-05\n- seed: 42\n"));
  CHECK_THAT(text, Catch::Contains("Trained from scratch"));
}

TEST_CASE("a run without evaluations has no results", "[reporting]") {
  ModelCard card = sample_card();
  card.base_model = "some/base";
  const std::string text = render_model_card(card, Json::array());
  CHECK_THAT(text, !Catch::Contains("Training results"));
  CHECK_THAT(text, !Catch::Contains("Results on"));
  CHECK_THAT(text, Catch::Contains("Fine-tuned from `some/base`"));
  CHECK_THAT(text, !Catch::Contains("base_model:"));
  card.base_of_hub = "some/base";
  CHECK_THAT(render_model_card(card, Json::array()), Catch::Contains("\nbase_model: some/base\n"));
}

TEST_CASE("the head names the library that opens the folder, and data sets of the Hub") {
  ModelCard card = sample_card();
  CHECK_THAT(render_model_card(card, Json::array()), !Catch::Contains("datasets:"));
  card.library = "peft";
  card.dataset = "org/data";
  card.datasets = {"org/data"};
  const std::string text = render_model_card(card, Json::array());
  CHECK_THAT(text, Catch::Contains("library_name: peft\n"));
  CHECK_THAT(text, Catch::Contains("datasets:\n- org/data\n"));
  CHECK_THAT(text, Catch::Contains("on org/data.\n"));
}

TEST_CASE("huggingface_hub understands the head", "[reporting][parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3 with transformers: set HFTRAIN_TEST_PYTHON");
  const testing::TemporaryDirectory folder;
  std::ofstream(folder / "README.md") << render_model_card(sample_card(), kHistory);
  const testing::PythonResult result = testing::run_python(R"(
import sys
from huggingface_hub import ModelCard
data = ModelCard.load(sys.argv[1] + "/README.md").data
assert data.language == "no" and data.license == "apache-2.0" and data.pipeline_tag == "text-generation", data
assert data.tags == ["tiny", "generated_from_trainer"] and data.library_name == "transformers", data
assert data.model_name == 'tiny: "quoted"', data
print("understood")
)",
                                                           {folder.path()});
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Catch::Contains("understood"));
}

}  // namespace
}  // namespace hftrain::reporting
