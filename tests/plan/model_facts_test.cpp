#include "hftrain/plan/model_facts.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/plan/adapter_folder.h"
#include "hftrain/plan/hub_cache.h"
#include "resolve_case.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::plan {
namespace {

using hftrain::testing::TemporaryDirectory;

constexpr const char* kConfig =
    R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 2, "vocab_size": 16})";

std::string safetensors(const std::string& header) {
  std::string bytes(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header;
}

void write_model(const std::string& folder) {
  write_file_atomically(folder + "/config.json", kConfig);
  write_file_atomically(folder + "/model.safetensors", safetensors("{}"));
  write_file_atomically(folder + "/tokenizer.json", "{}");
}

std::string empty_tensor(const std::string& dtype) {
  return R"({"dtype": ")" + dtype + R"(", "shape": [0], "data_offsets": [0, 0]})";
}

Error error_of(const arguments::Arguments& arguments, const Environment& env = {}) {
  try {
    load_model_facts(arguments, env);
  } catch (const Error& error) {
    return error;
  }
  return Error(ExitCode::kDone, "no error");
}

TEST_CASE("the cache folder follows the hub's variables in their order") {
  Environment env = environment_of({{"HOME", "/home/u"}});
  CHECK(hub_cache_folder(std::nullopt, env) == "/home/u/.cache/huggingface/hub");
  env.set("XDG_CACHE_HOME", "/xdg");
  CHECK(hub_cache_folder(std::nullopt, env) == "/xdg/huggingface/hub");
  env.set("HF_HOME", "/hf");
  CHECK(hub_cache_folder(std::nullopt, env) == "/hf/hub");
  env.set("HF_HOME", "~/hf");
  CHECK(hub_cache_folder(std::nullopt, env) == "/home/u/hf/hub");
  env.set("HF_HOME", "/hf");
  env.set("HF_HUB_CACHE", "/cache");
  CHECK(hub_cache_folder(std::nullopt, env) == "/cache");
  env.set("HF_HUB_CACHE", "");  // empty counts as unset
  CHECK(hub_cache_folder(std::nullopt, env) == "/hf/hub");
  CHECK(hub_cache_folder("/flag", env) == "/flag");
}

TEST_CASE("hub names are told from paths") {
  for (const char* name : {"gpt2", "openai-community/gpt2", "Qwen/Qwen2.5-0.5B"}) CHECK(is_hub_name(name));
  for (const char* path : {"", "/abs/gpt2", "./gpt2", "../gpt2", "a/b/c", "a//b", "~/gpt2", "a b"}) {
    INFO(path);
    CHECK_FALSE(is_hub_name(path));
  }
}

TEST_CASE("a revision is a reference to a commit, or a commit") {
  TemporaryDirectory cache;
  const std::string repository = cache / "models--org--name";
  write_file_atomically(repository + "/refs/main", "abc123\n");
  write_model(repository + "/snapshots/abc123");
  CHECK(find_snapshot(cache.path(), "org/name", "main") == repository + "/snapshots/abc123");
  CHECK(find_snapshot(cache.path(), "org/name", "abc123") == repository + "/snapshots/abc123");
  CHECK_FALSE(find_snapshot(cache.path(), "org/name", "dev"));
  CHECK_FALSE(find_snapshot(cache.path(), "org/other", "main"));
  write_file_atomically(repository + "/refs/broken", "");
  CHECK_FALSE(find_snapshot(cache.path(), "org/name", "broken"));
}

TEST_CASE("a name in the cache is a model with weights and tokenizer") {
  TemporaryDirectory cache;
  const std::string snapshot = cache / "models--tiny/snapshots/c1";
  write_file_atomically(cache / "models--tiny/refs/main", "c1");
  write_model(snapshot);
  arguments::Arguments arguments;
  arguments.model.model_name_or_path = "tiny";
  const ModelFacts facts = load_model_facts(arguments, environment_of({{"HF_HUB_CACHE", cache.path()}}));
  CHECK(facts.source_folder == snapshot);
  CHECK(facts.hub_name == "tiny");
  CHECK(facts.tokenizer_folder == snapshot);
  CHECK(facts.architecture->vocab_size() == 16);
  CHECK_FALSE(facts.tokenizer_max_length);
  CHECK(facts.tokenizer_class.empty());
  write_file_atomically(snapshot + "/tokenizer_config.json",
                        R"({"tokenizer_class": "MBartTokenizer", "model_max_length": 77})");
  const ModelFacts told = load_model_facts(arguments, environment_of({{"HF_HUB_CACHE", cache.path()}}));
  CHECK(told.tokenizer_class == "MBartTokenizer");
  CHECK(told.tokenizer_max_length == 77);
}

TEST_CASE("an output matrix that the files keep apart is one of its own, whatever the config says") {
  struct Held {
    Held(char value) : bytes(1, value) {}
    Held(const char* type, std::string of) : dtype(type), bytes(std::move(of)) {}
    const char* dtype = "I8";
    std::string bytes;
  };
  std::optional<std::string> asked;  // --dtype
  const auto told = [&](const std::string& config, const std::map<std::string, Held>& tensors) {
    TemporaryDirectory folder;
    write_model(folder.path());
    write_file_atomically(folder / "config.json", config);
    Json header = Json::object();
    std::string bytes;
    for (const auto& [name, held] : tensors) {
      const size_t end = bytes.size() + held.bytes.size();
      header[name] = {{"dtype", held.dtype}, {"shape", {1}}, {"data_offsets", {bytes.size(), end}}};
      bytes += held.bytes;
    }
    write_file_atomically(folder / "model.safetensors", safetensors(header.dump()) + bytes);
    arguments::Arguments arguments;
    arguments.model.model_name_or_path = folder.path();
    arguments.model.dtype = asked;
    const Json json = Json::parse(config);
    const auto head = architectures::Architecture::head_of(json).value_or(architectures::Head::kCausalLm);
    try {
      const ModelFacts facts = load_model_facts(arguments, {}, FilesNeeded::kOfPlan, head);
      const bool tied = facts.architecture->config_json().at("tie_word_embeddings").get<bool>();
      CHECK(tied != facts.has_own_matrix);
      return std::string(tied ? "tied" : "apart");
    } catch (const Error& refused) {
      return refused.render();
    }
  };
  const std::string gpt2 = kConfig;
  CHECK(contains(told(gpt2, {{"transformer.wte.weight", 1}, {"lm_head.weight", 2}}), "apart"));
  CHECK(contains(told(gpt2, {{"wte.weight", 1}, {"lm_head.weight", 2}}), "apart"));
  CHECK(contains(told(gpt2, {{"transformer.wte.weight", 1}, {"lm_head.weight", 1}}), "tied"));
  CHECK(contains(told(gpt2, {{"transformer.wte.weight", 1}}), "tied"));
  // Numbers are compared, as by torch.equal: neither another type nor the sign of a zero makes another one.
  const auto of_types = [&](const Held& words, const Held& matrix) {
    return told(gpt2, {{"transformer.wte.weight", words}, {"lm_head.weight", matrix}});
  };
  const std::string zero(4, '\0'), minus_zero("\0\0\0\x80", 4), one("\0\0\x80\x3f", 4);
  CHECK(of_types({"F32", one}, {"BF16", std::string("\x80\x3f", 2)}) == "tied");
  CHECK(of_types({"F64", std::string("\0\0\0\0\0\0\xf0\x3f", 8)}, {"F32", one}) == "tied");
  CHECK(of_types({"F32", zero}, {"F32", minus_zero}) == "tied");
  CHECK(of_types({"F32", zero}, {"BF16", std::string("\x80\x3f", 2)}) == "apart");
  // In the type that the model is opened in.
  const auto near_one = [&](const std::string& key, const std::string& dtype) {
    Json config = Json::parse(gpt2);
    if (!key.empty()) config[key] = dtype;
    return told(config.dump(), {{"transformer.wte.weight", {"F32", std::string("\0\x20\x80\x3f", 4)}},
                                {"lm_head.weight", {"BF16", std::string("\x80\x3f", 2)}}});
  };
  CHECK(near_one("dtype", "bfloat16") == "tied");
  CHECK(near_one("torch_dtype", "torch.bfloat16") == "tied");
  CHECK(near_one("dtype", "float32") == "apart");
  CHECK(near_one("", "") == "tied");  // that of the first of the files' numbers
  asked = "float32";
  CHECK(near_one("dtype", "bfloat16") == "apart");
  asked = "bfloat16";
  CHECK(near_one("dtype", "float32") == "tied");
  asked.reset();
  const std::string bert =
      R"({"model_type": "bert", "architectures": ["BertForMaskedLM"], "num_hidden_layers": 1})";
  const std::string matrix = "cls.predictions.decoder.weight",
                    words = "bert.embeddings.word_embeddings.weight";
  CHECK(contains(told(bert, {{matrix, 1}, {words, 2}}), "which they lack"));
  const std::string bart =
      R"({"model_type": "bart", "architectures": ["BartForConditionalGeneration"], "encoder_layers": 1, "decoder_layers": 1})";
  const std::string refused = told(bart, {{"lm_head.weight", 1}, {"model.shared.weight", 2}});
  CHECK(contains(refused, "'model.shared.weight' and 'lm_head.weight' are tied but differ in the files"));
  CHECK(contains(refused, "bart with an output matrix of its own is not implemented"));
}

TEST_CASE(
    "a tokenizer gives types of tokens where its config or its class does, as in transformers of then and "
    "now") {
  TemporaryDirectory folder;
  write_model(folder.path());
  const auto given = [&](const char* config, const char* model_type,
                         std::optional<std::string> release = {}) {
    write_file_atomically(folder / "config.json",
                          std::string(R"({"vocab_size": 16, "model_type": ")") + model_type + "\"}");
    write_file_atomically(folder / "tokenizer_config.json", config);
    arguments::Arguments arguments;
    arguments.model.model_name_or_path = folder.path();
    arguments.interface.hf_compat = release;
    return load_model_facts(arguments, {}, FilesNeeded::kOfRun, architectures::Head::kSequenceClassification)
        .tokenizer_names_types;
  };
  const char* generic = R"({"tokenizer_class": "PreTrainedTokenizerFast"})";
  CHECK_FALSE(given(generic, "bert"));
  CHECK(given(generic, "bert", "4.57"));
  CHECK(given("{}", "bert"));
  CHECK_FALSE(given("{}", "roberta"));
  CHECK(given(R"({"tokenizer_class": "BertTokenizerFast"})", "roberta"));
  CHECK_FALSE(given(R"({"tokenizer_class": "RobertaTokenizer"})", "bert"));
  CHECK(given(R"({"tokenizer_class": "X", "model_input_names": ["token_type_ids"]})", "bert"));
  CHECK_FALSE(given(R"({"model_input_names": ["input_ids"]})", "bert"));
}

TEST_CASE("a folder has no name on the Hub, and completion's slash behind it is not of its name") {
  TemporaryDirectory cache;
  write_model(cache / "models/small");
  arguments::Arguments arguments;
  arguments.model.model_name_or_path = cache / "models/small/";
  const ModelFacts facts = load_model_facts(arguments, environment_of({{"HF_HUB_CACHE", cache.path()}}));
  CHECK(facts.source_folder == cache / "models/small");
  CHECK(facts.hub_name.empty());
}

TEST_CASE("an adapter's base keeps its name on the Hub and the revision that it was opened in") {
  TemporaryDirectory cache, adapter;
  const std::string repository = cache / "models--org--base";
  write_file_atomically(repository + "/refs/v2", "c2");
  write_model(repository + "/snapshots/c2");
  write_file_atomically(
      adapter / "adapter_config.json",
      R"({"base_model_name_or_path": "org/base", "target_modules": ["c_attn"], "revision": "v2"})");
  write_file_atomically(adapter / "adapter_model.safetensors", safetensors("{}"));
  arguments::Arguments arguments;
  arguments.model.model_name_or_path = adapter.path();
  const ModelFacts facts = load_model_facts(arguments, environment_of({{"HF_HUB_CACHE", cache.path()}}));
  CHECK(facts.source_folder == repository + "/snapshots/c2");
  CHECK(facts.hub_name == "org/base");
  CHECK(facts.hub_revision == "v2");
}

TEST_CASE(
    "a matrix that an adapter's file holds under both names with the same numbers is one, whatever peft "
    "says") {
  TemporaryDirectory base, adapter;
  write_model(base.path());
  const Json config = {{"base_model_name_or_path", base.path()},
                       {"target_modules", {"c_attn"}},
                       {"modules_to_save", {"wte", "lm_head"}},
                       {"ensure_weight_tying", false},
                       {"peft_version", "0.21.2"}};
  write_file_atomically(adapter / "adapter_config.json", config.dump());
  arguments::Arguments arguments;
  arguments.model.model_name_or_path = adapter.path();
  const auto facts_of = [&](const std::string& held, const char* second) {
    Json header = Json::object();
    int64_t end = 0;
    for (const std::string name : {"transformer.wte.weight", second}) {
      header["base_model.model." + name] = {
          {"dtype", "I8"}, {"shape", {1}}, {"data_offsets", {end, end + 1}}};
      ++end;
    }
    write_file_atomically(adapter / "adapter_model.safetensors", safetensors(header.dump()) + held);
    return load_model_facts(arguments, {});
  };
  const ModelFacts same = facts_of("aa", "lm_head.weight");
  CHECK(same.adapter->tied_as_one);
  CHECK(same.adapter_shapes.at("base_model.model.lm_head.weight").shape == std::vector<int64_t>{1});
  CHECK_FALSE(facts_of("ab", "lm_head.weight").adapter->tied_as_one);
  CHECK_FALSE(facts_of("aa", "head.weight").adapter->tied_as_one);
  std::filesystem::remove(adapter / "adapter_model.safetensors");
  CHECK(contains(error_of(arguments).render(), "adapter_model.safetensors"));
  CHECK(load_model_facts(arguments, {}, FilesNeeded::kOfPlan).missing ==
        std::vector<std::string>{adapter / "adapter_model.safetensors"});
}

TEST_CASE("an adapter's base model is of the revision that it was made beside, unless another one is said") {
  TemporaryDirectory cache, adapter;
  const std::string repository = cache / "models--org--base";
  write_file_atomically(repository + "/refs/main", "c1");
  write_file_atomically(repository + "/refs/v2", "c2");
  for (const char* commit : {"c1", "c2"}) write_model(repository + "/snapshots/" + commit);
  const auto base = [&](const std::string& revision, const std::string& asked) {
    write_file_atomically(
        adapter / "adapter_config.json",
        R"({"base_model_name_or_path": "org/base", "target_modules": ["c_attn"], "revision": )" + revision +
            '}');
    return std::filesystem::path(open_folder(adapter.path(), asked, {cache.path(), ""}).weights)
        .filename()
        .string();
  };
  CHECK(base("null", "main") == "c1");
  CHECK(base("\"\"", "main") == "c1");
  CHECK(base("\"v2\"", "main") == "c2");
  CHECK(base("\"v2\"", "c1") == "c1");
  const auto config = [&](const std::string& asked) {
    return parse_json(open_folder(adapter.path(), asked, {cache.path(), ""}).config, "config");
  };
  CHECK(config("main")["revision"] == "v2");
  CHECK(config("c1")["revision"] == "c1");
  base("null", "main");
  CHECK(config("main")["revision"].is_null());
  CHECK(config("v2")["revision"] == "v2");
  // One of the Hub was chosen by the revision that is asked for, and names its base's itself.
  const std::string snapshot = cache / "models--org--adapter/snapshots/c9";
  write_file_atomically(
      snapshot + "/adapter_config.json",
      R"({"base_model_name_or_path": "org/base", "target_modules": ["c_attn"], "revision": "v2"})");
  CHECK(open_folder(snapshot, "c1", {cache.path(), ""}).weights.ends_with("/c2"));
  CHECK_REFUSED(base("\"v3\"", "main"), "hftrain fetch org/base --revision v3");
  CHECK_REFUSED(base("3", "main"), "does not say which revision");
}

TEST_CASE("a model that is nowhere names the command that would fetch it") {
  arguments::Arguments arguments;
  arguments.model.model_name_or_path = "org/absent";
  arguments.model.model_revision = "v2";
  const Error error = error_of(arguments, environment_of({{"HF_HUB_CACHE", "/nowhere"}}));
  CHECK(error.code() == ExitCode::kData);
  CHECK(contains(error.render(), "hftrain fetch org/absent --revision v2"));
  CHECK(contains(error.render(), "the cache is /nowhere (by HF_HUB_CACHE)"));
  CHECK(contains(error_of(arguments, environment_of({{"HF_HOME", "/hf"}})).render(), "/hf/hub (by HF_HOME)"));
  CHECK(
      contains(error_of(arguments, environment_of({{"HOME", "/u"}})).render(),
               "/u/.cache/huggingface/hub (no variable is set; HF_HUB_CACHE or HF_HOME names another one)"));
  arguments.model.cache_dir = "/flag";
  const std::string by_flag = error_of(arguments, environment_of({{"HF_HOME", "/hf"}})).render();
  CHECK(contains(by_flag, "the cache is /flag (by --cache_dir)"));
  CHECK(contains(by_flag, "`hftrain fetch org/absent --revision v2 --cache_dir /flag`"));
  arguments.model.model_name_or_path = "/no/such/folder";
  CHECK(contains(error_of(arguments).render(), "the folder does not exist"));
  const TemporaryDirectory folder;
  std::filesystem::create_symlink("circle", folder / "circle");
  arguments.model.model_name_or_path = folder / "circle";
  CHECK(contains(error_of(arguments).render(), "a path cannot be looked at"));
  std::filesystem::create_symlink("models--org--absent", folder / "models--org--absent");
  arguments.model.model_name_or_path = "org/absent";
  arguments.model.cache_dir = folder.path();
  CHECK(contains(error_of(arguments).render(), "a path cannot be looked at"));
  write_file_atomically(folder / "model/config.json", "{}");
  arguments.model.model_name_or_path = folder / "model/config.json";
  CHECK(contains(error_of(arguments).render(), "name the folder that it lies in: " + folder / "model"));
}

TEST_CASE("an empty generation config is told, and not taken for none") {
  TemporaryDirectory folder;
  write_model(folder.path());
  write_file_atomically(folder / "model.safetensors", safetensors(R"({"a": )" + empty_tensor("F32") + "}"));
  write_file_atomically(folder / "generation_config.json", " \n");
  arguments::Arguments arguments;
  arguments.model.model_name_or_path = folder.path();
  const Diagnostic told = error_of(arguments).diagnostics().front();
  CHECK(told.what == "the generation config is empty");
  CHECK(told.where == folder / "generation_config.json");
  CHECK_FALSE(told.why.empty());
  CHECK_FALSE(told.hint.empty());
}

TEST_CASE("an output matrix that a file keeps apart from the embedding is one of the model's own") {
  TemporaryDirectory folder;
  write_model(folder.path());
  write_file_atomically(
      folder / "config.json",
      R"({"model_type": "t5", "d_model": 8, "d_kv": 4, "num_heads": 2, "d_ff": 8, "num_layers": 1,
                            "vocab_size": 16, "tie_word_embeddings": false})");
  arguments::Arguments arguments;
  arguments.model.model_name_or_path = folder.path();
  const auto outputs_are_own = [&](const std::string& numbers) {
    const std::string header = R"({"lm_head.weight": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},)"
                               R"( "shared.weight": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})";
    write_file_atomically(folder / "model.safetensors", safetensors(header) + numbers);
    const ModelFacts facts =
        load_model_facts(arguments, {}, FilesNeeded::kOfRun, architectures::Head::kSeq2SeqLm);
    const Json config = facts.architecture->config_json();
    CHECK(config["scale_decoder_outputs"] == false);
    const bool own = facts.architecture->parameters().parameters.back().name == "lm_head.weight";
    CHECK(config["tie_word_embeddings"] == !own);
    return own;
  };
  CHECK(outputs_are_own("abcdefgh"));
  CHECK_FALSE(outputs_are_own("abcdabcd"));
}

