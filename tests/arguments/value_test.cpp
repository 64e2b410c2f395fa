#include "hftrain/arguments/value.h"

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/mapping_keys.h"
#include "support.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::arguments {
namespace {

Json value(const char* flag, const Json& written) {
  const Result<Json> result = convert(flag_table().named(flag), written, "/home/me");
  if (const auto* error = std::get_if<ValueError>(&result)) return "error: " + error->what;
  return std::get<Json>(result);
}

bool fails(const char* flag, const Json& written) {
  const Json result = value(flag, written);
  return result.is_string() && result.get<std::string>().rfind("error: ", 0) == 0;
}

}  // namespace

TEST_CASE("booleans take the words of argparse in any letter case and no others") {
  for (const char* word : {"yes", "True", "t", "Y", "1", "TRUE"}) CHECK(value("fp16", word) == true);
  for (const char* word : {"no", "False", "F", "n", "0", "FALSE"}) CHECK(value("fp16", word) == false);
  for (const char* word : {"maybe", "", "2", "truee", "-1", "on", "OFF"}) CHECK(fails("fp16", word));
  CHECK(value("fp16", "maybe").get<std::string>() == "error: 'maybe' is not a truth value");
}

TEST_CASE("whole numbers are whole") {
  CHECK(value("seed", "7") == 7);
  CHECK(value("seed", "+7") == 7);
  CHECK(value("max_steps", "-1") == -1);
  for (const char* word : {"1e3", "7.0", "", "x", "7x", "0x10", "--7", "99999999999999999999"})
    CHECK(fails("seed", word));
  CHECK(fails("seed", 7.5));
}

TEST_CASE("numbers are read whether or not YAML would call them numbers") {
  CHECK(value("learning_rate", "5e-5") == 5e-5);
  CHECK(value("learning_rate", "3E-4") == 3e-4);
  CHECK(value("learning_rate", ".5") == 0.5);
  CHECK(value("learning_rate", 1) == 1.0);
  for (const char* word : {"nan", "inf", "-inf", "1e999", "1,5", "five"}) CHECK(fails("learning_rate", word));
}

TEST_CASE("ranges are checked at their edges") {
  CHECK(value("seed", "4294967295") == 4294967295);
  CHECK(fails("seed", "4294967296"));
  CHECK(fails("seed", "-1"));
  CHECK(value("adam_beta1", "0") == 0.0);
  CHECK(fails("adam_beta1", "1"));
  CHECK(fails("per_device_train_batch_size", "0"));
  CHECK(fails("validation_split_percentage", "0"));
  CHECK(fails("validation_split_percentage", "100"));
  CHECK(value("ddp_timeout", "1") == 1);
  CHECK(fails("ddp_timeout", "0"));
}

TEST_CASE("false is the word no where the flag has it, and no other word is") {
  for (const char* flag : {"eval_strategy", "include_num_input_tokens_seen", "mixed_precision"}) {
    INFO(flag);
    CHECK(value(flag, "no") == "no");
    CHECK(value(flag, false) == "no");
    CHECK(fails(flag, "off"));
  }
  for (const char* word : {"NO", "No", "false", "n", "f", "true", "0"}) {
    INFO(word);
    CHECK(fails("eval_strategy", word));
    CHECK(fails("mixed_precision", word));
  }
  // It takes a truth value beside its words.
  CHECK(value("include_num_input_tokens_seen", "False") == "no");
  CHECK(value("include_num_input_tokens_seen", "yes") == "all");
  CHECK(value("include_num_input_tokens_seen", true) == "all");
  CHECK(value("fsdp", "yes") == Json({"true"}));
  const ParseOutcome bare = parse({"--include_num_input_tokens_seen", "--max_steps", "3"});
  CHECK(bare.arguments.logging.include_num_input_tokens_seen == "all");
  CHECK(value("zero_stage", "0") == "0");
}

TEST_CASE("a wrong word lists the right ones") {
  CHECK(value("eval_strategy", "step").get<std::string>() == "error: 'step' is not one of no, steps, epoch");
  const auto result = convert(flag_table().named("eval_strategy"), "step", "");
  CHECK(std::get<ValueError>(result).hint == "did you mean steps?");
}

TEST_CASE("null unsets what can be unset") {
  CHECK(value("save_total_limit", nullptr).is_null());
  CHECK(value("save_total_limit", "null").is_null());
  CHECK(value("tf32", "None").is_null());
  CHECK(value("run_name", "None") == "None");
  CHECK(value("report_to", nullptr) == Json::array());
  CHECK(value("max_grad_norm", nullptr) == 0.0);
  CHECK(value("max_grad_norm", "null") == 0.0);
  CHECK(fails("seed", nullptr));
}

TEST_CASE("lists take one text, several, and where they may, commas") {
  CHECK(value("report_to", "none") == Json::array());
  CHECK(value("report_to", "csv, tensorboard") == Json({"csv", "tensorboard"}));
  CHECK(value("report_to", Json({"csv"})) == Json({"csv"}));
  CHECK(fails("report_to", Json({"none", "csv"})));
  CHECK(value("fsdp", "full_shard offload") == Json({"full_shard", "offload"}));
  CHECK(value("train_file", "a,b.txt") == Json({"a,b.txt"}));
  CHECK(value("train_file", Json({"~/a.txt", "b"})) == Json({"/home/me/a.txt", "b"}));
}

