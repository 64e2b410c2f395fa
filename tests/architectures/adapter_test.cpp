// Which modules an adapter stands beside and which it saves whole: by the flags of a run, and by a file that peft wrote.
#include "hftrain/architectures/adapter.h"

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/architectures/architecture.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::architectures {
namespace {

ParameterTable table_of(const char* config, Head head = Head::kCausalLm) {
  return Architecture::from_config(parse_json(config, "test"), "test", head)->parameters();
}

ParameterTable gpt2() {
  return table_of(R"({"model_type": "gpt2", "vocab_size": 64, "n_embd": 8, "n_layer": 1, "n_head": 2})");
}

ParameterTable t5(Head head) {
  return table_of(
      R"({"model_type": "t5", "vocab_size": 64, "d_model": 8, "d_ff": 8, "d_kv": 4, "num_layers": 1, "num_heads": 2})",
      head);
}

ParameterTable bert(Head head) {
  return table_of(
      R"({"model_type": "bert", "vocab_size": 64, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
          "intermediate_size": 8})",
      head);
}

std::vector<std::string> told_to_peft(const ParameterTable& table, const AdapterSpec& spec) {
  return adapter_config_json(table, spec, {}, "").at("modules_to_save").get<std::vector<std::string>>();
}

// As peft writes it.
AdapterSpec of_file(std::vector<std::string> targets, std::vector<std::string> saved,
                    const Json& ensure_weight_tying = false) {
  Json config = {{"peft_type", "LORA"},
                 {"r", 2},
                 {"target_modules", targets},
                 {"modules_to_save", saved},
                 {"peft_version", "0.21.2"}};
  if (!ensure_weight_tying.is_null()) config["ensure_weight_tying"] = ensure_weight_tying;
  return adapter_from_json(config, "adapter_config.json");
}

}  // namespace

TEST_CASE("A tied matrix that peft trained apart is refused, whatever ensure_weight_tying says") {
  const std::string apart = "the adapter has two matrices where the model has one";
  const ParameterTable bart = table_of(
      R"({"model_type": "bart", "vocab_size": 64, "d_model": 8, "encoder_layers": 1, "decoder_layers": 1,
          "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8})",
      Head::kSeq2SeqLm);
  for (const Json& ties : {Json(true), Json(false)}) {
    CHECK_REFUSED(saved_whole(gpt2(), of_file({"c_attn"}, {"wte"}, ties), "gpt2"), apart);
    CHECK_REFUSED(saved_whole(bart, of_file({"q_proj"}, {"shared"}, ties), "bart"), apart);
  }
  // As peft calls the module once it has tied the two: then the file has both.
  CHECK(saved_whole(gpt2(), of_file({"c_attn"}, {"transformer.wte"}, true), "gpt2").size() == 1);
  CHECK(saved_whole(gpt2(), of_file({"c_attn"}, {"wte"}, Json()), "gpt2").size() == 1);  // one of ours
  const ParameterTable llama = table_of(
      R"({"model_type": "llama", "vocab_size": 64, "hidden_size": 8, "num_attention_heads": 2,
          "num_hidden_layers": 1, "intermediate_size": 8, "tie_word_embeddings": true})");
  CHECK(saved_whole(llama, of_file({"q_proj"}, {"embed_tokens"}, true), "llama").size() == 1);
  CHECK_REFUSED(saved_whole(llama, of_file({"q_proj"}, {"embed_tokens"}, false), "llama"), apart);
}

TEST_CASE("Names of an adapter's file that the model does not have are passed over, those of flags are not") {
  const ParameterTable classes = t5(Head::kSequenceClassification);
  AdapterSpec spec = of_file({"q", "v", "c_attn"}, {"classifier", "score"});
  CHECK(saved_whole(classes, spec, "t5").empty());
  CHECK(adapted_modules(classes, spec, "t5").size() == 6);
  spec.targets = {"c_attn"};
  CHECK_REFUSED(adapted_modules(classes, spec, "t5"),
                "the adapter would stand beside no module of the model");
  spec.targets = {"q", "out_proj"};
  CHECK_REFUSED(adapted_modules(classes, spec, "t5"), "adapter_config.json");
  CHECK_REFUSED(adapted_modules(classes, spec, "t5"), "hftrain checkpoint merge");
  AdapterSpec asked{.targets = {"q", "c_attn"}, .saved_modules = {"score"}};
  CHECK_REFUSED(adapted_modules(classes, asked, "t5"), "no module of the model is called 'c_attn'");
  CHECK_REFUSED(saved_whole(classes, asked, "t5"), "is called 'score'");
}

TEST_CASE(
    "A target of an adapter's file within a module that is saved whole is passed over, as peft adapts "
    "nothing there") {
  const ParameterTable roberta = table_of(
      R"({"model_type": "roberta", "vocab_size": 64, "hidden_size": 8, "num_attention_heads": 2,
          "num_hidden_layers": 1, "intermediate_size": 8})",
      Head::kSequenceClassification);
  AdapterSpec spec = of_file({"query", "dense", "out_proj"}, {"classifier", "score"});
  const std::vector<std::string> beside = adapted_modules(roberta, spec, "roberta");
  CHECK(beside.size() == 4);
  for (const std::string& module : beside) CHECK(module.starts_with("roberta.encoder.layer.0."));
  spec.saved_modules = {"score"};
  CHECK_REFUSED(adapted_modules(roberta, spec, "roberta"), "module 'out_proj' can have no adapter");
}

