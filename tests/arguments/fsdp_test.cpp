#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/import/fsdp_settings.h"
#include "support.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::arguments {
namespace {

// --fsdp words with an fsdp_config as JSON text.
ParallelOptions configured(const std::string& fsdp, const std::string& config) {
  return sharding({"--fsdp", fsdp, "--fsdp_config", config});
}
std::string mistakes_of(const std::string& fsdp, const std::string& config) {
  return mistakes({"--fsdp", fsdp, "--fsdp_config", config});
}
std::string notes_of(const std::string& fsdp, const std::string& config) {
  return notes(parse({"--fsdp", fsdp, "--fsdp_config", config}));
}

}  // namespace

TEST_CASE("every word of --fsdp names its strategy") {
  for (const char* word : {"full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2"}) {
    INFO(word);
    const ParallelOptions options = sharding({"--fsdp", word});
    CHECK(options.strategy.value == word);
    CHECK(options.strategy.origin == "--fsdp");
    CHECK(options.wrap_policy.value == "transformer");
    CHECK_FALSE(options.offload_parameters);
  }
}

TEST_CASE("fsdp true, bare or in a file, shards fully with a unit per layer; false does not shard") {
  for (const Words& words :
       {Words{"--fsdp"}, Words{"--fsdp", "true"}, Words{"--fsdp", "True"}, Words{"--fsdp=1"}}) {
    const ParallelOptions options = sharding(words);
    CHECK(options.strategy.value == "full_shard");
    CHECK(options.wrap_policy.value == "transformer");
  }
  for (const char* word : {"false", "no", ""}) CHECK_FALSE(sharding({"--fsdp", word}).strategy);
  const testing::TemporaryDirectory folder;
  const std::string path = write(folder / "run.yaml", "fsdp: true\n");
  CHECK(sharding({"--config", path}).strategy.value == "full_shard");
  write(folder / "run.yaml", "fsdp: [shard_grad_op, auto_wrap]\n");
  CHECK(sharding({"--config", path}).strategy.value == "shard_grad_op");
  CHECK(sharding({"--config", path}).wrap_policy.value == "transformer");
}

TEST_CASE("offload and auto_wrap are words beside the strategy") {
  const ParallelOptions options = sharding({"--fsdp", "shard_grad_op offload auto_wrap"});
  CHECK(options.strategy.value == "shard_grad_op");
  CHECK(options.wrap_policy.value == "transformer");
  CHECK(options.offload_parameters.value == "cpu");
  CHECK(options.offload_optimizer.value == "cpu");
}

TEST_CASE("rule F2: offload alone means full_shard with offload, and says so") {
  const ParseOutcome outcome = parse({"--fsdp", "offload"});
  CHECK(outcome.arguments.parallel.sharding.strategy.value == "full_shard");
  CHECK(outcome.arguments.parallel.sharding.offload_parameters.value == "cpu");
  CHECK(contains(notes(outcome), "--fsdp offload means full_shard with offload"));
}

TEST_CASE("rule F3: two strategies in one --fsdp are refused") {
  CHECK(mistakes({"--fsdp", "full_shard shard_grad_op"}) ==
        "error: --fsdp names more than one way of sharding\n  where: command line\n"
        "  why: full_shard shard_grad_op\n  try: keep one of them");
}

TEST_CASE("rule F4: size and layer classes exclude each other unless the policy is named") {
  const std::string both = R"("min_num_params": 1000, "transformer_layer_cls_to_wrap": "GPT2Block")";
  CHECK(contains(mistakes_of("full_shard auto_wrap", '{' + both + '}'),
                 "min_num_params and transformer_layer_cls_to_wrap exclude each other"));
  const ParallelOptions sized =
      configured("full_shard auto_wrap", '{' + both + R"(, "auto_wrap_policy": "SIZE_BASED_WRAP"})");
  CHECK(sized.wrap_policy.value == "size");
  CHECK(sized.min_parameters.value == 1000);
  CHECK(sharding({"--fsdp", "full_shard", "--fsdp_min_num_params", "7"}).wrap_policy.value == "size");
  CHECK(contains(notes(parse({"--fsdp_min_num_params", "7"})),
                 "options of FSDP have no effect without --fsdp or --use_fsdp"));
  CHECK(contains(notes(parse({"--fsdp_config", "{}"})), "have no effect without --fsdp"));
  CHECK(notes(parse({"--fsdp_min_num_params", "0"})).empty());
  CHECK(contains(notes(parse({"--fsdp_sharding_strategy", "FULL_SHARD"})), "have no effect without --fsdp"));
  CHECK(contains(notes(parse({"--fsdp_reshard_after_forward", "true"})), "have no effect without --fsdp"));
  CHECK(notes(parse({"--fsdp_config", "null"})).empty());
}

TEST_CASE("whole numbers of FSDP may be in disguise") {
  for (const char* number : {"1e8", "100000000.0", "\"1e8\""}) {
    const std::string config =
        R"({"auto_wrap_policy": "SIZE_BASED_WRAP", "version": 2.0, "min_num_params": )" +
        std::string(number) + '}';
    CHECK(configured("true", config).min_parameters.value == 100'000'000);
  }
  CHECK(sharding({"--fsdp", "full_shard", "--fsdp_min_num_params", "1e8"}).min_parameters.value ==
        100'000'000);
  CHECK(contains(mistakes_of("true", R"({"min_num_params": 1.5})"), "is not a whole number"));
}

