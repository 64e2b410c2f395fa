// Machines that are not this one: what --machines means, and the plan of a run on them.
#include "hftrain/plan/machine_spec.h"

#include "hftrain/arguments/other_machines.h"
#include "hftrain/plan/gpu_models.h"
#include "resolve_case.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::plan {
namespace {

// The tiny run on other machines.
Case on(const std::string& machines, const std::vector<std::string>& flags = {}) {
  const MachineSpec spec = parse_machine_spec(machines);
  Case run(flags, topology_of_machine(spec, {}));
  run.agents = agents_of(spec, run.topology, run.parsed.arguments.launch.nproc_per_node);
  return run;
}

Error error_on(const Case& run) {
  try {
    ResolveInput input = run.input();
    input.elsewhere = true;
    input.free_bytes = std::nullopt;
    resolve(input);
  } catch (const Error& error) {
    return error;
  }
  return Error(ExitCode::kDone, "no error");
}

void enlarge(Case& run, const std::string& type, const std::string& overrides) {
  run.model.architecture = architectures::Architecture::from_scratch(type, overrides);
}

constexpr const char* kSeventyBillion =
    "hidden_size=8192,intermediate_size=28672,num_hidden_layers=80,num_attention_heads=64,num_key_value_"
    "heads=8,vocab_size=128256,max_position_embeddings=8192";

}  // namespace

TEST_CASE("machines x GPUs x name, with the memory, capability and cores of the table") {
  const MachineSpec spec = parse_machine_spec("2x8xH100-80GB");
  CHECK(spec.machines == 2);
  CHECK(spec.gpus == 8);
  CHECK(spec.gpu_name == "H100-80GB");
  CHECK(spec.gpu_bytes == int64_t{81559} << 20);
  CHECK(spec.capability == std::pair(9, 0));
  CHECK(spec.cores == 8 * 24);
  CHECK(spec.cores_assumed);
  CHECK_FALSE(spec.host_bytes);
}

TEST_CASE("one number in front of GPUs counts GPUs, of which a text may give the memory alone") {
  const MachineSpec spec = parse_machine_spec("8x80GiB");
  CHECK(spec.machines == 1);
  CHECK(spec.gpus == 8);
  CHECK(spec.gpu_bytes == 80 * kGiB);
  CHECK_FALSE(spec.capability);
  CHECK(parse_machine_spec("4x2x24GB").machines == 4);
  CHECK(parse_machine_spec("4x2x24GB").gpu_bytes == 24'000'000'000);
  CHECK(parse_machine_spec("B200").gpus == 1);
}

TEST_CASE("machines without GPUs are cores and memory") {
  const MachineSpec spec = parse_machine_spec("4x16cores-64GiB");
  CHECK(spec.machines == 4);
  CHECK(spec.gpus == 0);
  CHECK(spec.cores == 16);
  CHECK(spec.host_bytes == 64 * kGiB);
  CHECK(parse_machine_spec("1cores-2GiB").machines == 1);
}

TEST_CASE("cores and memory of the host may stand behind GPUs, and names are read generously") {
  const MachineSpec spec = parse_machine_spec("2x4xrtx_4090-64cores-1.5TiB");
  CHECK(spec.gpu_name == "RTX-4090");
  CHECK(spec.cores == 64);
  CHECK_FALSE(spec.cores_assumed);
  CHECK(spec.host_bytes == 1536 * kGiB);
  CHECK(parse_machine_spec("8xA100-40GB-900GiB").host_bytes == 900 * kGiB);
  CHECK(parse_machine_spec("8x80GiB-32cores").cores == 32);
}

TEST_CASE("every GPU of the table can be named, and the list shows it") {
  const std::string list = describe_gpu_models();
  for (const GpuModel& model : gpu_models()) {
    INFO(model.name);
    const MachineSpec spec = parse_machine_spec("2x8x" + std::string(model.name));
    CHECK(spec.gpu_name == model.name);
    CHECK(spec.gpu_bytes == model.memory_bytes());
    CHECK(contains(list, model.name));
  }
}

TEST_CASE("what describes no machines is a usage error that shows what would") {
  for (const char* text : {"",
                           "x",
                           "2x",
                           "0xH100-80GB",
                           "2x0xT4",
                           "H100-81GB",
                           "2x8x8xT4",
                           "2x4x16cores-64GiB",
                           "16cores",
                           "16cores-64",
                           "T4-64GiB-8cores",
                           "8x80",
                           "-8xT4",
                           "99999999999xT4",
                           "2000xT4",
                           "200000x1xT4",
                           "100000x1024xT4",
                           "129x1024x80GiB",
                           "8x0GiB",
                           "1.5cores-2GiB",
                           "8xT4-",
                           "list8"}) {
    INFO(text);
    try {
      parse_machine_spec(text);
      FAIL("it was accepted");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kUsage);
      CHECK(contains(error.render(), "--machines"));
      CHECK(contains(error.render(), "2x8xH100-80GB"));
    }
  }
  try {
    parse_machine_spec("8xH100");
    FAIL("it was accepted");
  } catch (const Error& error) {
    CHECK(contains(error.render(), "describes no machines\n"));
    CHECK(contains(error.render(), "try: did you mean H100-94GB"));
  }
}

