#include <cmath>
#include <limits>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/architectures/architecture.h"
#include "hftrain/architectures/gpt2.h"
#include "hftrain/architectures/llama.h"
#include "hftrain/architectures/stored_names.h"
#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::architectures {
namespace {

Gpt2Config gpt2_config(const std::shared_ptr<const Architecture>& architecture) {
  return dynamic_cast<const Gpt2Architecture&>(*architecture).config();
}

LlamaConfig llama_config(const std::shared_ptr<const Architecture>& architecture) {
  return dynamic_cast<const LlamaArchitecture&>(*architecture).config();
}

Json tiny_llama() {
  return Json::parse(R"({"model_type": "llama", "vocab_size": 64, "hidden_size": 16, "intermediate_size": 24,
      "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2})");
}

Error error_of_head(const Json& config, Head head) {
  try {
    Architecture::from_config(config, "config.json", head);
  } catch (const Error& error) {
    return error;
  }
  return Error(ExitCode::kDone, "no error");
}

Error error_of(const Json& config) {
  return error_of_head(config, Head::kCausalLm);
}

Error error_of(const std::string& model_type, const std::string& overrides) {
  try {
    Architecture::from_scratch(model_type, overrides);
  } catch (const Error& error) {
    return error;
  }
  return Error(ExitCode::kDone, "no error");
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("overrides take the type of the key they replace") {
  const auto gpt2 =
      Architecture::from_scratch("gpt2", "n_layer=4, n_head=4,n_embd=256,attn_pdrop=0,scale_attn_weights=No");
  CHECK(gpt2_config(gpt2).n_layer == 4);
  CHECK(gpt2_config(gpt2).attn_pdrop == 0);
  CHECK_FALSE(gpt2_config(gpt2).scale_attn_weights);
  CHECK(gpt2->config_json()["attn_pdrop"].is_number_float());
  CHECK(gpt2->config_json()["scale_attn_weights"] == false);
  CHECK(gpt2_config(gpt2).vocab_size == 50257);
}

TEST_CASE("the aliases of GPT-2 reach the same keys") {
  const auto gpt2 =
      Architecture::from_scratch("gpt2", "hidden_size=64,num_hidden_layers=3,num_attention_heads=4");
  CHECK(gpt2->hidden_size() == 64);
  CHECK(gpt2->layers() == 3);
  CHECK_FALSE(gpt2->config_json().contains("hidden_size"));
}

TEST_CASE("an alias in a config counts before the key that it stands for") {
  Json config = {{"model_type", "gpt2"}, {"n_embd", 64}, {"n_head", 4}, {"num_attention_heads", 2}};
  CHECK(gpt2_config(Architecture::from_config(config, "c")).n_head == 2);
  config["num_attention_heads"] = nullptr;
  CHECK(gpt2_config(Architecture::from_config(config, "c")).n_head == 4);
}

TEST_CASE("null defaults can be overridden and restored") {
  CHECK(gpt2_config(Architecture::from_scratch("gpt2", "n_inner=100")).n_inner == 100);
  CHECK(Architecture::from_scratch("gpt2", "n_inner=none")->config_json()["n_inner"].is_null());
  CHECK(llama_config(Architecture::from_scratch("mistral", "sliding_window=null")).sliding_window[0] ==
        std::nullopt);
}

TEST_CASE("values that depend on overridden keys are derived after the overrides") {
  const auto llama =
      Architecture::from_scratch("llama", "hidden_size=64,num_attention_heads=4,rope_theta=1e6");
  CHECK(llama_config(llama).head_dim == 16);
  CHECK(llama_config(llama).num_key_value_heads == 4);
  CHECK(llama_config(llama).rope.theta == 1e6);
  CHECK(llama->config_json()["rope_parameters"]["rope_theta"] == 1e6);
}

TEST_CASE("all wrong overrides are reported together, as a usage error with the nearest key") {
  const Error error = error_of("gpt2", "n_layers=4,n_head=four,resid_pdrop");
  CHECK(error.code() == ExitCode::kUsage);
  REQUIRE(error.diagnostics().size() == 3);
  CHECK(contains(error.diagnostics()[0].hint, "did you mean n_layer"));
  CHECK(contains(error.diagnostics()[1].what, "'n_head=four' is not a whole number"));
  CHECK(contains(error.diagnostics()[2].what, "not of the form key=value"));
}

TEST_CASE("overrides that do not fit together are a usage error") {
  CHECK(error_of("gpt2", "n_embd=100,n_head=3").code() == ExitCode::kUsage);
  CHECK(error_of("mistral", "num_attention_heads=4,hidden_size=64").code() ==
        ExitCode::kUsage);  // 8 key heads
  CHECK(error_of("gpt2", "n_layer=0").code() == ExitCode::kUsage);
  CHECK(error_of("llama", "layer_types=full_attention").code() == ExitCode::kUsage);
}

TEST_CASE("an unknown family is refused with the list of known ones") {
  const Error error = error_of("gtp2", "");
  CHECK(error.code() == ExitCode::kUsage);
  CHECK(contains(error.render(), "did you mean gpt2"));
  CHECK(contains(error.render(), "mistral"));
  CHECK(error_of(Json{{"model_type", "mamba"}}).code() == ExitCode::kData);
  CHECK(error_of(Json::object()).code() == ExitCode::kData);
  CHECK(error_of(Json::array()).code() == ExitCode::kData);
}

TEST_CASE("wrong types in config.json are data errors that name the keys") {
  Json config = tiny_llama();
  config["hidden_size"] = "16";
  config["tie_word_embeddings"] = 1;
  config["vocab_size"] = nullptr;
  const Error error = error_of(config);
  CHECK(error.code() == ExitCode::kData);
  CHECK(error.diagnostics().size() == 3);
  CHECK(contains(error.render(), "hidden_size must be a whole number"));
  CHECK(error.diagnostics()[0].where == "config.json");
}

TEST_CASE("what is not implemented is refused by name") {
  Json config = tiny_llama();
  config["rope_scaling"] = {{"rope_type", "longrope"}, {"factor", 4.0}};
  CHECK(contains(error_of(config).render(), "\"longrope\" is not implemented"));
  config = tiny_llama();
  config["hidden_act"] = "mish";
  CHECK(contains(error_of(config).render(), "'mish' is not implemented"));
  config = tiny_llama();
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 1e4}, {"partial_rotary_factor", 0.5}};
  CHECK(contains(error_of(config).render(), "partial rotary"));
  config = tiny_llama();
  config["rope_scaling"] = {{"rope_type", "llama3"}, {"factor", 8.0}};
  CHECK(contains(error_of(config).render(), "low_freq_factor"));
  config = tiny_llama();
  config["is_causal"] = true;
  CHECK_NOTHROW(Architecture::from_config(config, "c"));
  config["is_causal"] = false;
  CHECK(contains(error_of(config).render(), "is_causal is false"));
  CHECK(
      contains(error_of(Json{{"model_type", "gpt2"}, {"is_causal", false}}).render(), "is_causal is false"));
  CHECK(contains(error_of(Json{{"model_type", "gpt2"}, {"add_cross_attention", true}}).render(),
                 "cross attention"));
}