TEST_CASE("without FSDP its flags are told also where they say the default, unless they ask for nothing") {
  const testing::TemporaryDirectory folder;
  for (const Words& words :
       {Words{"--fsdp_sharding_strategy", "FULL_SHARD"}, Words{"--fsdp_sync_module_states", "true"},
        Words{"--config", write(folder / "run.yaml", "fsdp_reshard_after_forward: true\n")}})
    CHECK(contains(notes(parse(words)), "options of FSDP have no effect without --fsdp or --use_fsdp"));
  CHECK(notes(parse({"--fsdp_offload_params", "false", "--fsdp_forward_prefetch", "false"})).empty());
}

TEST_CASE("what the Trainer writes of FSDP where nobody asked for it is no warning") {
  const testing::TemporaryDirectory folder;
  const auto told_of = [&](const std::string& json) {
    return notes(parse({"--config", write(folder / "args.json", json)}));
  };
  CHECK(told_of(R"({"fsdp": [], "fsdp_config": null})").empty());
  CHECK(told_of(R"({"fsdp": [], "fsdp_min_num_params": 0, "fsdp_transformer_layer_cls_to_wrap": null,
      "fsdp_config": {"min_num_params": 0, "xla": false, "xla_fsdp_v2": false, "xla_fsdp_grad_ckpt": false}})")
            .empty());
  CHECK(contains(told_of(R"({"fsdp": [], "fsdp_config": {"min_num_params": 7, "xla": false}})"),
                 "options of FSDP have no effect without --fsdp or --use_fsdp\n  where: fsdp_config ("));
  for (const char* says :
       {R"({"reshard_after_forward": false})", R"({"cpu_offload": false, "use_orig_params": false})"})
    CHECK(contains(notes(parse({"--fsdp_config", says})), "have no effect without --fsdp"));
}

TEST_CASE("rule F5: an unknown word is named, with the nearest ones") {
  const std::string text = mistakes({"--fsdp", "full_shard offlaod"});
  CHECK(contains(text, "'offlaod' is not one of full_shard, shard_grad_op"));
  CHECK(contains(text, "did you mean offload"));
}

TEST_CASE("rules 48 and 51: option words are the old form; version 1 needs no excuse") {
  CHECK(contains(notes(parse({"--fsdp", "full_shard"})), "--fsdp with option words is the old form"));
  CHECK(notes_of("true", R"({"version": 1})").empty());
}

TEST_CASE("rule 49: gradient_checkpointing beside fsdp is warned of; F6: both forms of it are refused") {
  CHECK(contains(notes(parse({"--fsdp", "true", "--gradient_checkpointing"})),
                 "the Trainer wants activation_checkpointing"));
  CHECK(contains(mistakes({"--fsdp", "true", "--gradient_checkpointing", "--fsdp_config",
                           R"({"activation_checkpointing": true})"}),
                 "gradient_checkpointing and activation_checkpointing exclude each other"));
  CHECK(configured("true", R"({"activation_checkpointing": "yes"})").activation_checkpointing.value == true);
}

TEST_CASE("rule 52: non_blocking needs pinned memory") {
  const Words words = {"--accelerator_config", R"({"non_blocking": true})"};
  CHECK_FALSE(contains(notes(parse(words)), "non_blocking has no effect without dataloader_pin_memory"));
  CHECK(contains(notes(parse({words[0], words[1], "--dataloader_pin_memory", "false"})),
                 "non_blocking has no effect without dataloader_pin_memory"));
}

TEST_CASE("rule T8: save_only_model does not go with weights in parts") {
  for (const char* config : {R"({"state_dict_type": "SHARDED_STATE_DICT"})",
                             R"({"version": 1, "state_dict_type": "LOCAL_STATE_DICT"})"})
    CHECK(contains(mistakes({"--fsdp", "true", "--save_only_model", "--fsdp_config", config}),
                   "save_only_model and a state_dict_type in parts exclude each other"));
}

TEST_CASE("every key of fsdp_config is read with and without its prefix") {
  const std::string plain =
      R"({"version": 1, "reshard_after_forward": "shard_grad_op", "cpu_offload": "true",
          "auto_wrap_policy": "transformer_based_wrap", "transformer_layer_cls_to_wrap": ["GPT2Block", "Extra"],
          "min_num_params": "5", "state_dict_type": "sharded_state_dict", "activation_checkpointing": 0,
          "cpu_ram_efficient_loading": "on", "backward_prefetch": "backward_pos", "forward_prefetch": "y",
          "use_orig_params": "f", "sync_module_states": true, "limit_all_gathers": "off", "xla": false,
          "reduce_dtype": "bf16", "_comment": 1})";
  std::string prefixed = plain;
  for (size_t at = prefixed.find("\": "); at != std::string::npos; at = prefixed.find("\": ", at + 8)) {
    const size_t start = prefixed.rfind('"', at - 1) + 1;
    if (prefixed[start] != '_') prefixed.insert(start, "fsdp_");
  }
  REQUIRE(contains(prefixed, "fsdp_min_num_params"));
  for (const std::string& text : {plain, prefixed}) {
    const ParallelOptions options = configured("true", text);
    CHECK(options.strategy.value == "shard_grad_op");
    CHECK(options.offload_parameters.value == "cpu");
    CHECK(options.wrap_policy.value == "transformer");
    CHECK(options.layer_classes.value == std::vector<std::string>{"GPT2Block", "Extra"});
    CHECK(options.state_dict.value == "sharded");
    CHECK(options.activation_checkpointing.value == false);
    CHECK(options.backward_prefetch.value == "post");
    CHECK(options.forward_prefetch.value == true);
    CHECK(options.limit_all_gathers.value == false);
    CHECK(options.reduce_dtype.value == "bfloat16");
  }
}

