// `hftrain plan --machines`: the front program alone, whatever this machine has.
#include <filesystem>
#include <fstream>

#include "built_programs.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain {
namespace {

using testing::kProgram;
using testing::Program;

// A run of a Llama of 70 billion parameters, of which only config.json is here.
class Laptop {
 public:
  Laptop() {
    write_file_atomically(
        folder / "llama-70b/config.json",
        R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 8192,
                              "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64,
                              "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192,
                              "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "hidden_act": "silu"})");
    std::ofstream(folder / "text.txt") << std::string(200'000, 'a') << '\n';
    environment.set("HFTRAIN_CACHE", folder / "cache");
  }

  Program plan(const std::vector<std::string>& more) const {
    std::vector<std::string> argv = {kProgram,       "plan",         "--train_file", folder / "text.txt",
                                     "--output_dir", folder / "out", "--block_size", "1024",
                                     "--json"};
    argv.insert(argv.end(), more.begin(), more.end());
    return Program(argv, environment);
  }
  Program plan_70b(const std::vector<std::string>& more) const {
    std::vector<std::string> flags = {"--model_name_or_path", folder / "llama-70b",
                                      "--per_device_train_batch_size", "1"};
    flags.insert(flags.end(), more.begin(), more.end());
    return plan(flags);
  }

  testing::TemporaryDirectory folder;
  Environment environment = Environment::of_process();
};

}  // namespace

TEST_CASE("a 70B model whose weights are elsewhere is planned for 32 GPUs, with an entry for every rank") {
  Laptop laptop;
  laptop.environment.set("CUDA_VISIBLE_DEVICES", "7");
  laptop.environment.set("OMP_NUM_THREADS", "1");
  laptop.environment.set("RANK", "3");
  Program run = laptop.plan_70b({"--machines", "4x8xH100-80GB", "--bf16", "--fsdp", "full_shard auto_wrap",
                                 "--gradient_checkpointing"});
  const int code = run.finish();
  INFO(run.err());
  REQUIRE(code == 0);
  const Json plan = Json::parse(run.out());
  CHECK(plan["world_size"] == 32);
  CHECK(plan["ranks"]["backend"] == "nccl");
  REQUIRE(plan["devices"].size() == 32);
  CHECK(plan["devices"][31]["rank"] == 31);
  CHECK(plan["devices"][31]["node"] == 3);
  CHECK(plan["devices"][31]["name"] == "H100-80GB");
  CHECK(plan["devices"][31]["total_bytes"] == int64_t{81559} << 20);
  CHECK(plan["devices"][0]["threads"] == 24);
  CHECK(plan["disk"]["free_bytes"].is_null());
  CHECK(plan["workers"].size() == 32);
  CHECK(plan["precision"]["compute"] == "bfloat16");
  CHECK_THAT(run.err(), Catch::Contains("not here"));
  CHECK_FALSE(std::filesystem::exists(laptop.folder / "out"));
}

TEST_CASE("what does not fit there ends with 2 and figures in GiB") {
  const Laptop laptop;
  for (const char* machines : {"8xH100-80GB", "8x80GiB", "4x16cores-64GiB"}) {
    INFO(machines);
    Program run = laptop.plan_70b({"--machines", machines});
    CHECK(run.finish() == 2);
    CHECK_THAT(run.err(), Catch::Matches("[^]*[0-9.]+ GiB[^]*[0-9.]+ GiB[^]*"));
  }
}

TEST_CASE("machines without GPUs are told with their memory, and other files are wanted as ever") {
  const Laptop laptop;
  write_file_atomically(laptop.folder / "tiny/config.json",
                        R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 2, "n_positions": 1024,
                            "vocab_size": 64})");
  Program run = laptop.plan({"--model_name_or_path", laptop.folder / "tiny", "--machines", "4x16cores-64GiB",
                             "--nproc_per_node", "2"});
  const int code = run.finish();
  INFO(run.err());
  REQUIRE(code == 0);
  const Json plan = Json::parse(run.out());
  REQUIRE(plan["devices"].size() == 8);
  CHECK(plan["devices"][7]["node"] == 3);
  CHECK(plan["devices"][7]["name"] == "cpu");
  CHECK(plan["devices"][7]["total_bytes"] == int64_t{64} << 30);
  CHECK(plan["devices"][7]["threads"] == 8);
  Program missing = laptop.plan({"--model_name_or_path", laptop.folder / "tiny", "--tokenizer_name",
                                 laptop.folder / "none", "--machines", "4x16cores-64GiB"});
  CHECK(missing.finish() == 4);
}

TEST_CASE("a file of Accelerate for two machines is planned on two, and refused on another number") {
  const Laptop laptop;
  std::ofstream(laptop.folder / "acc.yaml") << "compute_environment: LOCAL_MACHINE\n"
                                               "distributed_type: FSDP\n"
                                               "fsdp_config:\n"
                                               "  fsdp_version: 1\n"
                                               "  fsdp_sharding_strategy: FULL_SHARD\n"
                                               "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
                                               "mixed_precision: bf16\n"
                                               "machine_rank: 0\n"
                                               "main_process_ip: 10.0.0.1\n"
                                               "main_process_port: 29500\n"
                                               "num_machines: 2\n"
                                               "num_processes: 16\n";
  const std::vector<std::string> file = {"--config", laptop.folder / "acc.yaml", "--gradient_checkpointing",
                                         "--machines"};
  const auto on = [&](const std::string& machines) {
    std::vector<std::string> flags = file;
    flags.push_back(machines);
    return laptop.plan_70b(flags);
  };
  Program fits = on("2x8xH200-141GB");
  const int code = fits.finish();
  INFO(fits.err());
  REQUIRE(code == 0);
  CHECK(Json::parse(fits.out())["world_size"] == 16);
  CHECK(Json::parse(fits.out())["workers"][0]["env"]["MASTER_ADDR"] == "10.0.0.1");
  Program fewer = on("8xH200-141GB");
  CHECK(fewer.finish() == 2);
  CHECK_THAT(fewer.err(), Catch::Contains("acc.yaml") && Catch::Contains("number of machines"));
  Program smaller = on("2x4xH200-141GB");
  CHECK(smaller.finish() == 2);
  CHECK_THAT(smaller.err(), Catch::Contains("8 ranks, 4 visible GPUs"));
}

TEST_CASE("the table of --machines list needs no run, and a run itself takes no --machines") {
  Program list({kProgram, "plan", "--machines", "list"});
  CHECK(list.finish() == 0);
  CHECK_THAT(list.out(), Catch::Contains("H100-80GB") && Catch::Contains("V100-16GB"));
  Program document({kProgram, "plan", "--machines", "list", "--json"});
  CHECK(document.finish() == 0);
  CHECK(Json::parse(document.out())["gpus"].size() > 10);
  Program run({kProgram, "train", "--machines", "8xT4", "--train_file", "x.txt", "--model_type", "gpt2",
               "--output_dir", "/nowhere"});
  CHECK(run.finish() == 2);
  CHECK_THAT(run.err(), Catch::Contains("--machines is for plans"));
  Program prepare(
      {kProgram, "prepare", "--machines", "8xT4", "--train_file", "x.txt", "--model_type", "gpt2"});
  CHECK(prepare.finish() == 2);
}

}  // namespace hftrain