TEST_CASE("layer_types say which layers of a Mistral have a window, as of a Qwen") {
  Json config = tiny_llama();
  config["model_type"] = "mistral";
  config["sliding_window"] = 4;
  using Windows = std::vector<std::optional<int64_t>>;
  const auto windows = [&] { return llama_config(Architecture::from_config(config, "c")).sliding_window; };
  CHECK(windows() == Windows{4, 4});
  config["layer_types"] = {"full_attention", "sliding_attention"};
  CHECK(windows() == Windows{std::nullopt, 4});
  for (const char* family : {"mistral", "qwen2"}) {
    config["model_type"] = family;
    config["sliding_window"] = nullptr;
    CHECK(contains(error_of(config).render(), "names sliding_attention, and there is no window"));
  }
  config = tiny_llama();
  config["rope_parameters"] = {{"full_attention", {{"rope_theta", 50.0}}}};
  CHECK(contains(error_of(config).render(), "full_attention has its own"));
}

TEST_CASE("an attention that sees other tokens than its family's is refused") {
  const auto error = [](const char* model_type, Head head, const Json& value) {
    return error_of_head({{"model_type", model_type}, {"is_causal", value}}, head).render();
  };
  const std::string one_value = "an encoder and a decoder that attend alike are not implemented";
  for (const char* encoder : {"bert", "roberta", "distilbert"}) {
    CHECK(contains(error(encoder, Head::kMaskedLm, true), "is_causal is true"));
    CHECK(contains(error(encoder, Head::kMaskedLm, false), "no error"));
  }
  CHECK(contains(error("vit", Head::kImageClassification, true), "is_causal is true"));
  CHECK(contains(error("vit", Head::kImageClassification, Json()), "no error"));
  for (const char* both : {"t5", "bart"}) {
    for (const Json& value : {Json(true), Json(false), Json()})
      CHECK(contains(error(both, Head::kSeq2SeqLm, value), one_value));
  }
  CHECK(contains(error("gpt2", Head::kCausalLm, Json()), "is_causal is null"));
}

TEST_CASE("keys that make another model of any folder are refused") {
  for (const char* model_type : {"gpt2", "llama"}) {
    Json config = {{"model_type", model_type}};
    config["quantization_config"] = {{"quant_method", "gptq"}, {"bits", 4}};
    const Error error = error_of(config);
    CHECK(error.code() == ExitCode::kData);
    CHECK(contains(error.render(), "quantised weights are not implemented"));
    CHECK(contains(error.render(), "take the key out"));
    for (const Json& nothing : {Json(), Json::object()}) {
      config["quantization_config"] = nothing;
      CHECK_NOTHROW(Architecture::from_config(config, "c"));
    }
    config["per_layer_config"] = {{"0", {{"skip", {"mlp"}}}}};
    CHECK(contains(error_of(config).render(), "per_layer_config"));
    config.erase("per_layer_config");
    config["transformers_weights"] = "other.safetensors";
    CHECK(contains(error_of(config).render(), "transformers_weights"));
    config["transformers_weights"] = "model.safetensors";
    config["quantization_config"] = false;
    CHECK_NOTHROW(Architecture::from_config(config, "c"));
  }
}