TEST_CASE("values of fsdp_config carry file, line and column") {
  const testing::TemporaryDirectory folder;
  const std::string path = write(folder / "fsdp.json",
                                 "{ // how we shard\n  \"fsdp_state_dict_type\": \"SHARDED_STATE_DICT\",\n"
                                 "  \"cpu_offload\": true\n}\n");
  const ParallelOptions options = sharding({"--fsdp", "true", "--fsdp_config", path});
  CHECK(options.state_dict.origin == path + ":2:27");
  CHECK(options.offload_parameters.origin == path + ":3:18");
  const std::string run = write(folder / "run.yaml", "fsdp: true\nfsdp_config:\n  cpu_offload: yes\n");
  CHECK(sharding({"--config", run}).offload_optimizer.origin == run + ":3:16");
}

TEST_CASE("mistakes in fsdp_config are all reported, each with its place and a way out") {
  const testing::TemporaryDirectory folder;
  const std::string path = write(folder / "fsdp.json",
                                 "{\"reshard_after_foward\": true,\n\"forward_prefetch\": \"perhaps\",\n"
                                 "\"auto_wrap_policy\": \"LAYERS\",\n\"min_num_params\": -1}");
  const std::string text = mistakes({"--fsdp", "true", "--fsdp_config", path});
  CHECK(contains(text, "unknown key 'reshard_after_foward'\n  where: " + path +
                           ":1:26\n  why: neither the Trainer nor accelerate has such a key\n  try: did you "
                           "mean reshard_after_forward"));
  CHECK(contains(text,
                 "forward_prefetch: perhaps is not a truth value: true or false\n  where: " + path + ":2:"));
  CHECK(contains(text,
                 "auto_wrap_policy: LAYERS is not one of TRANSFORMER_BASED_WRAP, SIZE_BASED_WRAP, NO_WRAP"));
  CHECK(contains(text, "min_num_params: \"-1\" is not a whole number"));
  // Our own key: nobody else's rules are its reason.
  CHECK(contains(mistakes_of("true", R"({"reduce_dtype": "x"})"), "why: nothing else is read there"));
}

TEST_CASE("an fsdp_config that cannot be read is one mistake") {
  CHECK(contains(mistakes_of("true", "nowhere.json"), "nowhere.json"));
  CHECK(contains(mistakes_of("true", "{\"a\": "), "not valid JSON\n  where: --fsdp_config (command line)"));
  CHECK(contains(mistakes_of("true", R"({"version": 1, "version": 2})"),
                 "key 'version' is given twice\n  where: --fsdp_config (command line)\n"
                 "  why: at 1:2 and at 1:16 of the text (line:column)"));
  CHECK(contains(mistakes_of("true", R"({"version": 1, "fsdp_version": 1})"),
                 "fsdp_config has both 'fsdp_version' and 'version'"));
  CHECK(contains(mistakes_of("true", R"({"xla": true})"), "xla is not supported"));
  CHECK(contains(mistakes_of("true", R"({"version": 3})"), "version: \"3\" is not a whole number"));
}

TEST_CASE(
    "a configuration that another flag takes is one mistake in the place of fsdp_config, which names that "
    "flag") {
  const testing::TemporaryDirectory folder;
  const char* const kFiles[][4] = {
      {"acc.yaml", "num_processes: 2\ndistributed_type: FSDP\nfsdp_config: {fsdp_version: 2}\n", "Accelerate",
       "config"},
      {"acc.json", "{\"compute_environment\": \"LOCAL_MACHINE\"}", "Accelerate", "config"},
      {"ds.json", "{\"zero_optimization\": {\"stage\": 2}, \"bf16\": {}}", "DeepSpeed", "deepspeed"},
      {"run.yaml", "learning_rate: 1\nfsdp: true\nfsdp_config: {}\n", "a whole run", "config"}};
  for (const auto& [name, text, whose, flag] : kFiles) {
    INFO(name);
    const std::string path = write(folder / name, text);
    for (const std::string& told :
         {mistakes({"--fsdp", "true", "--fsdp_config", path}), mistakes({"--fsdp_config", path})}) {
      CHECK(contains(told, "fsdp_config: this is a configuration of " + std::string(whose) +
                               "\n  where: " + path + ':'));
      CHECK(contains(told, "\n  try: --" + std::string(flag) + ' ' + path));
      CHECK(told.find("error: ") == told.rfind("error: "));
    }
  }
  CHECK(contains(mistakes_of("true", "{\"distributed_type\": \"FSDP\"}"),
                 "where: command line\n  why: it has distributed_type, which fsdp_config does not take\n"
                 "  try: --config FILE"));
}

TEST_CASE("a strategy that is said twice must be the same, and a difference names both places") {
  CHECK(configured("full_shard", R"({"sharding_strategy": 1})").strategy.value == "full_shard");
  const std::string text = mistakes_of("full_shard", R"({"sharding_strategy": "SHARD_GRAD_OP"})");
  CHECK(contains(text, "shard_grad_op (--fsdp_config) and full_shard (--fsdp)"));
}

TEST_CASE("rule F11: reshard_after_forward takes truth values and names in both versions") {
  CHECK(configured("true", R"({"version": 2, "reshard_after_forward": false})").strategy.value ==
        "shard_grad_op");
  CHECK(configured("true", R"({"version": 2, "reshard_after_forward": "HYBRID_SHARD"})").strategy.value ==
        "hybrid_shard");
  CHECK(configured("true", R"({"version": 1, "reshard_after_forward": true})").strategy.value ==
        "full_shard");
  CHECK(configured("hybrid_shard_zero2", R"({"reshard_after_forward": false})").strategy.value ==
        "hybrid_shard_zero2");
  CHECK(contains(mistakes_of("shard_grad_op", R"({"reshard_after_forward": true})"),
                 "shard_grad_op (--fsdp) and true (--fsdp_config)"));
}