TEST_CASE("machines with more ranks than a plan can hold are refused before any of them is made") {
  CHECK(parse_machine_spec("128x1024xT4").gpus == 1024);
  CHECK(parse_machine_spec("100000x1xT4").machines == 100'000);
  CHECK_REFUSED(parse_machine_spec("100000x1024xT4"),
                "102,400,000 GPUs, and a plan has at most 131,072 ranks");
  const auto check = [](const std::string& machines, const std::vector<std::string>& flags) {
    check_machines(parse_machine_spec(machines), Case(flags).parsed);
  };
  CHECK_NOTHROW(check("1000x4cores-16GiB", {"--nproc_per_node", "131"}));
  CHECK_NOTHROW(check("1000x4cores-16GiB", {"--nproc_per_node", "auto"}));
  CHECK_NOTHROW(check("2x8xT4", {"--cpu_ranks", "99999"}));
  CHECK_REFUSED(check("1000x4cores-16GiB", {"--nproc_per_node", "132"}), "a plan has at most 131,072 ranks");
  CHECK_REFUSED(check("1000x4cores-16GiB", {"--cpu_ranks", "99999"}), "99,999 on each of 1000 machines");
  for (const char* word : {"cpu", "auto"})
    CHECK_REFUSED(check("1000x4000cores-16GiB", {"--nproc_per_node", word}),
                  "4,000 on each of 1000 machines");
  const std::string of_both = "1000x8xT4-4000cores-16GiB";
  CHECK_NOTHROW(check(of_both, {"--nproc_per_node", "auto"}));
  CHECK_REFUSED(check(of_both, {"--nproc_per_node", "auto", "--use_cpu"}), "4,000 on each of 1000 machines");
  CHECK_REFUSED(check(of_both, {"--cpu_ranks", "99999", "--use_cpu"}), "99,999 on each of 1000 machines");
}

TEST_CASE("a plan for other machines has a rank for each of their GPUs, NCCL and float16") {
  const RunPlan plan = on("2x8xH100-80GB", {"--fp16"}).plan();
  CHECK(plan.ranks.world_size == 16);
  CHECK(plan.ranks.nodes == 2);
  CHECK(plan.ranks.local_world_size == 8);
  CHECK(plan.ranks.backend == "nccl");
  CHECK(plan.ranks.ranks.back().node == 1);
  CHECK(plan.ranks.ranks.back().device_name == "H100-80GB");
  CHECK(plan.ranks.ranks.back().threads == 24);
  CHECK(plan.precision.compute == "float16");
  CHECK(plan.precision.gradient_scaler);
}

TEST_CASE("machines without GPUs get one rank each, or as many as are asked for") {
  CHECK(on("4x16cores-64GiB").plan().ranks.world_size == 4);
  const RanksPlan ranks = on("4x16cores-64GiB", {"--nproc_per_node", "8"}).plan().ranks;
  CHECK(ranks.world_size == 32);
  CHECK(ranks.backend == "gloo");
  CHECK(ranks.ranks.front().threads == 2);
  CHECK(error_on(on("4x16cores-64GiB", {"--fp16"})).code() == ExitCode::kUsage);
}

TEST_CASE(
    "bfloat16 is refused on GPUs of the table that lack it, and taken to work where only the memory is "
    "known") {
  CHECK(error_on(on("8xV100-32GB", {"--bf16"})).code() == ExitCode::kUsage);
  CHECK(error_on(on("8xT4", {"--bf16"})).code() == ExitCode::kUsage);
  CHECK(on("8xA10", {"--bf16"}).plan().precision.compute == "bfloat16");
  const Case unknown = on("8x80GiB", {"--bf16"});
  CHECK(unknown.plan().precision.compute == "bfloat16");
  std::string notes;
  for (const Diagnostic& note : notes_of(parse_machine_spec("8x80GiB"), unknown.parsed, unknown.plan()))
    notes += note.render() + '\n';
  CHECK(contains(notes, "compute capability 8.0"));
}

TEST_CASE(
    "a model that does not fit is a usage error with figures in GiB, and fits when it is sharded enough") {
  Case run = on("1x8xH100-80GB");
  enlarge(run, "llama", kSeventyBillion);
  const Error error = error_on(run);
  CHECK(error.code() == ExitCode::kUsage);
  CHECK(contains(error.render(), "1051.3 GiB"));  // 70.6e9 parameters of 16 bytes
  CHECK(contains(error.render(), "79.6 GiB"));
  CHECK(run.error().code() == ExitCode::kDeviceMemory);  // of a run, on such a machine
  Case sharded = on("4x8xH100-80GB", {"--fsdp", "full_shard auto_wrap", "--bf16",
                                      "--per_device_train_batch_size", "1", "--block_size", "64"});
  enlarge(sharded, "llama", kSeventyBillion);
  CHECK(error_on(sharded).code() == ExitCode::kDone);
}

TEST_CASE("keys that are repeated for each head of queries count on a GPU where its kernels know no groups") {
  const auto activations = [](const std::string& machines, const std::string& heads,
                              std::vector<std::string> flags) {
    Case run = on(machines, flags);
    enlarge(run, "llama",
            "hidden_size=64,intermediate_size=64,num_hidden_layers=2,num_attention_heads=8,head_dim=8,"
            "max_position_embeddings=64,vocab_size=100,num_key_value_heads=" +
                heads);
    return run.plan().memory_per_rank.activations;
  };
  const int64_t tokens = 8 * 64, queries = 64, keys = 16, blocks = 2;
  const auto saved = [&](const std::string& machines, const std::vector<std::string>& flags) {
    return activations(machines, "8", flags) - activations(machines, "2", flags);
  };
  // Repeated they take what they would with as many heads as the queries.
  CHECK(saved("1xH100-80GB", {}) == 0);
  CHECK(saved("1xH100-80GB", {"--bf16"}) == blocks * tokens * (queries - keys) * 2 * 2);
  // Of a host one block more, whose gradients are counted beside what it keeps.
  CHECK(saved("4cores-64GiB", {}) == (blocks + 1) * tokens * (queries - keys) * 2 * 4);
}

TEST_CASE("keys that are repeated beside the mask of a window count for the blocks that have one") {
  const auto activations = [](const std::string& heads, const std::string& window) {
    Case run = on("1xH100-80GB", {"--bf16"});
    enlarge(run, "mistral",
            "hidden_size=64,intermediate_size=64,num_hidden_layers=2,num_attention_heads=8,head_dim=8,"
            "max_position_embeddings=64,vocab_size=100,num_key_value_heads=" +
                heads + ",sliding_window=" + window);
    return run.plan().memory_per_rank.activations;
  };
  const auto of_window = [&](const std::string& heads) {
    return activations(heads, "16") - activations(heads, "64");
  };
  const int64_t tokens = 8 * 64, repeated = 2 * (64 - 16), blocks = 2, mask = 64 * 64 * 2;
  CHECK(of_window("8") == mask);
  CHECK(of_window("2") == mask + blocks * tokens * repeated * 2);
}

TEST_CASE("beside an older release it is told that norms do not decay as they did") {
  const auto told = [](const std::string& family, const std::string& release, const std::string& decay) {
    Case run = on("4cores-64GiB", {"--hf_compat", release, "--weight_decay", decay, "--output_dir", "out"});
    enlarge(run, family,
            "hidden_size=64,intermediate_size=64,num_hidden_layers=1,num_attention_heads=8,num_key_value_"
            "heads=8,max_position_"
            "embeddings=64,"
            "vocab_size=100");
    return contains(run.notes(), "norms do not decay");
  };
  CHECK(told("mistral", "4.48", "0.1"));
  CHECK(told("qwen2", "4.46.3", "0.1"));
  CHECK_FALSE(told("mistral", "4.49", "0.1"));
  CHECK_FALSE(told("mistral", "4.48", "0"));
  CHECK_FALSE(told("llama", "4.48", "0.1"));
  CHECK_FALSE(told("qwen3", "4.48", "0.1"));  // there was none
}

TEST_CASE("a mask that the blocks of a decoder share counts once on a GPU, and for each window") {
  const auto activations = [](const std::string& machines, const std::string& overrides) {
    Case run = on(machines, {"--bf16"});
    enlarge(run, "mistral",
            "hidden_size=64,intermediate_size=64,num_hidden_layers=3,num_attention_heads=8,head_dim=8,"
            "num_key_value_heads=8,max_position_embeddings=64,vocab_size=100," +
                overrides);
    return run.plan().memory_per_rank.activations;
  };
  const auto more = [&](const std::string& machines) {
    return activations(machines, "sliding_window=16") - activations(machines, "sliding_window=64");
  };
  CHECK(more("1xH100-80GB") == 64 * 64 * 2);
  CHECK(more("4cores-64GiB") == 0);
}

TEST_CASE(
    "the last matrix's gradient is summed in float32 on a GPU, and copied once where the matrix is not") {
  const auto activations = [](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--bf16", "--per_device_train_batch_size", "64"});  // 4,096 tokens
    Case run = on("1xH100-80GB", std::move(flags));
    enlarge(run, "gpt2", "n_embd=8,n_head=1,n_layer=1,n_positions=64,vocab_size=65536");
    return run.plan().memory_per_rank.activations;
  };
  CHECK(activations({}) - activations({"--freeze_embeds"}) == int64_t{65536} * 8 * 4);
  const std::vector<std::string> sharded = {"--fsdp", "full_shard"},
                                 frozen = {"--fsdp", "full_shard", "--freeze_embeds"};
  CHECK(activations(sharded) - activations(frozen) == int64_t{65536} * 8 * (4 + 2));
}

TEST_CASE(
    "a vocabulary that products of a GPU are slow with counts as the next they are quick with, and its "
    "copy") {
  const auto memory = [](const std::string& machines, const std::string& words,
                         std::vector<std::string> flags = {"--bf16"}) {
    flags.insert(flags.end(), {"--do_train", "--do_eval"});
    Case run = on(machines, flags);
    run.data.validation = SplitFacts{.cache_path = "v", .samples = 99, .tokens = 99 * 64, .exact = true};
    enlarge(run, "gpt2", "n_embd=8,n_head=1,n_layer=1,n_positions=64,vocab_size=" + words);
    return run.plan().memory_per_rank;
  };
  const std::vector<std::string> sharded = {"--fp16", "--fsdp", "full_shard"};
  const MemoryPlan padded = memory("1xH100-80GB", "50257", sharded),
                   whole = memory("1xH100-80GB", "50304", sharded);
  CHECK(padded.activations == whole.activations + int64_t{50304} * 8 * 2);
  CHECK(padded.evaluation == whole.evaluation + int64_t{50304} * 8 * 2);
  // Of a matrix that is kept in float32 the copy is the one in the type of the forward pass.
  const MemoryPlan cast = memory("1xH100-80GB", "50304", {"--fp16"});
  CHECK(memory("1xH100-80GB", "50257", {"--fp16"}).activations == cast.activations);
  CHECK(memory("1xH100-80GB", "50257", {"--fp16"}).evaluation == cast.evaluation);
  // Of 512 tokens logits in float32 and their probabilities, in training their gradient too, beside that of the matrix; of
  // evaluation those of a smaller last batch beside them.
  const MemoryPlan half = memory("1xH100-80GB", "25152", {"--fp16"});
  CHECK(cast.activations - half.activations == int64_t{25152} * (512 * (4 + 4 + 2) + 8 * 4));
  CHECK(cast.evaluation - half.evaluation == int64_t{25152} * 768 * (4 + 4));
  CHECK(memory("4cores-64GiB", "50257").activations < memory("4cores-64GiB", "50304").activations);
}

TEST_CASE("a bias that the blocks of a stack share counts once on a GPU, and for each block on a CPU") {
  int64_t places = 0, answers = 0;  // of all rows, for a head
  const auto of_a_head = [&](const std::string& machines, const std::string& layers) {
    const auto activations = [&](const std::string& heads, const std::string& width) {
      Case run = on(machines, {"--bf16", "--task", "summarization"});
      run.model.architecture = architectures::Architecture::from_scratch(
          "t5",
          "d_model=8,d_ff=8,vocab_size=100,dropout_rate=0,decoder_start_token_id=0,num_decoder_layers=1,"
          "num_layers=" +
              layers + ",num_heads=" + heads + ",d_kv=" + width,
          architectures::Head::kSeq2SeqLm);
      const RunPlan plan = run.plan();
      places = plan.batch.per_device_train * plan.data.block_size * plan.data.block_size;
      answers = plan.batch.per_device_train * plan.data.target_size * plan.data.target_size;
      return plan.memory_per_rank.activations;
    };
    return (activations("4", "4") - activations("2", "8")) / 2;
  };
  // In bfloat16; of the encoder's, which is larger, two gradients while they are added.
  const int64_t once = of_a_head("1xH100-80GB", "1");
  CHECK(once == 2 * (3 * places + answers));
  CHECK(of_a_head("1xH100-80GB", "5") == once);
  CHECK(of_a_head("4cores-64GiB", "5") > of_a_head("4cores-64GiB", "1"));
}

TEST_CASE("activations that are expected to take far more than there is are a mistake of the plan") {
  Case run = on("1xT4", {"--per_device_train_batch_size", "4000000"});
  CHECK(error_on(run).code() ==
        ExitCode::kDone);  // no batch holds more than the 1,000 samples that there are
  run.data.train->samples = 4'000'000;
  const Error error = error_on(run);
  CHECK(error.code() == ExitCode::kUsage);
  CHECK(contains(error.render(), "is expected to need"));
  CHECK(contains(error.render(), "GiB"));
  CHECK(run.error().code() == ExitCode::kDone);  // a run tries
}

TEST_CASE("ranks on CPUs that are expected to take far more than a machine has are a mistake of the plan") {
  // Of 138 MiB each, and 90 before they hold a tensor.
  const Case run = on("16cores-1GiB", {"--nproc_per_node", "9"});
  const Error error = error_on(run);
  CHECK(error.code() == ExitCode::kUsage);
  CHECK(contains(error.render(), "is expected to need"));
  CHECK(contains(error.render(), "fewer ranks on a machine"));
  CHECK(run.error().code() == ExitCode::kDone);  // a run tries
  CHECK(error_on(on("16cores-1GiB", {"--nproc_per_node", "7"})).code() == ExitCode::kDone);
}

TEST_CASE("the memory of a host counts where --machines says it") {
  Case run = on("1x2xB200-8cores-16GiB", {"--fsdp", "full_shard offload auto_wrap"});
  enlarge(run, "llama", kSeventyBillion);
  CHECK(contains(error_on(run).render(), "of host memory, of 16.0 GiB"));
  Case unknown = on("1x2xB200", {"--fsdp", "full_shard offload auto_wrap"});
  enlarge(unknown, "llama", kSeventyBillion);
  CHECK_FALSE(contains(error_on(unknown).render(), "host memory"));
}

TEST_CASE("an unknown disk is not checked") {
  const Case run = on("8xT4");
  ResolveInput input = run.input();
  input.free_bytes = std::nullopt;
  CHECK(resolve(input).disk.free_bytes < 0);
  CHECK(resolve(input).disk.needed_bytes > 0);
  input.free_bytes = 10;
  CHECK_REFUSED(resolve(input), "on the disk");
}

TEST_CASE("machines and a run for another number of machines are refused with the place that says so") {
  const auto check = [](const std::string& machines, const std::vector<std::string>& flags) {
    check_machines(parse_machine_spec(machines), Case(flags).parsed);
  };
  CHECK_NOTHROW(check("2x8xT4", {}));
  CHECK_NOTHROW(check("2x8xT4", {"--num_machines", "2", "--num_processes", "16"}));
  CHECK_THROWS_WITH(check("2x8xT4", {"--nnodes", "4"}), Catch::Contains("number of machines"));
  CHECK_REFUSED(check("8xT4", {"--num_machines", "2", "--num_processes", "16"}),
                "the number of machines of the run differ");
  CHECK_REFUSED(check("2x8xT4", {"--standalone"}), "standalone is one machine");
}

TEST_CASE("GPUs that the run leaves idle are named with what says so") {
  const Case run = on("2x8xT4", {"--nproc_per_node", "4"});
  std::string notes;
  for (const Diagnostic& note : notes_of(parse_machine_spec("2x8xT4"), run.parsed, run.plan()))
    notes += note.render() + '\n';
  CHECK(contains(notes, "4 of 8 GPUs of a machine are used"));
  CHECK(contains(notes, "--nproc_per_node (command line)"));
  CHECK(contains(notes, "each gets 4 ranks"));
}

TEST_CASE(
    "a plan for other machines sees neither the GPUs nor the threads of this environment, but those of its "
    "files") {
  const Environment here(
      {{"CUDA_VISIBLE_DEVICES", "3"}, {"OMP_NUM_THREADS", "1"}, {"PET_NNODES", "7"}, {"HOME", "/root"}});
  const Environment there = arguments::of_other_machines(here);
  CHECK(there.variables().size() == 1);
  Environment exported = there;
  exported.set("CUDA_VISIBLE_DEVICES", "0,5");
  exported.set("OMP_NUM_THREADS", "3");
  const Topology topology = topology_of_machine(parse_machine_spec("8xT4"), exported);
  REQUIRE(topology.visible.devices.size() == 2);
  CHECK(topology.visible.devices[1].device.index == 5);
  CHECK(topology.host.requested_threads == 3);
}

}  // namespace hftrain::plan