TEST_CASE("a config may leave the bias of a head of tokens out") {
  Json config = tiny_llama();
  const auto last = [&] {
    return Architecture::from_config(config, "c", Head::kTokenClassification)
        ->parameters()
        .parameters.back()
        .name;
  };
  CHECK(last() == "score.bias");
  config["token_classification_bias"] = false;
  CHECK(last() == "score.weight");
}

TEST_CASE("sizes beyond all memory are refused before anything is made of them") {
  for (const char* layers : {"10001", "4611686018427387904", "18446744073709551615"}) {
    const Error error = error_of("gpt2", std::string("n_layer=") + layers);
    INFO(layers);
    CHECK(error.code() == ExitCode::kUsage);
  }
  for (const char* type : {"qwen2", "qwen3", "llama", "mistral"}) {
    INFO(type);
    const Error error = error_of(type, "num_hidden_layers=4611686018427387904");
    CHECK(contains(error.render(), "at most 10,000"));
  }
  CHECK(contains(error_of("gpt2", "vocab_size=4611686018427387904").render(), "at most 2,147,483,647"));
  // Each size alone is allowed; their products overflow.
  CHECK(contains(error_of("gpt2", "n_embd=2147483640,n_head=8").render(), "too many parameters"));
  CHECK(contains(error_of("llama",
                          "num_attention_heads=2147483646,num_key_value_heads=2147483646,"
                          "hidden_size=2147483646,head_dim=2147483646")
                     .render(),
                 "too many parameters"));
}

TEST_CASE("numbers out of range are refused, without dividing by zero") {
  for (const char* key : {"num_attention_heads", "num_key_value_heads", "hidden_size", "vocab_size"}) {
    Json config = tiny_llama();
    config[key] = 0;
    INFO(key);
    CHECK(error_of(config).code() == ExitCode::kData);
    config[key] = -3;
    CHECK(error_of(config).code() == ExitCode::kData);
  }
  Json config = tiny_llama();
  config["attention_dropout"] = 1.0;
  CHECK(error_of(config).code() == ExitCode::kData);
}

TEST_CASE("weights that all begin alike and norms that add nothing are of models, too") {
  struct FromZero {
    const char *family, *key;
    Head head;
  };
  for (const auto& [family, key, head] : {FromZero{"gpt2", "layer_norm_epsilon", Head::kCausalLm},
                                          {"llama", "rms_norm_eps", Head::kCausalLm},
                                          {"bert", "layer_norm_eps", Head::kMaskedLm},
                                          {"distilbert", "initializer_range", Head::kMaskedLm},
                                          {"vit", "layer_norm_eps", Head::kImageClassification},
                                          {"t5", "layer_norm_epsilon", Head::kSeq2SeqLm},
                                          {"bart", "init_std", Head::kSeq2SeqLm}}) {
    INFO(family);
    CHECK_NOTHROW(Architecture::from_scratch(family, std::string(key) + "=0", head));
    CHECK_REFUSED(Architecture::from_config({{"model_type", family}, {key, -1e-6}}, "c", head),
                  std::string(key) + " must be 0 or more");
  }
}

TEST_CASE("rope_scaling replaces rope_parameters, and a theta inside wins") {
  Json config = tiny_llama();
  config["rope_theta"] = 5.0;
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 7.0}};
  CHECK(llama_config(Architecture::from_config(config, "c")).rope.theta == 7.0);
  config["rope_scaling"] = {{"type", "linear"}, {"factor", 2}};
  const auto scaled = Architecture::from_config(config, "c");
  CHECK(llama_config(scaled).rope.theta == 5.0);
  CHECK(llama_config(scaled).rope.scaling == RopeScaling::kLinear);
  CHECK(llama_config(scaled).rope.factor == 2.0);
  config["rope_scaling"] = Json::object();
  config["rope_parameters"]["partial_rotary_factor"] = nullptr;
  CHECK(llama_config(Architecture::from_config(config, "c")).rope.theta == 7.0);
  config["partial_rotary_factor"] = 0.5;
  CHECK(contains(error_of(config).render(), "partial rotary"));
}