TEST_CASE("rule F1: all five strategies are there in version 2 as well") {
  for (const char* word : {"no_shard", "hybrid_shard", "hybrid_shard_zero2"}) {
    CHECK(configured(word, R"({"version": 2})").strategy.value == word);
  }
}

TEST_CASE("rule F7: loading by parts needs the same values everywhere, in version 1") {
  const std::string bad = R"("cpu_ram_efficient_loading": true, "sync_module_states": false)";
  CHECK(
      contains(notes_of("true", "{\"version\": 1, " + bad + '}'), "sync_module_states false counts as true"));
  CHECK_FALSE(contains(notes_of("true", "{\"version\": 2, " + bad + '}'), "counts as true"));
  CHECK(contains(mistakes({"--use_fsdp", "--fsdp_cpu_ram_efficient_loading", "true",
                           "--fsdp_sync_module_states", "false"}),
                 "sync_module_states false does not go with cpu_ram_efficient_loading true"));
}

TEST_CASE("what sharding does in one way only says so when the other is asked for") {
  const std::string said =
      notes_of("true", R"({"version": 1, "use_orig_params": false, "sync_module_states": false})");
  CHECK(contains(said, "use_orig_params false has no effect here"));
  CHECK(contains(said, "sync_module_states false has no effect here"));
  CHECK(contains(notes_of("true", R"({"cpu_ram_efficient_loading": false})"),
                 "cpu_ram_efficient_loading false has no effect here"));
  const std::string silent =
      R"({"use_orig_params": true, "sync_module_states": true, "cpu_ram_efficient_loading": true})";
  CHECK_FALSE(contains(notes_of("true", silent), "has no effect"));
}

TEST_CASE("rule F8: version 2 says what it does not have") {
  const ParseOutcome outcome = parse(
      {"--fsdp", "true", "--fsdp_config",
       R"({"version": 2, "use_orig_params": true, "backward_prefetch": "BACKWARD_POST", "forward_prefetch": false})"});
  CHECK(contains(notes(outcome), "use_orig_params has no effect with version 2"));
  CHECK(contains(notes(outcome), "backward_prefetch has no effect with version 2"));
  CHECK(contains(notes(outcome), "forward_prefetch has no effect with version 2"));
  CHECK_FALSE(outcome.arguments.parallel.sharding.backward_prefetch);
}

TEST_CASE("rule F10: version 2 has no local state") {
  CHECK(contains(mistakes_of("true", R"({"version": 2, "state_dict_type": "LOCAL_STATE_DICT"})"),
                 "LOCAL_STATE_DICT does not exist in version 2"));
  CHECK(contains(mistakes_of("true", R"({"state_dict_type": "LOCAL_STATE_DICT"})"),
                 "no version is given, and fsdp_config has 2 then"));
  CHECK(sharding({"--use_fsdp", "--fsdp_state_dict_type", "LOCAL_STATE_DICT"}).state_dict.value == "local");
  CHECK(configured("true", R"({"version": 1, "state_dict_type": "LOCAL_STATE_DICT"})").state_dict.value ==
        "local");
}

TEST_CASE("an option of FSDP that does nothing beside the others is told") {
  const auto told = [](const char* words, const std::string& config, const char* what) {
    const std::string notes = notes_of(words, config);
    INFO(words << ' ' << config << '\n' << notes);
    return contains(notes, what);
  };
  const char* sized = "min_num_params has no effect";
  CHECK(told("full_shard", R"({"min_num_params": 9, "auto_wrap_policy": "TRANSFORMER_BASED_WRAP"})", sized));
  CHECK(told("full_shard", R"({"min_num_params": 9, "auto_wrap_policy": "NO_WRAP"})", sized));
  CHECK_FALSE(told("full_shard", R"({"min_num_params": 9})", sized));
  CHECK_FALSE(
      told("full_shard", R"({"min_num_params": 0, "auto_wrap_policy": "TRANSFORMER_BASED_WRAP"})", sized));
  CHECK(told("full_shard", R"({"transformer_layer_cls_to_wrap": "GPT2Block", "auto_wrap_policy": "NO_WRAP"})",
             "transformer_layer_cls_to_wrap has no effect"));
  CHECK(told("no_shard", R"({"ignored_modules": ".*"})", "ignored_modules has no effect"));
  CHECK_FALSE(told("full_shard", R"({"ignored_modules": ".*"})", "ignored_modules has no effect"));
  const std::string forward = R"({"version": 1, "forward_prefetch": true})";
  CHECK(told("no_shard", forward, "forward_prefetch has no effect"));
  for (const char* words : {"full_shard", "shard_grad_op", "hybrid_shard", "hybrid_shard_zero2"})
    CHECK_FALSE(told(words, forward, "forward_prefetch has no effect"));
  const std::string backward = R"({"version": 1, "backward_prefetch": "BACKWARD_POST"})";
  for (const char* words : {"no_shard", "shard_grad_op", "hybrid_shard_zero2"})
    CHECK(told(words, backward, "backward_prefetch has no effect"));
  for (const char* words : {"full_shard", "hybrid_shard"})
    CHECK_FALSE(told(words, backward, "backward_prefetch has no effect"));
  CHECK_FALSE(
      told("no_shard", R"({"backward_prefetch": "BACKWARD_PRE"})", "backward_prefetch has no effect"));
}

