// Scalars of files against what PyYAML makes of them, which scripts/golden/yaml_scalars.py has written down.
#include "hftrain/arguments/yaml_numbers.h"

#include <charconv>
#include <cmath>
#include <string>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/value.h"
#include "hftrain/arguments/yaml_json.h"
#include "hftrain/arguments/yaml_meaning.h"
#include "hftrain/base/text.h"
#include "support.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::arguments {
namespace {

Json scalars_of_pyyaml() {
  return read_json_file(testing::source_dir() + "/tests/golden/arguments/yaml_scalars.json")["cases"];
}

double double_of(const std::string& text) {
  double value = NAN;
  const char* const end = text.data() + text.size();
  return std::from_chars(text.data(), end, value).ptr == end ? value : NAN;
}

// What a flag makes of `text` in a file; null where it refuses it.
Json read_by(const char* flag, const std::string& text) {
  const Flag& row = flag_table().named(flag);
  const Result<Json> value = convert(row, meant_in_yaml(row, text, {""}), "");
  return std::holds_alternative<Json>(value) ? std::get<Json>(value) : Json();
}

}  // namespace

TEST_CASE("numbers of YAML are those of PyYAML, and no other scalar is taken for one") {
  int seen = 0;
  for (const Json& scalar : scalars_of_pyyaml()) {
    const std::string text = scalar["text"], kind = scalar["kind"], decimal = decimal_of_yaml(text);
    const std::string value = scalar.value("value", "");
    CAPTURE(text, kind, decimal, value);
    if (kind == "int" || (kind == "float" && std::isfinite(double_of(value)))) {
      CHECK(double_of(decimal) == double_of(value));
      if (kind == "int" && std::abs(double_of(value)) < 1e15) CHECK(std::stoll(decimal) == std::stoll(value));
      ++seen;
    } else {
      CHECK(decimal == text);
    }
  }
  CHECK(seen > 100);
}

TEST_CASE("flags of numbers and truth values take a file's as PyYAML reads them") {
  for (const Json& scalar : scalars_of_pyyaml()) {
    const std::string text = scalar["text"], kind = scalar["kind"], value = scalar.value("value", "");
    CAPTURE(text, kind, value);
    CHECK(read_by("run_name", text) == text);
    if (kind == "bool") CHECK(read_by("bf16", text) == (value == "True"));
    if (kind == "text" && to_lower(text).starts_with('o')) CHECK(read_by("bf16", text).is_null());
    if (kind == "int" && double_of(value) > 0 && double_of(value) < 1e9)
      CHECK(read_by("max_steps", text) == std::stoll(value));
    const bool finite = std::isfinite(double_of(value));
    if (kind == "float" && finite && double_of(value) >= 0)
      CHECK(read_by("learning_rate", text) == double_of(value));
    if (kind == "date" || (kind == "float" && !finite)) CHECK(read_by("learning_rate", text).is_null());
    CHECK(yaml_as_json("key: " + text, "x", ExitCode::kUsage)["key"].is_null() == (kind == "null"));
  }
}

TEST_CASE(
    "numbers of YAML 1.1 count without quotes, in mappings and choices too, and not on a command line") {
  const testing::TemporaryDirectory folder;
  const std::string file =
      write(folder / "run.yaml",
            "max_steps: 010\nsave_steps: '010'\nlearning_rate: 0_1\nlogging_steps: 1:30\nrun_name: 010\n"
            "accelerator_config: {gradient_accumulation_kwargs: {num_steps: 010}}\n");
  const Arguments read = parse({"--config", file, "--eval_steps", "010"}).arguments;
  CHECK(read.run.max_steps == 8);
  CHECK(read.saving.save_steps == 10);
  CHECK(read.optimizer.learning_rate == 1);
  CHECK(read.logging.logging_steps == 90);
  CHECK(read.logging.run_name == "010");
  CHECK(read.batch.gradient_accumulation_steps == 8);
  CHECK(read.evaluation.eval_steps == 10);
}

}  // namespace hftrain::arguments