TEST_CASE("YaRN is read with its defaults, and dynamic RoPE bounds the positions") {
  Json config = tiny_llama();
  const auto read = [&](Json rope) {
    config["rope_scaling"] = std::move(rope);
    return llama_config(Architecture::from_config(config, "c")).rope;
  };
  config["max_position_embeddings"] = 64;
  RopeConfig rope = read({{"type", "yarn"}, {"factor", 4}});
  CHECK(rope.scaling == RopeScaling::kYarn);
  CHECK(rope.original_max_position == 64);
  CHECK((rope.beta_fast == 32 && rope.beta_slow == 1 && rope.truncate));
  CHECK(rope.attention_factor == Approx(0.1 * std::log(4) + 1));
  rope = read({{"type", "yarn"},
               {"factor", nullptr},
               {"original_max_position_embeddings", 8},
               {"beta_fast", nullptr},
               {"beta_slow", 0},
               {"truncate", false},
               {"mscale", 1},
               {"mscale_all_dim", 0.5}});
  CHECK(rope.factor == 8);
  CHECK((rope.beta_fast == 32 && rope.beta_slow == 1 && !rope.truncate));
  CHECK(rope.attention_factor == Approx((0.1 * std::log(8) + 1) / (0.05 * std::log(8) + 1)));
  CHECK(
      read({{"type", "yarn"}, {"factor", 2.0}, {"mscale", 1}, {"attention_factor", 0.5}}).attention_factor ==
      0.5);
  config["rope_scaling"] = {{"type", "yarn"}};
  CHECK(contains(error_of(config).render(), "needs the number factor"));
  config["rope_scaling"] = {{"type", "yarn"}, {"factor", 2}, {"beta_slow", -1}};
  CHECK(contains(error_of(config).render(), "beta_fast and beta_slow must be above 0"));
  CHECK(read({{"type", "dynamic"}, {"factor", 2}}).bounded);
  CHECK(Architecture::from_config(config, "c")->bounded_positions());
  CHECK_FALSE(Architecture::from_config(tiny_llama(), "c")->bounded_positions());
}

TEST_CASE("a RoPE whose two bounds are one, or turned round, has no angles between them") {
  Json config = tiny_llama();
  config["rope_scaling"] = {{"rope_type", "llama3"}, {"factor", 8.0}, {"low_freq_factor", 2.0}};
  for (const double high : {2.0, 1.0}) {
    config["rope_scaling"]["high_freq_factor"] = high;
    CHECK(llama_config(Architecture::from_config(config, "c")).rope.high_freq_factor == high);
  }
  for (const char* key : {"low_freq_factor", "high_freq_factor"}) {
    Json divided = config;
    divided["rope_scaling"][key] = 0.0;
    CHECK(contains(error_of(divided).render(), std::string(key) + " must be above 0"));
  }
}

TEST_CASE("a number that is not finite is read in both of its spellings, and written in one that is JSON") {
  Json config = tiny_llama();
  config["limit"] = double{INFINITY};
  config["more"] = {{"in", {1, -double{INFINITY}, {{"__float__", "NaN"}}}}, {"left", {{"__float__", "x"}}}};
  const auto opened = Architecture::from_config(config, "c");
  const Json written = opened->config_json();
  CHECK(written["limit"] == Json{{"__float__", "Infinity"}});
  CHECK(written["more"]["in"] == Json{1, {{"__float__", "-Infinity"}}, {{"__float__", "NaN"}}});
  CHECK(written["more"]["left"] == Json{{"__float__", "x"}});
  CHECK(Architecture::from_config(written, "c")->config_json() == written);
  config["rms_norm_eps"] = {{"__float__", "Infinity"}};
  CHECK(contains(error_of(config).render(), "it is Infinity"));
}

TEST_CASE("what transformers makes of a key counts before the other spelling of it") {
  const auto layers = [](const Json& keys) {
    Json config = {{"model_type", "t5"}};
    config.update(keys);
    const Json written = Architecture::from_config(config, "c", Head::kSeq2SeqLm)->config_json();
    return std::pair(written["num_layers"].get<int>(), written["num_decoder_layers"].get<int>());
  };
  CHECK(layers({{"num_layers", 3}}) == std::pair(3, 3));
  CHECK(layers({{"num_layers", 3}, {"num_hidden_layers", 2}}) == std::pair(2, 3));
  CHECK(layers({{"num_hidden_layers", 2}}) == std::pair(2, 6));
  CHECK(layers({{"num_hidden_layers", 2}, {"num_decoder_layers", 1}}) == std::pair(2, 1));
}

TEST_CASE("unknown keys are kept, a machine path is not") {
  Json config = tiny_llama();
  config["my_note"] = {{"a", 1}};
  config["_name_or_path"] = "/somewhere";
  const Json written = Architecture::from_config(config, "c")->config_json();
  CHECK(written["my_note"]["a"] == 1);
  CHECK_FALSE(written.contains("_name_or_path"));
}

TEST_CASE("a key that only other families have may have any value") {
  Json config = tiny_llama();
  config["use_sliding_window"] = true;
  config["sliding_window"] = "x";
  CHECK(Architecture::from_config(config, "c")->config_json()["sliding_window"] == "x");
  config = tiny_llama();
  config["model_type"] = "qwen2";
  config["attention_bias"] = "x";
  config["mlp_bias"] = 3;
  CHECK_FALSE(llama_config(Architecture::from_config(config, "c")).attention_bias);
  // Qwen2 honours this one, though its class does not name it.
  config["head_dim"] = 8;
  CHECK(llama_config(Architecture::from_config(config, "c")).head_dim == 8);
  config["head_dim"] = std::numeric_limits<uint64_t>::max();
  CHECK(error_of(config).code() == ExitCode::kData);
  CHECK(contains(error_of(config).render(), "head_dim"));
}