TEST_CASE("a family whose output matrix transformers always ties is tied unless the files have another one") {
  TemporaryDirectory folder;
  write_model(folder.path());
  arguments::Arguments arguments;
  arguments.model.model_name_or_path = folder.path();
  const auto opened = [&](const char* tie, const std::string& outputs) {
    write_file_atomically(
        folder / "config.json",
        R"({"model_type": "t5", "d_model": 8, "d_kv": 4, "num_heads": 2, "d_ff": 8, "num_layers": 1,
            "vocab_size": 16, "scale_decoder_outputs": true, "tie_word_embeddings": )" +
            std::string(tie) + '}');
    const std::string shared = R"("shared.weight": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]})";
    const std::string own = R"("lm_head.weight": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]})";
    write_file_atomically(
        folder / "model.safetensors",
        safetensors('{' + shared + (outputs.empty() ? "}" : ',' + own + '}')) + "abcd" + outputs);
    const ModelFacts facts =
        load_model_facts(arguments, {}, FilesNeeded::kOfRun, architectures::Head::kSeq2SeqLm);
    CHECK(facts.has_own_matrix == (tie == std::string("null") && outputs == "efgh"));
    const Json config = facts.architecture->config_json();
    CHECK(config["scale_decoder_outputs"] == true);
    CHECK(std::ranges::count(facts.lacking, "lm_head.weight") == 0);
    return config["tie_word_embeddings"].get<bool>();
  };
  for (const char* tie : {"false", "null"}) {
    INFO(tie);
    CHECK(opened(tie, ""));
    CHECK(opened(tie, "abcd"));
    CHECK_FALSE(opened(tie, "efgh"));
  }
}