TEST_CASE("no_shard tells which options of sharding do nothing with it") {
  const char* const kBegins = "options of FSDP have no effect with no_shard: ";
  const std::string all =
      notes_of("no_shard", R"({"auto_wrap_policy": "SIZE_BASED_WRAP", "min_num_params": 9, "version": 1,
                              "limit_all_gathers": false, "reduce_dtype": "bfloat16"})");
  CHECK(contains(all, std::string(kBegins) +
                          "auto_wrap_policy, min_num_params, limit_all_gathers, reduce_dtype\n  where: "));
  CHECK(contains(notes_of("no_shard", R"({"transformer_layer_cls_to_wrap": "GPT2Block"})"),
                 std::string(kBegins) + "transformer_layer_cls_to_wrap\n"));
  CHECK(contains(notes_of("no_shard auto_wrap", "{}"),
                 std::string(kBegins) + "auto_wrap\n  where: command line\n"));
  // Weights of DDP are saved in parts as well.
  CHECK_FALSE(contains(notes_of("no_shard", R"({"state_dict_type": "SHARDED_STATE_DICT"})"), kBegins));
  CHECK_FALSE(contains(notes_of("full_shard", R"({"reduce_dtype": "bfloat16"})"), kBegins));
}

TEST_CASE("rule F13: activations are offloaded where they are computed again, in version 2") {
  CHECK(contains(mistakes_of("true", R"({"activation_checkpointing_offload": true})"),
                 "does nothing without activation_checkpointing"));
  CHECK(mistakes_of("true", R"({"activation_checkpointing": true, "activation_checkpointing_offload": true})")
            .empty());
  CHECK(contains(mistakes_of("true", R"({"version": 1, "activation_checkpointing": true,
                                         "activation_checkpointing_offload": true})"),
                 "belongs to version 2"));
  CHECK(mistakes_of("true", R"({"activation_checkpointing_offload": false})").empty());
  // accelerate launch has version 1 where none is given, the Trainer version 2.
  const Words launch = {"--use_fsdp", "--fsdp_activation_checkpointing", "true",
                        "--fsdp_activation_checkpointing_offload", "true"};
  CHECK(contains(mistakes(launch), "belongs to version 2 of FSDP\n  where: "));
  CHECK(contains(mistakes(launch), "why: fsdp_version is not given, and accelerate launch takes 1"));
  CHECK(contains(mistakes(also(launch, {"--fsdp_version", "1"})), "why: fsdp version is 1 (--fsdp_version"));
  CHECK(mistakes(also(launch, {"--fsdp_version", "2"})).empty());
  CHECK(mistakes(also(launch, {"--fsdp", "full_shard"})).empty());
  const NamedFile file(
      "--config", "acc.yaml",
      "distributed_type: FSDP\nnum_processes: 2\nfsdp_config:\n"
      "  fsdp_activation_checkpointing: true\n  fsdp_activation_checkpointing_offload: true\n");
  CHECK(contains(file.mistakes(), "belongs to version 2 of FSDP\n  where: " + file.at("5:42")));
  const Environment announced(
      std::map<std::string, std::string>{{"ACCELERATE_USE_FSDP", "true"},
                                         {"FSDP_ACTIVATION_CHECKPOINTING", "true"},
                                         {"FSDP_ACTIVATION_CHECKPOINTING_OFFLOAD", "true"}});
  CHECK(contains(mistakes({}, announced), "belongs to version 2 of FSDP"));
}

TEST_CASE("an option that is only for a TPU is warned of") {
  CHECK(contains(notes_of("true", R"({"xla_fsdp_grad_ckpt": true})"),
                 "xla_fsdp_grad_ckpt has no effect without xla"));
  CHECK(contains(notes_of("true", R"({"xla_fsdp_settings": {"compute_dtype": "bfloat16"}})"),
                 "xla_fsdp_settings has no effect without xla"));
  CHECK_FALSE(contains(notes_of("true", R"({"xla_fsdp_settings": {}})"), "xla"));
}

TEST_CASE("up to 5.9 nothing but auto_wrap made units, whatever else was said of them") {
  const auto policy = [](const Words& more) {
    Words words{"--fsdp", "full_shard"};
    words.insert(words.end(), more.begin(), more.end());
    return sharding(words).wrap_policy.value;
  };
  CHECK(policy({"--hf_compat", "5.12.1"}) == "transformer");
  CHECK(policy({"--hf_compat", "5.10"}) == "transformer");
  CHECK(policy({"--hf_compat", "5.9"}) == "none");
  CHECK(policy({"--hf_compat", "5.8.1"}) == "none");
  CHECK(policy({"--hf_compat", "5.8"}) == "none");
  CHECK(policy({"--hf_compat", "4.57.1"}) == "none");
  CHECK(policy({"--hf_compat", "4.57.1", "--fsdp_config", R"({"version": 2})"}) == "none");
  CHECK(policy({"--hf_compat", "5.8", "--fsdp_config", R"({"min_num_params": 9})"}) == "none");
  CHECK(policy({"--hf_compat", "5.8", "--fsdp_transformer_layer_cls_to_wrap", "GPT2Block"}) == "none");
  CHECK(policy({"--hf_compat", "5.8", "--fsdp_config",
                R"({"auto_wrap_policy": "TRANSFORMER_BASED_WRAP"})"}) == "transformer");
  CHECK(sharding({"--fsdp", "true", "--hf_compat", "5.8"}).wrap_policy.value == "none");
  CHECK(sharding({"--fsdp", "full_shard auto_wrap", "--hf_compat", "5.8"}).wrap_policy.value ==
        "transformer");
  CHECK(contains(notes(parse({"--fsdp", "full_shard", "--hf_compat", "5.8"})),
                 "--fsdp without auto_wrap makes the whole model one unit beside hf_compat 5.8\n  where: "
                 "command line\n"));
  CHECK_FALSE(contains(notes(parse({"--fsdp", "no_shard", "--hf_compat", "5.8"})), "one unit"));
  CHECK_FALSE(contains(notes(parse({"--fsdp", "full_shard"})), "one unit"));
  CHECK(policy({"--fsdp_config", R"({"version": 1})"}) == "transformer");
  CHECK(policy({"--fsdp_config", R"({"auto_wrap_policy": "NO_WRAP"})"}) == "none");
}