TEST_CASE("a RoPE setting that is no length or not finite is refused") {
  Json config = tiny_llama();
  config["rope_scaling"] = {
      {"rope_type", "llama3"}, {"factor", 8.0}, {"low_freq_factor", 1.0}, {"high_freq_factor", 4.0}};
  config["rope_scaling"]["original_max_position_embeddings"] = 64;
  CHECK(llama_config(Architecture::from_config(config, "c")).rope.original_max_position == 64);
  config["original_max_position_embeddings"] = 16;
  CHECK(llama_config(Architecture::from_config(config, "c")).rope.original_max_position == 16);
  config.erase("original_max_position_embeddings");
  for (const double length : {1e300, -1e300, 0.0, -5.0, std::nan(""), double{INFINITY}}) {
    INFO(length);
    config["rope_scaling"]["original_max_position_embeddings"] = length;
    CHECK(contains(error_of(config).render(), "original_max_position_embeddings"));
  }
  config["rope_scaling"]["original_max_position_embeddings"] = 64;
  config["rope_scaling"]["factor"] = double{INFINITY};
  CHECK(contains(error_of(config).render(), "factor must be finite"));
}

TEST_CASE("windows follow the family's rule") {
  Json config = tiny_llama();
  config["sliding_window"] = 8;
  CHECK(llama_config(Architecture::from_config(config, "c")).sliding_window[1] ==
        std::nullopt);  // llama has none
  config["model_type"] = "mistral";
  CHECK(llama_config(Architecture::from_config(config, "c")).sliding_window[1] == 8);
  config["model_type"] = "qwen2";
  CHECK(llama_config(Architecture::from_config(config, "c")).sliding_window[1] ==
        std::nullopt);  // not switched on
  config["use_sliding_window"] = true;
  config["max_window_layers"] = 1;
  const auto qwen = Architecture::from_config(config, "c");
  CHECK(llama_config(qwen).sliding_window[0] == std::nullopt);
  CHECK(llama_config(qwen).sliding_window[1] == 8);
  config["layer_types"] = {"full_attention"};
  CHECK(contains(error_of(config).render(), "layer_types"));
}

TEST_CASE("units are embeddings, blocks and head, and every parameter belongs to one in order") {
  const auto model = Architecture::from_config(tiny_llama(), "c");
  const ParameterTable& table = model->parameters();
  std::vector<std::string> units, repeated;
  for (const UnitSpec& unit : table.units) {
    units.push_back(unit.name);
    if (unit.repeated) repeated.push_back(unit.name);
  }
  CHECK(units == std::vector<std::string>{"embeddings", "block.0", "block.1", "head"});
  CHECK(repeated == std::vector<std::string>{"block.0", "block.1"});
  int last = 0;
  for (const ParameterSpec& parameter : table.parameters) {
    CHECK(parameter.unit >= last);
    last = parameter.unit;
  }
  CHECK(last == 3);
}

TEST_CASE("a last block that is computed at the first token alone keeps less") {
  const auto stacks = [](const std::string& dropout, int layers, Head head) {
    return Architecture::from_scratch(
               "bert",
               "hidden_size=8,intermediate_size=16,num_attention_heads=2,vocab_size=9,num_hidden_layers=" +
                   std::to_string(layers) +
                   ",attention_probs_dropout_prob=0.0,hidden_dropout_prob=" + dropout,
               head)
        ->stacks();
  };
  const auto ended = stacks("0.0", 3, Head::kSequenceClassification);
  REQUIRE(ended.size() == 2);
  CHECK(ended[0].layers == 2);
  CHECK(ended[0].block.linear == 8 * 8 + 2 * 16);
  CHECK_FALSE(ended[0].goes_on);
  CHECK(ended[1].layers == 1);
  CHECK(ended[1].block.linear == 3 * 8);
  CHECK(ended[1].goes_on);
  CHECK(stacks("0.1", 3, Head::kSequenceClassification).size() == 1);
  CHECK(stacks("0.0", 1, Head::kSequenceClassification).size() == 1);
  CHECK(stacks("0.0", 3, Head::kTokenClassification).size() == 1);
}

TEST_CASE("GPT-2's residual projections start smaller by the square root of twice the depth") {
  const auto gpt2 = Architecture::from_scratch("gpt2", "n_layer=8,initializer_range=0.1");
  for (const ParameterSpec& parameter : gpt2->parameters().parameters) {
    if (parameter.init.kind != InitKind::kNormal) continue;
    const bool residual = contains(parameter.name, "c_proj");
    CHECK(parameter.init.std == Approx(residual ? 0.1 / std::sqrt(16.0) : 0.1));
  }
}

TEST_CASE("published GPT-2 has the published size") {
  CHECK(Architecture::from_scratch("gpt2", "")->parameters().count() == 124'439'808);
}