TEST_CASE("A tied matrix that is saved whole is one under both of its names, and both are told to peft") {
  AdapterSpec asked{.targets = {"c_attn"}, .saved_modules = {"wte"}};
  CHECK(second_modules_of_saved(gpt2(), asked) == std::vector<std::string>{"lm_head"});
  CHECK(told_to_peft(gpt2(), asked) == std::vector<std::string>{"wte", "lm_head"});
  CHECK(saved_copies(gpt2(), asked).size() == 1);
  asked.saved_modules.emplace_back("lm_head");
  CHECK(second_modules_of_saved(gpt2(), asked).empty());
  CHECK(saved_whole(gpt2(), asked, "gpt2").size() == 1);
  CHECK(saved_copies(gpt2(), asked).size() == 1);
  CHECK(saved_whole(gpt2(), of_file({"c_attn"}, {"wte", "lm_head"}, Json()), "gpt2").size() == 1);
  CHECK_REFUSED(saved_whole(gpt2(), of_file({"c_attn"}, {"wte", "lm_head"}, false), "gpt2"),
                "two matrices where the model has one");
  // Beside modules within others, too, whose names are whole ones then; of a file as of a flag.
  const ParameterTable words = bert(Head::kMaskedLm);
  asked.saved_modules = {"embeddings"};
  const std::vector<std::string> both = {"bert.embeddings", "cls.predictions.decoder"};
  CHECK(told_to_peft(words, asked) == both);
  asked.saved_modules = both;
  CHECK(told_to_peft(words, asked) == both);
  CHECK(saved_copies(words, asked).size() == 2);  // the matrix, and the bias that stays as it is
  // What the second module has beside the matrix stays as it is, and stands in the file as peft has it.
  const ParameterTable distil = table_of(
      R"({"model_type": "distilbert", "vocab_size": 64, "dim": 8, "n_layers": 1, "n_heads": 2, "hidden_dim": 8})",
      Head::kMaskedLm);
  asked.saved_modules = {"embeddings"};
  const auto called = [&](int position) { return distil.parameters[static_cast<size_t>(position)].name; };
  for (const int position : saved_whole(distil, asked, "distilbert"))
    CHECK(called(position).starts_with("distilbert.embeddings."));
  std::vector<std::string> copies;
  for (const SavedCopy& copy : saved_copies(distil, asked)) copies.push_back(copy.alias);
  CHECK(copies == std::vector<std::string>{"vocab_projector.weight", "vocab_projector.bias"});
}

TEST_CASE("No adapter stands beside a tied matrix, nor beside embeddings") {
  AdapterSpec spec = of_file({"c_attn", "lm_head"}, {});
  CHECK_REFUSED(adapted_modules(gpt2(), spec, "gpt2"), "module 'lm_head' can have no adapter");
  spec.targets = {"wte"};
  for (const char* target : {"lm_head", "wte"}) {
    spec.targets = {target};
    CHECK_REFUSED(adapted_modules(gpt2(), spec, "gpt2"), "peft's merge_and_unload()");
    try {
      adapted_modules(gpt2(), spec, "gpt2");
    } catch (const Error& error) {  // which the program does not merge
      CHECK(error.render().find("checkpoint merge") == std::string::npos);
    }
  }
  spec.origin.clear();
  spec.targets = {"lm_head"};
  CHECK_REFUSED(adapted_modules(gpt2(), spec, "gpt2"), "--lora_modules_to_save transformer.wte");
}

TEST_CASE("A tensor of an adapter's file is one of a module that its lists name, or is not") {
  const AdapterSpec spec = of_file({"q_proj", "lm_head"}, {"classifier", "score"});
  CHECK(is_named(spec, "score.weight"));
  CHECK(is_named(spec, "lm_head.lora_A.weight"));
  CHECK(is_named(spec, "model.layers.9.self_attn.q_proj.lora_B.weight"));
  CHECK_FALSE(is_named(spec, "model.layers.9.self_attn.v_proj.lora_B.weight"));
  CHECK_FALSE(is_named(spec, "model.embed_tokens.weight"));
}

TEST_CASE("No module that is saved whole is told to peft within another one") {
  const auto told = [](std::vector<std::string> saved) {
    return told_to_peft(bert(Head::kSequenceClassification), {.saved_modules = std::move(saved)});
  };
  CHECK(told({"embeddings"}) == std::vector<std::string>{"bert.embeddings"});
  CHECK(told({"word_embeddings"}) == std::vector<std::string>{"word_embeddings"});
  CHECK(told({"layer.1", "output"}) == std::vector<std::string>{"bert.encoder.layer.0.attention.output",
                                                                "bert.encoder.layer.0.output",
                                                                "bert.encoder.layer.1"});
}

TEST_CASE("An adapter whose modules are all saved whole is refused") {
  const AdapterSpec asked{.targets = {"c_attn"}, .saved_modules = {"attn"}};
  CHECK_REFUSED(adapted_modules(gpt2(), asked, "gpt2"),
                "the adapter would stand beside no module of the model");
  CHECK_REFUSED(adapted_modules(gpt2(), asked, "gpt2"), "fewer of them as --lora_modules_to_save");
}

}  // namespace hftrain::architectures