TEST_CASE("version 2 wraps the layers; NO_WRAP and auto_wrap contradict each other") {
  CHECK(configured("full_shard", R"({"version": 2})").wrap_policy.value == "transformer");
  CHECK(configured("true", R"({"auto_wrap_policy": "NO_WRAP"})").wrap_policy.value == "none");
  CHECK(contains(mistakes_of("full_shard auto_wrap", R"({"auto_wrap_policy": "NO_WRAP"})"),
                 "auto_wrap and auto_wrap_policy NO_WRAP contradict each other"));
}

TEST_CASE("the flags of accelerate launch shard with its defaults") {
  const ParallelOptions plain = sharding({"--use_fsdp"});
  CHECK(plain.strategy.value == "full_shard");
  CHECK(plain.wrap_policy.value == "transformer");
  CHECK(sharding({"--use_fsdp", "--fsdp_auto_wrap_policy", "NO_WRAP"}).wrap_policy.value == "none");
  const ParallelOptions options =
      sharding({"--use_fsdp", "--fsdp_auto_wrap_policy=TRANSFORMER_BASED_WRAP",
                "--fsdp_transformer_layer_cls_to_wrap=GPT2Block", "--fsdp_sharding_strategy=2",
                "--fsdp_state_dict_type=SHARDED_STATE_DICT", "--fsdp_offload_params", "true",
                "--fsdp_backward_prefetch", "NO_PREFETCH", "--fsdp_forward_prefetch", "true",
                "--fsdp_activation_checkpointing", "true"});
  CHECK(options.strategy.value == "shard_grad_op");
  CHECK(options.strategy.origin == "--fsdp_sharding_strategy");
  CHECK(options.wrap_policy.value == "transformer");
  CHECK(options.layer_classes.value == std::vector<std::string>{"GPT2Block"});
  CHECK(options.state_dict.value == "sharded");
  CHECK(options.offload_optimizer.value == "cpu");
  CHECK(options.backward_prefetch.value == "none");
  CHECK(options.forward_prefetch.value == true);
  CHECK(options.activation_checkpointing.value == true);
  CHECK(sharding({"--use_fsdp", "--fsdp_version", "2"}).state_dict.value == "sharded");
  const ParallelOptions sized = sharding({"--use_fsdp", "--fsdp_auto_wrap_policy", "SIZE_BASED_WRAP"});
  CHECK(sized.min_parameters.value == 100'000'000);
}

TEST_CASE("words of the flags of accelerate launch are known in any letter case, as in fsdp_config") {
  const ParallelOptions options =
      sharding({"--use_fsdp", "--fsdp_sharding_strategy", "shard_grad_op", "--fsdp_auto_wrap_policy",
                "transformer_based_wrap", "--fsdp_backward_prefetch", "Backward_Post",
                "--fsdp_state_dict_type", "sharded_state_dict"});
  CHECK(options.strategy.value == "shard_grad_op");
  CHECK(options.wrap_policy.value == "transformer");
  CHECK(options.backward_prefetch.value == "post");
  CHECK(options.state_dict.value == "sharded");
  CHECK(contains(mistakes({"--use_fsdp", "--fsdp_sharding_strategy", "full"}), "did you mean FULL_SHARD?"));
}

TEST_CASE("fsdp and the flags of accelerate launch become one plan, or name both places") {
  CHECK(sharding({"--fsdp", "full_shard", "--use_fsdp", "--fsdp_sharding_strategy", "1"}).strategy.value ==
        "full_shard");
  CHECK(contains(mistakes({"--fsdp", "full_shard", "--use_fsdp", "--fsdp_sharding_strategy", "2"}),
                 "shard_grad_op (--fsdp_sharding_strategy) and full_shard (--fsdp)"));
}