TEST_CASE("what the files lack is known, whichever names they have for the rest") {
  TemporaryDirectory folder;
  write_model(folder.path());
  write_file_atomically(folder / "config.json",
                        R"({"model_type": "bert", "num_hidden_layers": 1, "vocab_size": 16})");
  std::string header;
  for (const char* name : {"word_embeddings.weight", "position_embeddings.weight",
                           "token_type_embeddings.weight", "LayerNorm.gamma", "LayerNorm.beta"})
    header +=
        (header.empty() ? "{" : ",") + std::string(R"("embeddings.)") + name + R"(": )" + empty_tensor("F32");
  write_file_atomically(folder / "model.safetensors", safetensors(header + '}'));
  arguments::Arguments arguments;
  arguments.model.model_name_or_path = folder.path();
  const auto lacking = [&](const std::string& part) {
    const ModelFacts facts =
        load_model_facts(arguments, {}, FilesNeeded::kOfRun, architectures::Head::kSequenceClassification);
    return std::ranges::count_if(
        facts.lacking, [&](const std::string& name) { return name.find(part) != std::string::npos; });
  };
  CHECK(lacking("embeddings") == 0);
  CHECK(lacking("bert.encoder.layer.0.") == 16);
  CHECK(lacking("bert.pooler.dense.") == 2);
  CHECK(lacking("classifier.") == 2);
  CHECK(lacking("") == 20);
}

TEST_CASE("the shapes of the files are known, all shards or none") {
  TemporaryDirectory folder;
  write_model(folder.path());
  std::filesystem::remove(folder / "model.safetensors");
  write_file_atomically(folder / "model.safetensors.index.json",
                        R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
  const auto one_tensor = [&](const std::string& name) {
    return safetensors(R"({")" + name + R"(": {"dtype": "F32", "shape": [0, 3], "data_offsets": [0, 0]}})");
  };
  write_file_atomically(folder / "one.safetensors", one_tensor("a"));
  arguments::Arguments arguments;
  arguments.model.model_name_or_path = folder.path();
  CHECK(contains(error_of(arguments).render(), "a shard of the weights is missing"));
  CHECK(load_model_facts(arguments, {}, FilesNeeded::kOfPlan).stored_shapes.empty());
  write_file_atomically(folder / "two.safetensors", one_tensor("b"));
  const StoredShapes shapes = load_model_facts(arguments, {}).stored_shapes;
  REQUIRE(shapes.size() == 2);
  CHECK(shapes.at("b").shape == std::vector<int64_t>{0, 3});
  CHECK(shapes.at("b").file == "two.safetensors");
}

TEST_CASE("a folder without weights, or with pickled ones, says what to do") {
  TemporaryDirectory folder;
  write_file_atomically(folder / "config.json", kConfig);
  arguments::Arguments arguments;
  arguments.model.model_name_or_path = folder.path();
  CHECK(contains(error_of(arguments).render(), "--config_name"));
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    write_file_atomically(folder / name, "{}");
    CHECK(contains(error_of(arguments).render(), "pickle"));
    CHECK(error_of(arguments).code() == ExitCode::kData);
    std::filesystem::remove(folder / name);
  }
}

TEST_CASE("from scratch the tokenizer must be named, unless all data are tokens already") {
  arguments::Arguments arguments;
  arguments.model.model_type = "gpt2";
  CHECK(error_of(arguments).code() == ExitCode::kData);
  arguments.data.train_file = {"a.bin", "b.idx"};
  const ModelFacts facts = load_model_facts(arguments, {});
  CHECK(facts.source_folder.empty());
  CHECK(facts.tokenizer_folder.empty());
  TemporaryDirectory folder;
  write_file_atomically(folder / "pair.idx", "");
  arguments.data.train_file = {folder / "pair"};
  CHECK(load_model_facts(arguments, {}).tokenizer_folder.empty());
  write_file_atomically(folder / "meta.json", "{}");  // of what prepare wrote
  arguments.data.train_file = {folder.path()};
  CHECK(load_model_facts(arguments, {}).tokenizer_folder.empty());
  arguments.data.validation_file = {"a.txt"};
  CHECK(contains(error_of(arguments).render(), "there is no tokenizer"));
}

TEST_CASE("the tokenizer's limit is read, and the library's 'no limit' is none") {
  TemporaryDirectory folder;
  write_model(folder.path());
  arguments::Arguments arguments;
  arguments.model.model_name_or_path = folder.path();
  write_file_atomically(folder / "tokenizer_config.json", R"({"model_max_length": 512})");
  CHECK(load_model_facts(arguments, {}).tokenizer_max_length == 512);
  write_file_atomically(folder / "tokenizer_config.json",
                        R"({"model_max_length": 1000000000000000019884624838656})");
  CHECK_FALSE(load_model_facts(arguments, {}).tokenizer_max_length);
  write_file_atomically(folder / "tokenizer_config.json", R"({"model_max_length": 0})");
  CHECK(error_of(arguments).code() == ExitCode::kData);
  write_file_atomically(folder / "tokenizer_config.json", "{");
  CHECK(error_of(arguments).code() == ExitCode::kData);
}

TEST_CASE("a configuration may be a folder or a file, and its weights are then new") {
  TemporaryDirectory folder;
  write_model(folder.path());
  arguments::Arguments arguments;
  arguments.model.tokenizer_name = folder.path();
  for (const std::string& name : {folder.path(), folder / "config.json"}) {
    arguments.model.config_name = name;
    const ModelFacts facts = load_model_facts(arguments, {});
    CHECK(facts.source_folder.empty());
    CHECK(facts.architecture->layers() == 1);
    CHECK(facts.tokenizer_folder == folder.path());
  }
  std::filesystem::remove(folder / "tokenizer.json");
  CHECK(contains(error_of(arguments).render(), "no tokenizer.json"));
  write_file_atomically(folder / "spiece.model", "of an older tokenizer");
  CHECK(contains(error_of(arguments).render(), "let transformers write it"));
}

TEST_CASE("dtype auto is the config's, else that of the weights") {
  TemporaryDirectory folder;
  write_model(folder.path());
  arguments::Arguments arguments;
  arguments.model.model_name_or_path = folder.path();
  arguments.model.dtype = "auto";
  write_file_atomically(
      folder / "model.safetensors",
      safetensors(R"({"__metadata__": {"format": "pt"}, "w": )" + empty_tensor("BF16") + '}'));
  CHECK(load_model_facts(arguments, {}).auto_dtype == "bfloat16");
  write_file_atomically(folder / "model.safetensors", "short");
  CHECK(error_of(arguments).code() == ExitCode::kData);
  write_file_atomically(folder / "model.safetensors", std::string(8, '\x7f') + "{}");
  CHECK(error_of(arguments).code() == ExitCode::kData);
  write_file_atomically(folder / "model.safetensors", safetensors(R"({"w": )" + std::string(100'000, '[') +
                                                                  std::string(100'000, ']') + '}'));
  CHECK(contains(error_of(arguments).render(), "nested too deeply"));
  std::filesystem::remove(folder / "model.safetensors");
  write_file_atomically(folder / "model.safetensors.index.json",
                        R"({"weight_map": {"w": "part.safetensors"}})");
  write_file_atomically(folder / "part.safetensors", safetensors(R"({"v": )" + empty_tensor("I64") +
                                                                 R"(, "w": )" + empty_tensor("F16") + '}'));
  CHECK(load_model_facts(arguments, {}).auto_dtype == "float16");
  write_file_atomically(folder / "config.json",
                        std::string(R"({"torch_dtype": "bfloat16", )") + (kConfig + 1));
  CHECK(load_model_facts(arguments, {}).auto_dtype == "bfloat16");
}

TEST_CASE("the dtype of a config is one that can be trained in, in any of its spellings") {
  TemporaryDirectory folder;
  write_model(folder.path());
  arguments::Arguments arguments;
  arguments.model.model_name_or_path = folder.path();
  arguments.model.dtype = "auto";
  const auto with = [&](const std::string& key) {
    std::string config = kConfig;
    write_file_atomically(folder / "config.json", config.insert(1, key + ", "));
  };
  with(R"("torch_dtype": "torch.bfloat16")");
  CHECK(load_model_facts(arguments, {}).auto_dtype == "bfloat16");
  with(R"("dtype": "float64")");
  CHECK(error_of(arguments).code() == ExitCode::kData);
  CHECK(contains(error_of(arguments).render(), "it is float64; float32, bfloat16 and float16 can"));
  arguments.model.dtype = "float32";
  CHECK(error_of(arguments).code() == ExitCode::kDone);
}

}  // namespace
}  // namespace hftrain::plan