TEST_CASE("labels are counted by their names, and two unnamed ones are not written") {
  const auto labels = [](Json keys) {
    Json config = tiny_llama();
    config.update(keys);
    return Architecture::from_config(config, "c", Head::kSequenceClassification);
  };
  CHECK(labels(Json::object())->labels().count == 2);
  CHECK_FALSE(labels({{"num_labels", 2}})->config_json().contains("id2label"));
  const auto named = labels({{"id2label", {{"0", "no"}, {"1", "yes"}}}, {"problem_type", "regression"}});
  CHECK(named->config_json()["label2id"]["yes"] == 1);
  CHECK(named->labels().problem == ProblemType::kRegression);
  CHECK(labels({{"num_labels", 7}})->config_json()["id2label"]["6"] == "LABEL_6");
  CHECK(labels({{"num_labels", 7}})->outputs() == 7);
  const auto left_over = labels({{"num_labels", 3}, {"id2label", {{"0", "no"}, {"1", "yes"}}}});
  CHECK(left_over->config_json()["id2label"]["2"] == "LABEL_2");
  CHECK(labels({{"num_labels", 2}, {"id2label", {{"0", "no"}, {"1", "yes"}}}})
            ->config_json()["id2label"]["1"] == "yes");
  for (const Json& bad : {Json{{"num_labels", 0}}, Json{{"num_labels", "three"}},
                          Json{{"id2label", {{"one", "yes"}}}}, Json{{"id2label", {{"+-1", "yes"}}}},
                          Json{{"id2label", {{"0", 5}}}}, Json{{"problem_type", "ranking"}}}) {
    INFO(bad);
    CHECK_REFUSED(labels(bad), bad.begin().key() + " must ");
  }
}

TEST_CASE("labels have the whole numbers that somebody gave them, and each counts") {
  Json config = tiny_llama();
  config["id2label"] = {{"0", "no"}, {"02", "maybe"}, {" +7 ", "yes"}, {"-1", "none"}};
  const auto named = Architecture::from_config(config, "c", Head::kSequenceClassification);
  CHECK(named->outputs() == 4);
  const Json written = named->config_json();
  CHECK(written["id2label"] == Json{{"0", "no"}, {"2", "maybe"}, {"7", "yes"}, {"-1", "none"}});
  CHECK(written["label2id"] == Json{{"no", 0}, {"maybe", 2}, {"yes", 7}, {"none", -1}});
}

TEST_CASE("a head that a family does not have is refused with those it has") {
  try {
    Architecture::from_config(tiny_llama(), "c", Head::kSeq2SeqLm);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK_THAT(error.render(),
               Catch::Contains("llama has no seq2seq_lm head") &&
                   Catch::Contains("causal_lm, sequence_classification, token_classification"));
  }
}

TEST_CASE("every refusal of a config is told in four parts") {
  std::vector<Error> refusals = {error_of("gtp2", ""),
                                 error_of("gpt2", "n_layers=4,zzzzzz=1,n_head=four,resid_pdrop"),
                                 error_of(Json::array()),
                                 error_of(Json::object()),
                                 error_of_head({{"model_type", "mamba"}}, Head::kMaskedLm),
                                 error_of_head({{"model_type", "gpt2"}}, Head::kMaskedLm)};
  for (const char* config :
       {R"({"hidden_size": "x"})", R"({"hidden_dropout_prob": 1})", R"({"layer_norm_eps": -1})",
        R"({"num_hidden_layers": 0})", R"({"hidden_act": "mish"})", R"({"hidden_size": 30})",
        R"({"is_decoder": true})", R"({"add_cross_attention": true})", R"({"pad_token_id": 30522})",
        R"({"id2label": {"a": "1"}})", R"({"num_labels": 0})", R"({"problem_type": "x"})"}) {
    Json keys = {{"model_type", "bert"}};
    keys.update(parse_json(config, "here"));
    refusals.push_back(error_of_head(keys, Head::kSequenceClassification));
  }
  for (const Error& error : refusals) {
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      INFO(error.render());
      CHECK_FALSE(diagnostic.what.empty());
      CHECK_FALSE(diagnostic.where.empty());
      CHECK_FALSE(diagnostic.why.empty());
      CHECK_FALSE(diagnostic.hint.empty());
    }
  }
}

TEST_CASE("the labels of another head do not become scores of answers") {
  Json config = {{"model_type", "bert"}, {"id2label", {{"0", "a"}, {"1", "b"}, {"2", "c"}}}};
  config["label2id"] = {{"a", 0}, {"b", 1}, {"c", 2}};
  const auto answers = Architecture::from_config(config, "c", Head::kQuestionAnswering);
  CHECK(answers->outputs() == 2);
  CHECK_FALSE(answers->config_json().contains("id2label"));
  CHECK_FALSE(answers->config_json().contains("label2id"));
  // Classes that give two scores whatever labels there are keep the names, as transformers does.
  for (const char* family : {"gpt2", "mistral"}) {
    config["model_type"] = family;
    const auto kept = Architecture::from_config(config, "c", Head::kQuestionAnswering);
    CHECK(kept->outputs() == 2);
    CHECK(kept->config_json()["label2id"] == config["label2id"]);
  }
  config = {{"model_type", "bert"}, {"id2label", {{"0", "start"}, {"1", "end"}}}};
  CHECK(Architecture::from_config(config, "c", Head::kQuestionAnswering)->config_json().contains("id2label"));
}