TEST_CASE("an argument wins over a variable of FSDP that says the same in other words, and that is told") {
  using Variables = std::map<std::string, std::string>;
  const auto outcome = [](const Words& words, Variables variables) {
    variables["ACCELERATE_USE_FSDP"] = "true";
    return parse(words, Environment(variables));
  };
  const ParseOutcome strategy =
      outcome({"--fsdp", "full_shard"}, {{"FSDP_SHARDING_STRATEGY", "SHARD_GRAD_OP"}});
  CHECK(*strategy.arguments.parallel.sharding.strategy == "full_shard");
  CHECK(contains(notes(strategy), "no effect of the environment: FSDP_SHARDING_STRATEGY=SHARD_GRAD_OP"));
  CHECK_FALSE(contains(notes(strategy), "ACCELERATE_USE_FSDP=true FSDP_SHARDING_STRATEGY"));
  CHECK(*outcome({"--fsdp", "full_shard"}, {{"FSDP_RESHARD_AFTER_FORWARD", "false"}})
             .arguments.parallel.sharding.strategy == "full_shard");
  CHECK(*outcome({"--fsdp", "true", "--fsdp_config", R"({"reshard_after_forward": true})"},
                 {{"FSDP_SHARDING_STRATEGY", "SHARD_GRAD_OP"}})
             .arguments.parallel.sharding.strategy == "full_shard");
  const auto policy = [&](const Words& words, const Variables& variables) {
    return *outcome(words, variables).arguments.parallel.sharding.wrap_policy;
  };
  CHECK(policy({"--fsdp", "full_shard auto_wrap"}, {{"FSDP_AUTO_WRAP_POLICY", "NO_WRAP"}}) == "transformer");
  const Words by_class = {"--fsdp", "full_shard", "--fsdp_config",
                          R"({"transformer_layer_cls_to_wrap": "GPT2Block"})"};
  CHECK(policy(by_class, {{"FSDP_AUTO_WRAP_POLICY", "SIZE_BASED_WRAP"}, {"FSDP_MIN_NUM_PARAMS", "2000"}}) ==
        "transformer");
  // What an argument left open is filled in.
  const Words by_size = {"--fsdp", "full_shard", "--fsdp_config",
                         R"({"auto_wrap_policy": "SIZE_BASED_WRAP"})"};
  CHECK(
      outcome(by_size, {{"FSDP_MIN_NUM_PARAMS", "2000"}}).arguments.parallel.sharding.min_parameters.value ==
      2000);
  CHECK_NOTHROW(outcome({"--fsdp", "full_shard", "--gradient_checkpointing"},
                        {{"FSDP_ACTIVATION_CHECKPOINTING", "true"}}));
}

TEST_CASE(
    "a variable of FSDP that says something else than an argument is told as without effect, not as used") {
  const auto told = [](const Words& words, std::map<std::string, std::string> variables) {
    variables["ACCELERATE_USE_FSDP"] = "true";
    return notes(parse(words, Environment(variables)));
  };
  const std::string asks = "the environment asks for FSDP: ACCELERATE_USE_FSDP=true",
                    idle = "no effect of the environment: ";
  const auto config = [](const char* text) { return Words{"--fsdp", "true", "--fsdp_config", text}; };
  const std::string files =
      told(config(R"({"state_dict_type": "FULL_STATE_DICT"})"),
           {{"FSDP_STATE_DICT_TYPE", "SHARDED_STATE_DICT"}, {"FSDP_BACKWARD_PREFETCH", "BACKWARD_PRE"}});
  CHECK(contains(files, idle + "FSDP_STATE_DICT_TYPE=SHARDED_STATE_DICT"));
  CHECK(contains(files, asks + " FSDP_BACKWARD_PREFETCH=BACKWARD_PRE"));
  CHECK_FALSE(contains(files, asks + " FSDP_STATE_DICT_TYPE"));
  CHECK(contains(told(config(R"({"version": 1})"), {{"FSDP_VERSION", "2"}}), idle + "FSDP_VERSION=2"));
  CHECK(contains(told(config(R"({"version": 1})"), {{"FSDP_VERSION", "1"}}), asks + " FSDP_VERSION=1"));
  // What the launch exports by itself.
  CHECK(contains(told(config(R"({"cpu_offload": true})"), {{"FSDP_OFFLOAD_PARAMS", "false"}}),
                 idle + "FSDP_OFFLOAD_PARAMS=false"));
  CHECK(contains(told({"--fsdp", "shard_grad_op"}, {{"FSDP_SHARDING_STRATEGY", "FULL_SHARD"}}),
                 idle + "FSDP_SHARDING_STRATEGY=FULL_SHARD"));
  CHECK(contains(told({"--fsdp", "full_shard offload"}, {{"FSDP_OFFLOAD_PARAMS", "0"}}),
                 idle + "FSDP_OFFLOAD_PARAMS=0"));
  CHECK(contains(
      told(config(R"({"activation_checkpointing": false})"),
           {{"FSDP_ACTIVATION_CHECKPOINTING", "true"}, {"FSDP_ACTIVATION_CHECKPOINTING_OFFLOAD", "true"}}),
      idle + "FSDP_ACTIVATION_CHECKPOINTING=true FSDP_ACTIVATION_CHECKPOINTING_OFFLOAD=true"));
}

TEST_CASE(
    "the FSDP environment counts only when accelerate announces it, only where no flag does, and is shown") {
  const std::map<std::string, std::string> variables = {{"FSDP_SHARDING_STRATEGY", "SHARD_GRAD_OP"},
                                                        {"FSDP_TRANSFORMER_CLS_TO_WRAP", "GPT2Block"},
                                                        {"FSDP_STATE_DICT_TYPE", "3"},
                                                        {"FSDP_OFFLOAD_PARAMS", "true"}};
  CHECK_FALSE(sharding({}, Environment(variables)).strategy);
  std::map<std::string, std::string> announced = variables;
  announced["ACCELERATE_USE_FSDP"] = "true";
  const ParseOutcome outcome = parse({}, Environment(announced));
  const ParallelOptions& options = outcome.arguments.parallel.sharding;
  CHECK(options.strategy.value == "shard_grad_op");
  CHECK(options.strategy.origin == "environment FSDP_SHARDING_STRATEGY");
  CHECK(options.wrap_policy.value == "transformer");
  CHECK(options.state_dict.value == "sharded");
  CHECK(options.offload_parameters.value == "cpu");
  CHECK(contains(notes(outcome), "ACCELERATE_USE_FSDP=true FSDP_SHARDING_STRATEGY=SHARD_GRAD_OP"));
  CHECK(sharding({"--fsdp_sharding_strategy", "1"}, Environment(announced)).strategy.value == "full_shard");
}