TEST_CASE("only a leading tilde is the home folder") {
  CHECK(value("output_dir", "~/runs") == "/home/me/runs");
  CHECK(value("output_dir", "~") == "/home/me");
  CHECK(value("output_dir", "~other/x") == "~other/x");
  CHECK(value("output_dir", "a~/x") == "a~/x");
}

TEST_CASE("mappings come as JSON text, as a file or as a mapping") {
  const Json expected = {{"split_batches", true}, {"even_batches", false}};
  CHECK(value("accelerator_config", "{\"split_batches\": \"True\", \"even_batches\": false}") == expected);
  CHECK(value("accelerator_config", Json{{"split_batches", "yes"}, {"even_batches", "0"}}) == expected);
  const testing::TemporaryDirectory folder;
  const std::string path = write(
      folder / "a.json", "{// comment\n\"split_batches\": true, \"even_batches\": \"false\", \"_note\": 1}");
  CHECK(value("accelerator_config", path) == expected);
  CHECK(fails("accelerator_config", folder / "missing.json"));
  CHECK(fails("accelerator_config", "{split_batches: true}"));
  CHECK(fails("accelerator_config", "{\"split_batches\": 3.5}"));
}

TEST_CASE("a key that the text of a mapping has twice is told") {
  const Flag& kwargs = flag_table().named("lr_scheduler_kwargs");
  const auto twice = convert(kwargs, R"({"num_cycles": 2, "num_cycles": 3})", "");
  REQUIRE(std::holds_alternative<ValueError>(twice));
  CHECK(std::get<ValueError>(twice).what == "key 'num_cycles' is given twice");
  CHECK(std::holds_alternative<Json>(convert(kwargs, R"({"a": {"b": 1}, "c": {"b": 1}})", "")));
}

TEST_CASE("a list of a file is the text with commas that the flag wants") {
  CHECK(std::get<Json>(convert(flag_table().named("gpu_ids"), Json::array({0, "1"}), "")) == "0,1");
}

TEST_CASE("text leaves of a mapping are converted by the type of their key") {
  const Key keys[] = {
      {.name = "rate", .type = Type::kFloat}, {.name = "count", .type = Type::kInt}, {.name = "name"}};
  const auto result = convert_mapping(keys, {{"rate", "1e-6"}, {"count", "-3"}, {"name", "12"}});
  CHECK(std::get<Json>(result) == Json{{"rate", 1e-6}, {"count", -3}, {"name", "12"}});
}

TEST_CASE("an unknown key names the nearest one and its place") {
  const auto result = convert(flag_table().named("accelerator_config"),
                              {{"gradient_accumulation_kwargs", {{"num_step", 2}}}}, "");
  const auto& error = std::get<ValueError>(result);
  CHECK(error.what == "unknown key 'num_step'");
  CHECK(error.hint == "did you mean num_steps?");
  CHECK(error.pointer == "/gradient_accumulation_kwargs/num_step");
}

TEST_CASE("what is written as YAML reads back as the same text") {
  for (const char* text : {"no", "true", "1e-5", "", "a: b", "a #b", "*x", "5", "null", "~", "- a", "ä",
                           "a,b", "C:\\x", "x:", " x"}) {
    CHECK(to_yaml(Json(text)).front() == '"');
  }
  CHECK(to_yaml("runs/flat") == "runs/flat");
  CHECK(to_yaml("./a.txt") == "./a.txt");
  CHECK(to_yaml(Json({{"min_lr_rate", 0.1}})) == "{min_lr_rate: 0.1}");
  CHECK(to_yaml(Json({"a", "no"})) == "[a, \"no\"]");
  CHECK(to_yaml(nullptr) == "null");
}

TEST_CASE("what is written to a file is read alike by YAML 1.1") {
  for (const char* text : {"1:1", "2:4", "1:30:00", "2021-01-01", "0x1f", "0b1", "1_000", "1_000.5", ".inf",
                           "-.INF", ".NaN", ".5_0"}) {
    CHECK(to_yaml_of_file(Json(text)) == '"' + std::string(text) + '"');
  }
  for (const char* text : {"localhost:29500", "10.0.0.1:29500", "2021", "runs/1", "1.5.2"})
    CHECK(to_yaml_of_file(Json(text)) == to_yaml(Json(text)));
  CHECK(to_yaml_of_file(Json("a\xc2\x85"
                             "b")) == "\"a\\u0085b\"");
  CHECK(to_yaml_of_file("1_" + std::string(200'000, '0') + "x").front() == '"');
  CHECK(to_yaml_of_file(5e-5) == "5.0e-05");
  CHECK(to_yaml_of_file(1.5e-7) == "1.5e-07");
  CHECK(to_yaml_of_file(Json({{"min_lr", 1e-6}})) == "{min_lr: 1.0e-06}");
  CHECK(to_yaml(5e-5) == "5e-05");
}

}  // namespace hftrain::arguments