TEST_CASE("padding that an encoder counts from the end is a row of its table, as torch takes it") {
  Json config = {{"model_type", "bert"}, {"pad_token_id", -1}};
  const auto counted = Architecture::from_config(config, "c", Head::kMaskedLm);
  CHECK(counted->parameters().parameters.front().init.zero_row == 30521);
  CHECK(counted->config_json()["pad_token_id"] == -1);
}

TEST_CASE("an encoder refuses what would make it another model") {
  const auto refusal = [](const char* type, const Json& keys) {
    Json config = {{"model_type", type}};
    config.update(keys);
    return error_of_head(config, Head::kMaskedLm).render();
  };
  CHECK(contains(refusal("bert", {{"is_decoder", true}}), "as a decoder is not implemented"));
  CHECK(contains(refusal("roberta", {{"add_cross_attention", true}}), "add_cross_attention"));
  CHECK(contains(refusal("bert", {{"position_embedding_type", "relative_key"}}), "relative_key"));
  CHECK(contains(refusal("bert", {{"pad_token_id", 30522}}), "pad_token_id must be a token"));
  CHECK(contains(refusal("bert", {{"pad_token_id", -30523}}), "pad_token_id must be a token"));
  CHECK(contains(refusal("roberta", {{"max_position_embeddings", 2}}), "max_position_embeddings"));
  CHECK(contains(refusal("distilbert", {{"dropout", 1.5}}), "dropout must be at least 0"));
  CHECK(contains(refusal("bert", {{"classifier_dropout", "x"}}), "classifier_dropout must be a number"));
  const auto published = Architecture::from_config(
      {{"model_type", "roberta"}, {"max_position_embeddings", 514}}, "c", Head::kMaskedLm);
  CHECK(published->max_positions() == 512);
}

TEST_CASE("the head of a written config is found by its class") {
  CHECK(Architecture::head_of({{"architectures", {"Qwen3ForTokenClassification"}}}) ==
        Head::kTokenClassification);
  CHECK(Architecture::head_of({{"architectures", {"GPT2LMHeadModel"}}}) == Head::kCausalLm);
  for (const Json& other : {Json::object(), Json{{"architectures", nullptr}}, Json{{"architectures", {"X"}}}})
    CHECK_FALSE(Architecture::head_of(other));
}

TEST_CASE("the sides of images and patches are checked") {
  Json config = Json::parse(R"({"model_type": "vit", "hidden_size": 8, "num_attention_heads": 2})");
  const auto error = [&] {
    try {
      Architecture::from_config(config, "config.json", Head::kImageClassification);
    } catch (const Error& refused) {
      return refused.render();
    }
    return std::string("accepted");
  };
  CHECK(error() == "accepted");
  config["image_size"] = Json::array({8, 20});
  CHECK(contains(error(), "patch_size must not be larger"));
  config["image_size"] = Json::array({8, 0});
  CHECK(contains(error(), "image_size must be one side, or height and width"));
  config["image_size"] = Json::array({32, 32, 3});
  CHECK(contains(error(), "it is [32,32,3]"));
  config["image_size"] = "large";
  CHECK(contains(error(), "image_size must be a whole number or a list of them"));
}

TEST_CASE("what an image becomes") {
  const auto image =
      Architecture::from_scratch("vit", "image_size=32,patch_size=8", Head::kImageClassification)->image();
  REQUIRE(image);
  CHECK(image->tokens == 17);
  CHECK(image->numel() == 3 * 32 * 32);
  CHECK_FALSE(Architecture::from_scratch("gpt2", "")->image());
}

}  // namespace