TEST_CASE(
    "what accelerate launch exports unasked is nobody's word: it is told as no mistake and contradicts "
    "nothing") {
  using Variables = std::map<std::string, std::string>;
  const auto exported = [](const Variables& more) {
    Variables all = {{"ACCELERATE_USE_FSDP", "true"},
                     {"FSDP_VERSION", "1"},
                     {"FSDP_SHARDING_STRATEGY", "FULL_SHARD"},
                     {"FSDP_RESHARD_AFTER_FORWARD", "true"},
                     {"FSDP_OFFLOAD_PARAMS", "false"},
                     {"FSDP_MIN_NUM_PARAMS", "100000000.0"},
                     {"FSDP_FORWARD_PREFETCH", "false"},
                     {"FSDP_USE_ORIG_PARAMS", "true"},
                     {"FSDP_CPU_RAM_EFFICIENT_LOADING", "true"},
                     {"FSDP_SYNC_MODULE_STATES", "true"},
                     {"FSDP_ACTIVATION_CHECKPOINTING", "false"},
                     {"FSDP_ACTIVATION_CHECKPOINTING_OFFLOAD", "false"}};
    for (const auto& [name, value] : more) all[name] = value;
    return Environment(all);
  };
  const Variables version2 = {{"FSDP_VERSION", "2"}}, later = {{"FSDP_MIN_NUM_PARAMS", "100000000"}};
  for (const Variables& more : {Variables{}, version2, later}) {
    const ParseOutcome outcome = parse({}, exported(more));
    CHECK_FALSE(contains(notes(outcome), "has no effect"));
    CHECK(outcome.arguments.parallel.sharding.strategy.value == "full_shard");
    CHECK(outcome.arguments.parallel.sharding.wrap_policy.value == "transformer");
  }
  CHECK(sharding({}, exported({{"FSDP_SHARDING_STRATEGY", "SHARD_GRAD_OP"}})).strategy.value ==
        "shard_grad_op");
  CHECK(sharding({}, exported({{"FSDP_VERSION", "2"}, {"FSDP_RESHARD_AFTER_FORWARD", "false"}}))
            .strategy.value == "shard_grad_op");
  CHECK(sharding({}, exported({{"FSDP_TRANSFORMER_CLS_TO_WRAP", "GPT2Block"}})).wrap_policy.value ==
        "transformer");
  CHECK(sharding({"--fsdp", "shard_grad_op offload"}, exported({})).offload_parameters.value == "cpu");
  // What somebody has asked for is told as before.
  CHECK(contains(notes(parse({}, exported({{"FSDP_VERSION", "2"}, {"FSDP_SYNC_MODULE_STATES", "false"}}))),
                 "sync_module_states has no effect with version 2 of FSDP\n  where: environment "
                 "FSDP_SYNC_MODULE_STATES"));
}

TEST_CASE("FSDP_STATE_DICT_TYPE that says what version 2 does anyway counts as filled in") {
  const auto options = [](const char* version, const char* type) {
    return sharding({}, Environment({{"ACCELERATE_USE_FSDP", "true"},
                                     {"FSDP_VERSION", version},
                                     {"FSDP_STATE_DICT_TYPE", type}}));
  };
  const ParallelOptions repeated = options("2", "SHARDED_STATE_DICT");
  CHECK(repeated.state_dict.value == "sharded");
  CHECK(repeated.state_dict_filled_in);
  CHECK_FALSE(options("1", "SHARDED_STATE_DICT").state_dict_filled_in);
  CHECK_FALSE(options("2", "FULL_STATE_DICT").state_dict_filled_in);
  CHECK(options("2", "FULL_STATE_DICT").state_dict.value == "full");
  const ParallelOptions of_flag =
      sharding({"--use_fsdp", "--fsdp_version", "2", "--fsdp_state_dict_type", "SHARDED_STATE_DICT"});
  CHECK_FALSE(of_flag.state_dict_filled_in);
}

TEST_CASE("rules 39 and S5: one run has one way of sharding") {
  CHECK(contains(mistakes({"--fsdp", "full_shard", "--sharded_ddp", "simple"}),
                 "fsdp and sharded_ddp exclude each other"));
  CHECK(contains(mistakes({"--fsdp", "full_shard", "--deepspeed", "{}"}),
                 "fsdp and deepspeed exclude each other"));
  CHECK(contains(mistakes({"--fsdp", "full_shard", "--zero_stage", "3"}),
                 "fsdp and deepspeed exclude each other\n"
                 "  where: --fsdp (command line), --zero_stage (command line)"));
  CHECK(contains(mistakes({"--zero_stage", "1", "--sharded_ddp", "simple"}),
                 "sharded_ddp and deepspeed exclude each other"));
  const std::map<std::string, std::string> variables = {{"ACCELERATE_USE_DEEPSPEED", "true"}};
  CHECK(contains(mistakes({"--fsdp", "full_shard"}, Environment(variables)),
                 "--fsdp (command line), environment ACCELERATE_USE_DEEPSPEED"));
  CHECK(mistakes({"--zero_stage", "3"}).empty());
}

TEST_CASE("every fsdp_ flag that is implemented is a key that the reader knows") {
  size_t count = 0;
  for (const Flag* flag : flag_table().flags()) {
    if (!flag->name.starts_with("fsdp_") || flag->name == "fsdp_config") continue;
    INFO(flag->name);
    CHECK_FALSE(FsdpReader::canonical(flag->name.substr(5)).empty());
    ++count;
  }
  CHECK(count >= 15);
}

}  // namespace hftrain::arguments