TEST_CASE("An adapter that is not one of ours is refused with the reason that belongs to it") {
  const Json plain = {
      {"peft_type", "LORA"}, {"r", 4}, {"lora_alpha", 8}, {"target_modules", Json::array({"c_attn"})}};
  CHECK(adapter_from_json(plain, "adapter_config.json").rank == 4);
  struct Refused {
    const char* key;
    Json value;
    const char *what, *why;
  };
  const std::vector<Refused> cases = {
      {"peft_type", "IA3", "an adapter of the type \"IA3\"", "adapters here are LoRA"},
      {"use_dora", true, "use_dora of the adapter is not supported", "one rank and one scale for all"},
      {"rank_pattern", Json::object({{"c_attn", 2}}), "rank_pattern of the adapter",
       "one rank and one scale for all"},
      {"alpha_pattern", Json::object({{"c_attn", 2}}), "alpha_pattern of the adapter",
       "one rank and one scale"},
      {"exclude_modules", ".*0.*", "exclude_modules of the adapter", "beside each module that is named"},
      {"layers_to_transform", Json::array({0}), "layers_to_transform of the adapter",
       "each module that is named"},
      {"layers_to_transform", 1, "layers_to_transform of the adapter", "each module that is named"},
      {"layers_pattern", "layers", "layers_pattern of the adapter", "each module that is named"},
      {"trainable_token_indices", Json::array({5}), "trainable_token_indices of the adapter", "two matrices"},
      {"target_parameters", Json::array({"weight"}), "target_parameters of the adapter", "two matrices"},
      {"lora_bias", true, "lora_bias of the adapter", "two matrices"},
      {"modules_to_save", 3, "modules_to_save of the adapter is 3", "a value of another type"},
      {"bias", "all", "biases of its own", "here biases stay those of the base model"},
      {"target_modules", ".*c_attn", "is a regular expression", "by their names, or by endings of these"},
      {"init_lora_weights", "pissa", "the adapter began as \"pissa\"", "what it was trained beside"},
      {"r", "four", "r of the adapter is \"four\"", "a value of another type"},
      {"use_nora", true, "use_nora of the adapter is not known here: true", "peft 0.21 has no such key"},
      {"nora_config", Json::object({{"rank", 2}}), "nora_config of the adapter is not known",
       "may change what the adapter computes"},
      {"enable_lora", Json::array({true, false}), "enable_lora of the adapter is not known", "no such key"},
      {"r", 0, "missing or out of range", "a rank is 1 or more"}};
  for (const Refused& refused : cases) {
    INFO(refused.key << " " << refused.value.dump());
    Json config = plain;
    config[refused.key] = refused.value;
    CHECK_REFUSED(adapter_from_json(config, "adapter_config.json"), refused.what);
    CHECK_REFUSED(adapter_from_json(config, "adapter_config.json"), refused.why);
  }
  CHECK_REFUSED(adapter_from_json(Json::array(), "adapter_config.json"), "it is array");
}

TEST_CASE("Keys of an adapter that another release of peft has are told where they switch nothing on") {
  Json config = {{"peft_type", "LORA"},
                 {"r", 4},
                 {"target_modules", Json::array({"c_attn"})},
                 // As 0.21 writes them.
                 {"megatron_core", "megatron.core"},
                 {"qalora_group_size", 16},
                 {"revision", "v1"},
                 {"auto_mapping", Json::object({{"base_model_class", "X"}})},
                 {"loftq_config", Json::object()},
                 {"use_dora", false}};
  CHECK(unknown_adapter_keys(config).empty());
  config.update({{"use_nora", false}, {"nora_config", nullptr}, {"nora_words", ""}});
  CHECK(unknown_adapter_keys(config).empty());
  config.update({{"nora_size", 16}, {"nora_kind", "plain"}});
  CHECK(adapter_from_json(config, "adapter_config.json").rank == 4);
  CHECK(unknown_adapter_keys(config) == std::vector<std::string>{"nora_kind (\"plain\")", "nora_size (16)"});
}

TEST_CASE(
    "Modules of ViT are named for adapters as in memory and as in files, and told to peft as in memory") {
  Json config =
      Architecture::from_scratch("vit", "num_hidden_layers=2", Head::kImageClassification)->config_json();
  const auto with = [&](std::vector<std::string> targets, std::vector<std::string> saved) {
    AdapterSpec spec;
    spec.targets = std::move(targets);
    spec.saved_modules = std::move(saved);
    return Architecture::from_config(config, "config.json", Head::kImageClassification, spec);
  };
  const auto now = with({"q_proj", "mlp.fc2"}, {"classifier"}),
             before = with({"query", "1.output.dense", "0.output.dense"}, {"classifier"});
  const auto& halves = now->parameters().parameters;
  CHECK(halves.back().name == "vit.encoder.layer.1.output.dense.lora_B.weight");
  CHECK(name_in_memory(halves.back()) == "vit.layers.1.mlp.fc2.lora_B.weight");
  CHECK(name_in_memory(halves.front()) == halves.front().name);
  REQUIRE(halves.size() == before->parameters().parameters.size());
  for (const auto& architecture : {now, before}) {
    const Json told = adapter_config_json(architecture->parameters(), *architecture->adapter(), {"base"}, "");
    CHECK(told["target_modules"] == Json::array({"fc2", "q_proj"}));
    CHECK(told["modules_to_save"] == Json::array({"classifier"}));
  }
  const Json whole = adapter_config_json(with({"q_proj"}, {"0.intermediate"})->parameters(),
                                         *with({"q_proj"}, {"0.intermediate"})->adapter(), {"base"}, "");
  CHECK(whole["modules_to_save"] == Json::array({"vit.layers.0.mlp.fc1"}));

  const std::string of_now =
      R"({"target_modules": ["mlp.fc2", "q_proj"], "modules_to_save": ["classifier"]})";
  CHECK(with_names_in_memory(of_now, now->parameters(), *now->adapter()) == of_now);
  const std::string of_before = R"({"r": 3, "target_modules": ["query"], "modules_to_save": ["classifier"]})";
  const Json renamed = Json::parse(with_names_in_memory(of_before, before->parameters(), *before->adapter()));
  CHECK(renamed ==
        Json({{"r", 3}, {"target_modules", {"fc2", "q_proj"}}, {"modules_to_save", {"classifier"}}}));
}

}  // namespace hftrain::architectures
