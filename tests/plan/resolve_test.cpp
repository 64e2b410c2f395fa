#include "hftrain/plan/resolve.h"

#include <algorithm>
#include <fstream>

#include "hftrain/plan/resolve_parts.h"
#include "resolve_case.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::plan {
namespace {

TEST_CASE("without a GPU there is one CPU rank with all cores") {
  const RunPlan plan = Case().plan();
  CHECK(plan.ranks.world_size == 1);
  CHECK(plan.ranks.backend == "none");
  CHECK(plan.ranks.ranks[0].device == DeviceKind::kCpu);
  CHECK(plan.ranks.ranks[0].ordinal == -1);
  CHECK(plan.ranks.ranks[0].threads == 8);
  CHECK(plan.strategy.name == "single");
  std::vector<std::string> units;
  for (const UnitPlan& unit : plan.strategy.units) units.push_back(unit.name);
  CHECK(units == std::vector<std::string>{"embeddings", "block.0", "block.1", "head"});
}

TEST_CASE("CPU ranks share the cores and talk through shared memory") {
  const RunPlan plan = Case({"--nproc_per_node", "3"}).plan();
  CHECK(plan.ranks.world_size == 3);
  CHECK(plan.ranks.backend == "shm");
  CHECK(plan.ranks.ranks[2].threads == 2);
  CHECK(plan.strategy.name == "ddp");
  CHECK(plan.strategy.mesh_replicate == 3);
}

TEST_CASE("there is one rank per visible GPU, with ordinals inside the mask") {
  const RunPlan plan = Case({}, machine(4, "3,1")).plan();
  CHECK(plan.ranks.world_size == 2);
  CHECK(plan.ranks.backend == "nccl");
  CHECK(plan.ranks.ranks[0].ordinal == 0);
  CHECK(plan.ranks.ranks[0].device_uuid == "GPU-3");
  CHECK(plan.ranks.ranks[1].device_uuid == "GPU-1");
  CHECK(plan.ranks.ranks[1].threads == 4);
  CHECK(plan.data.pin_memory);
}

TEST_CASE("use_cpu and an empty mask ignore GPUs") {
  CHECK(Case({"--use_cpu"}, machine(2)).plan().ranks.ranks[0].device == DeviceKind::kCpu);
  CHECK(Case({}, machine(2, "")).plan().ranks.ranks[0].device == DeviceKind::kCpu);
  CHECK(Case({}, machine(2, "-1")).plan().ranks.world_size == 1);
  CHECK_FALSE(Case({"--use_cpu"}, machine(2)).plan().data.pin_memory);
}

TEST_CASE("loader threads, what each has ready, and pinned memory are those that flags name") {
  CHECK(Case().plan().data.loader_workers == 0);
  CHECK(Case().plan().data.prefetch_factor == 2);
  const DataPlan asked =
      Case({"--dataloader_num_workers", "3", "--dataloader_prefetch_factor", "5"}).plan().data;
  CHECK(asked.loader_workers == 3);
  CHECK(asked.prefetch_factor == 5);
  CHECK(Case({}, machine(2)).plan().data.pin_memory);
  CHECK_FALSE(Case({"--dataloader_pin_memory", "false"}, machine(2)).plan().data.pin_memory);
}

TEST_CASE("more ranks than GPUs are refused with the mask") {
  const Error error = Case({"--nproc_per_node", "3"}, machine(4, "3,1")).error();
  CHECK(error.code() == ExitCode::kUsage);
  CHECK(contains(error.render(), "3 ranks, 2 visible GPUs"));
  CHECK(contains(error.render(), "CUDA_VISIBLE_DEVICES=3,1"));
}

TEST_CASE("a mask that leaves no GPU is an error, not a CPU run") {
  const Error error = Case({}, machine(2, "7")).error();
  CHECK(error.code() == ExitCode::kEnvironment);
  CHECK(contains(error.render(), "beyond the 2 GPUs"));
  CHECK(Case({}, machine(0, "0")).plan().ranks.world_size == 1);  // no GPU in the machine at all
}

TEST_CASE("GPUs without a driver are an environment error with the driver's reason") {
  Case broken;
  broken.topology.gpu_problem = "the driver does not answer";
  CHECK(broken.error().code() == ExitCode::kEnvironment);
  CHECK(contains(broken.error().render(), "the driver does not answer"));
  Case cpu({"--use_cpu"});
  cpu.topology.gpu_problem = "the driver does not answer";
  CHECK(cpu.plan().ranks.world_size == 1);
}

TEST_CASE("a GPU that the command line asks for and that is not there is an environment error") {
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"--gpu_ids", "7"},
                                                {"--num_gpus", "2"},
                                                {"--num-accelerators", "2"},
                                                {"--multi_gpu", "--num_processes", "2"}}) {
    INFO(flags.front());
    Case run(flags);
    CHECK(run.error().code() == ExitCode::kEnvironment);
    CHECK(contains(run.error().render(), "a GPU is asked for, and there is none\n  where: --"));
    CHECK(contains(run.error().render(), "why: no NVIDIA driver answers on this machine"));
  }
  CHECK(contains(Case({"--num_gpus", "2"}, machine(2, "")).error().render(), "CUDA_VISIBLE_DEVICES= hides"));
  CHECK(Case({"--gpu_ids", "all"}).plan().ranks.world_size == 1);
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--gpu_ids", "7", "--use_cpu"}, {"--num_gpus", "2", "--use_cpu"}})
    CHECK(Case(flags).plan().ranks.ranks[0].device == DeviceKind::kCpu);
}

TEST_CASE("what a file says of GPUs is a demand as much as a flag") {
  const testing::TemporaryDirectory folder;
  std::ofstream(folder / "acc.yaml") << "distributed_type: MULTI_GPU\nnum_processes: 2\n";
  const std::vector<std::string> file = {"--config", folder / "acc.yaml"};
  CHECK(Case(file).error().code() == ExitCode::kEnvironment);
  CHECK(contains(Case(file).error().render(), "a GPU is asked for, and there is none\n  where: multi_gpu (" +
                                                  (folder / "acc.yaml") + ":1:19)"));
  CHECK(Case(file, machine(2)).plan().ranks.world_size == 2);
  CHECK(Case({"--config", folder / "acc.yaml", "--use_cpu"}).plan().ranks.world_size == 2);
  std::ofstream(folder / "run.yaml") << "num_gpus: 2\n";
  CHECK(Case({"--config", folder / "run.yaml"}).error().code() == ExitCode::kEnvironment);
}

TEST_CASE("what is wrong with --gpu_ids is said of that flag, and of no flag in a run on the CPU") {
  Case run({"--gpu_ids", "7"}, machine(2, "7"));
  CHECK(contains(run.error().render(), "gpu_ids leaves no GPU\n  where: --gpu_ids"));
  CHECK_FALSE(contains(run.error().render(), "CUDA_VISIBLE_DEVICES"));
  Case some({"--gpu_ids", "1,7"}, machine(2, "1,7"));
  CHECK(contains(some.notes(), "'7' in gpu_ids"));
  CHECK(Case({"--gpu_ids", "7", "--use_cpu"}, machine(0, "7")).notes().find("'7'") == std::string::npos);
}

TEST_CASE("cpu_ranks counts where no GPU is used and nproc_per_node is not given") {
  const auto ranks = [](std::vector<std::string> flags, Topology where) {
    return Case(std::move(flags), std::move(where)).plan().ranks.world_size;
  };
  CHECK(ranks({"--cpu_ranks", "3"}, machine(0)) == 3);
  CHECK(ranks({"--cpu_ranks", "3", "--use_cpu"}, machine(8)) == 3);
  CHECK(ranks({"--cpu_ranks", "3"}, machine(8, "")) == 3);
  CHECK(ranks({"--cpu_ranks", "3"}, machine(1)) == 1);
  CHECK(ranks({"--cpu_ranks", "3"}, machine(8)) == 8);
  CHECK(ranks({"--cpu_ranks", "3", "--nproc_per_node", "2"}, machine(0)) == 2);
  CHECK(
      contains(Case({"--cpu_ranks", "3", "--nproc_per_node", "2"}).notes(),
               "cpu_ranks 3 has no effect\n  where: --cpu_ranks (command line)\n  why: nproc_per_node is 2"));
}

TEST_CASE("nproc_per_node understands gpu, cpu and auto") {
  CHECK(Case({"--nproc_per_node", "gpu"}, machine(2)).plan().ranks.world_size == 2);
  CHECK(Case({"--nproc_per_node", "gpu"}).error().code() == ExitCode::kEnvironment);
  CHECK(Case({"--nproc_per_node", "cpu"}).plan().ranks.world_size == 8);
  CHECK(Case({"--nproc_per_node", "auto"}).plan().ranks.world_size == 8);
  CHECK(Case({"--nproc_per_node", "auto"}, machine(2)).plan().ranks.world_size == 2);
  CHECK(Case({"--nproc_per_node", "cpu"}, machine(2)).error().code() == ExitCode::kUsage);
}

TEST_CASE("a back end that cannot reach the ranks is refused") {
  CHECK(contains(Case({"--nproc_per_node", "2", "--ddp_backend", "nccl"}).error().render(), "does not work"));
  CHECK(contains(Case({"--ddp_backend", "gloo"}, machine(2)).error().render(), "does not work"));
  CHECK(contains(Case({"--ddp_backend", "shm"}, machine(2)).error().render(), "does not work"));
  const Case wrong({"--nproc_per_node", "2", "--ddp_backend", "nccl"});
  CHECK(contains(wrong.error().render(), "--ddp_backend shm"));
  CHECK(Case({"--nproc_per_node", "2", "--ddp_backend", "gloo"}).plan().ranks.backend == "gloo");
}

TEST_CASE("threads are at least one, and OMP_NUM_THREADS decides where it is set") {
  CHECK(Case({"--nproc_per_node", "4"}, machine(0, std::nullopt, 2)).plan().ranks.ranks[0].threads == 1);
  Case fixed({"--nproc_per_node", "2"});
  fixed.topology.host.requested_threads = 6;
  fixed.topology.host.threads_variable = "OMP_NUM_THREADS";
  CHECK(fixed.plan().ranks.ranks[0].threads == 6);
  CHECK(contains(fixed.notes(), "OMP_NUM_THREADS=6"));
  CHECK(contains(fixed.notes(), "12 threads share 8 cores"));
}

TEST_CASE("a variable of threads that holds no number is warned of, and none that does") {
  Case run;
  for (const char* variable : {"MKL_NUM_THREADS", "OMP_NUM_THREADS"}) {
    for (const char* value : {"abc", "0", "-2", "1000000000"}) {
      run.environment = environment_of({{variable, value}});
      CHECK(contains(run.notes(), std::string(variable) + '=' + value + " has no effect"));
    }
    for (const char* value : {"", "2", "4,2"}) {
      run.environment = environment_of({{variable, value}});
      CHECK_FALSE(contains(run.notes(), "has no effect"));
    }
  }
}

TEST_CASE("the batch counts ranks and accumulation, and split_batches does not multiply it") {
  const std::vector<std::string> flags = {
      "--nproc_per_node", "2", "--gradient_accumulation_steps", "3", "--per_device_train_batch_size", "4"};
  CHECK(Case(flags).plan().batch.global_train == 24);
  std::vector<std::string> split = flags;
  split.insert(split.end(), {"--accelerator_config", R"({"split_batches": true})"});
  CHECK(Case(split).plan().batch.global_train == 12);
  split[5] = "3";
  CHECK(contains(Case(split).error().render(), "multiple of the number of ranks"));
}

TEST_CASE("steps come from the samples, the ranks and the accumulation") {
  const RunPlan plan = Case({"--nproc_per_node", "2", "--gradient_accumulation_steps", "3",
                             "--num_train_epochs", "2", "--logging_steps", "0.1", "--warmup_steps", "0.05"})
                           .plan();
  CHECK(plan.steps.batches_per_epoch == 63);  // 125 batches of 8 for two ranks
  CHECK(plan.steps.updates_per_epoch == 21);
  CHECK(plan.steps.max_steps == 42);
  CHECK(plan.logging.interval.steps == 5);
  CHECK(plan.schedule.warmup_steps == 3);
  CHECK(plan.saving.interval.steps == 500);
}

TEST_CASE("a warmup_ratio of 1 is all updates where it was a field of its own") {
  const auto warmup = [](const Words& words) {
    return Case(joined({"--max_steps", "10"}, words)).plan().schedule.warmup_steps;
  };
  CHECK(warmup({"--warmup_ratio", "1.0", "--hf_compat", "4.57"}) == 10);
  CHECK(warmup({"--warmup_ratio", "1", "--warmup_steps", "0", "--hf_compat", "4.57.1"}) == 10);
  CHECK(warmup({"--warmup_ratio", "0.5", "--hf_compat", "4.57"}) == 5);
  CHECK(warmup({"--warmup_steps", "1", "--hf_compat", "4.57"}) == 1);
  CHECK(warmup({"--warmup_ratio", "1", "--hf_compat", "5.0"}) == 1);
  CHECK(warmup({"--warmup_ratio", "1"}) == 1);
}

TEST_CASE("data that do not make a batch are a data error") {
  Case empty;
  empty.data.train->samples = 0;
  CHECK(empty.error().code() == ExitCode::kData);
  Case dropped({"--dataloader_drop_last"});
  dropped.data.train->samples = 7;
  CHECK(dropped.error().code() == ExitCode::kData);
  Case estimate;
  estimate.data.train = SplitFacts{"", 0, 0, false};
  CHECK(estimate.plan().steps.max_steps == 0);
  Case unknown;
  unknown.data.train.reset();
  CHECK(unknown.plan().steps.max_steps == 0);
}

TEST_CASE("ranks with different numbers of batches are refused before they wait for each other") {
  const std::vector<std::string> flags = {"--nproc_per_node", "2", "--accelerator_config",
                                          R"({"even_batches": false})"};
  CHECK(contains(Case(flags).error().render(), "different numbers of training batches"));
  Case even(flags);
  even.data.train->samples = 960;
  CHECK(even.plan().steps.batches_per_epoch == 60);
}

TEST_CASE("the block is the tokenizer's length, or at most 1024 positions") {
  CHECK(Case().plan().data.block_size == 64);  // all positions
  Case long_model({"--config_overrides", "n_positions=4096,n_embd=8,n_head=2,n_layer=1"});
  CHECK(long_model.plan().data.block_size == 1024);
  long_model.model.tokenizer_max_length = 2048;
  CHECK(long_model.plan().data.block_size == 2048);
  long_model.model.tokenizer_max_length = 100000;
  CHECK(long_model.plan().data.block_size == 1024);
  Case given({"--block_size", "48"});
  CHECK(given.plan().data.block_size == 48);
  given.model.tokenizer_max_length = 32;
  CHECK(given.plan().data.block_size == 32);
}

// A family whose sequences may be of any length.
class Unlimited : public architectures::Architecture {
 public:
  explicit Unlimited(std::shared_ptr<const Architecture> of) : of_(std::move(of)) {}
  const std::string& model_type() const override { return of_->model_type(); }
  architectures::Head head() const override { return of_->head(); }
  const architectures::Labels& labels() const override { return of_->labels(); }
  bool counts_first_label() const override { return of_->counts_first_label(); }
  const std::optional<architectures::AdapterSpec>& adapter() const override { return of_->adapter(); }
  std::vector<std::string> adapter_targets() const override { return of_->adapter_targets(); }
  std::optional<int64_t> pad_token_id() const override { return of_->pad_token_id(); }
  bool learned_positions() const override { return false; }
  architectures::ActivationFootprint activations() const override { return of_->activations(); }
  Json config_json() const override { return of_->config_json(); }
  std::string config_key(const std::string& common) const override { return of_->config_key(common); }
  const architectures::ParameterTable& parameters() const override { return of_->parameters(); }
  std::vector<std::string> layer_class_names() const override { return of_->layer_class_names(); }
  int64_t vocab_size() const override { return of_->vocab_size(); }
  int64_t max_positions() const override { return 0; }
  int64_t hidden_size() const override { return of_->hidden_size(); }
  int64_t layers() const override { return of_->layers(); }

 private:
  std::shared_ptr<const Architecture> of_;
};

TEST_CASE("a model without a position limit takes the tokenizer's length, or 1024 tokens") {
  Case unlimited;
  unlimited.model.architecture = std::make_shared<Unlimited>(architectures::Architecture::from_scratch(
      "llama", "hidden_size=8,num_attention_heads=2,num_hidden_layers=1,intermediate_size=8,vocab_size=50"));
  CHECK(unlimited.plan().data.block_size == 1024);
  unlimited.model.tokenizer_max_length = 512;
  CHECK(unlimited.plan().data.block_size == 512);
  unlimited.model.tokenizer_max_length = 131072;
  CHECK(unlimited.plan().data.block_size == 1024);
}

TEST_CASE("a block that the tokenizer's limit cuts is a warning") {
  Case cut({"--block_size", "48"});
  CHECK_FALSE(contains(cut.notes(), "blocks of"));
  cut.model.tokenizer_max_length = 32;
  CHECK(contains(cut.notes(), "blocks of 32 tokens instead of 48"));
}

TEST_CASE("a block beyond the position embeddings is refused, beyond a rotary model's positions it is not") {
  CHECK(contains(Case({"--block_size", "65"}).error().render(), "64 positions"));
  const auto turned_by = [](const std::string& type) {
    Case run({"--block_size", "65"});
    Json config = architectures::Architecture::from_scratch(
                      "llama",
                      "max_position_embeddings=64,hidden_size=8,intermediate_size=8,num_hidden_layers=1,num_"
                      "attention_heads=1,vocab_size=99")
                      ->config_json();
    config["rope_scaling"] = {{"rope_type", type}, {"factor", 2.0}};
    run.model.architecture = architectures::Architecture::from_config(config, "config.json");
    return run.error();
  };
  CHECK(turned_by("linear").code() == ExitCode::kDone);
  CHECK(turned_by("yarn").code() == ExitCode::kDone);
  CHECK(contains(turned_by("dynamic").render(), "64 positions"));
  CHECK(contains(turned_by("dynamic").render(), "go by the length of each text"));
  CHECK_FALSE(contains(turned_by("dynamic").render(), "resize_position_embeddings"));
  Case one({"--block_size", "48"});  // the parser refuses a 1
  one.model.tokenizer_max_length = 1;
  CHECK(contains(one.error().render(), "block_size must be 2 or more"));
  Case rotary({"--block_size", "65"});
  rotary.model.architecture = architectures::Architecture::from_scratch(
      "llama",
      "hidden_size=8,num_attention_heads=2,num_hidden_layers=1,intermediate_size=8,vocab_size=50,"
      "max_position_embeddings=64");
  CHECK(rotary.plan().data.block_size == 65);
}

TEST_CASE("precision follows the flags and the device") {
  CHECK(Case().plan().precision.compute == "float32");
  CHECK(Case({"--bf16"}).plan().precision.compute == "bfloat16");  // the CPU can
  const RunPlan half = Case({"--fp16"}, machine(1)).plan();
  CHECK(half.precision.compute == "float16");
  CHECK(half.precision.gradient_scaler);
  CHECK(Case({"--bf16_full_eval"}).plan().precision.eval == "bfloat16");
  CHECK(Case({"--dtype", "bfloat16"}).plan().precision.compute == "bfloat16");
  CHECK(Case({"--dtype", "bfloat16"}).plan().model.master_dtype == "bfloat16");
}

TEST_CASE("precision that the device cannot do is refused, all of it at once") {
  const Error cpu = Case({"--fp16", "--tf32", "--fp16_full_eval"}).error();
  CHECK(cpu.code() == ExitCode::kUsage);
  CHECK(cpu.diagnostics().size() == 3);
  Topology old = machine(2);
  for (VisibleDevice& device : old.visible.devices) device.device.compute_major = 7;
  CHECK(contains(Case({"--bf16"}, old).error().render(), "Ampere"));
  CHECK(Case({"--fp16"}, old).plan().precision.gradient_scaler);
  CHECK(contains(Case({"--dtype", "float16"}).error().render(), "float16"));
  CHECK(contains(Case({"--fp16", "--dtype", "float16"}, machine(1)).error().render(), "loss scaling"));
}

TEST_CASE("tf32 that a compile flag switched on is dropped where there is no GPU") {
  CHECK(Case({"--torch_compile"}).plan().precision.tf32 == std::nullopt);
  CHECK(Case({"--torch_compile"}, machine(1)).plan().precision.tf32 == true);
}

TEST_CASE("without a do_ flag the run trains, and an evaluation strategy adds evaluation") {
  CHECK(Case().plan().do_train);
  CHECK_FALSE(Case().plan().do_eval);
  const RunPlan both = Case({"--eval_strategy", "epoch"}).plan();
  CHECK(both.do_train);
  CHECK(both.evaluation.at_end);
  CHECK(both.data.validation->samples == 100);
  const RunPlan evaluate = Case({"--do_eval"}).plan();
  CHECK_FALSE(evaluate.do_train);
  CHECK_FALSE(evaluate.data.train);
  CHECK(evaluate.steps.max_steps == 0);
  CHECK(Case({"--do_eval", "--do_train"}).plan().do_train);
  CHECK_FALSE(Case({"--do_predict", "--test_file", "b.txt"}).plan().do_train);
}

TEST_CASE("an evaluation at the start needs the validation data too") {
  CHECK(Case({"--eval_on_start"}).plan().data.validation);
  CHECK_FALSE(Case().plan().data.validation);
}

TEST_CASE("a tokenizer larger than the model enlarges it, and what a loaded one lacks is said") {
  Case scratch;
  scratch.model.tokenizer_vocabulary = 120;
  const RunPlan plan = scratch.plan();
  CHECK(plan.model.config["vocab_size"] == 120);
  CHECK(plan.model.parameters - Case().plan().model.parameters == 20 * 8);
  CHECK(contains(scratch.notes(), "120 embeddings instead of 100"));
  Case loaded;
  loaded.model.tokenizer_vocabulary = 120;
  loaded.model.source_folder = "/model";
  const ModelPlan grown = loaded.plan().model;
  CHECK(grown.config["vocab_size"] == 120);
  REQUIRE(grown.grown.size() == 1);
  CHECK(grown.grown[0].name == "transformer.wte.weight");
  CHECK(grown.grown[0].shape_before == std::vector<int64_t>{100, 8});
  CHECK(grown.grown[0].kind == GrowthKind::kTokens);
  CHECK(plan.model.grown.empty());
  loaded.model.tokenizer_vocabulary = 90;
  CHECK(loaded.plan().model.config["vocab_size"] == 100);
  CHECK(loaded.plan().model.grown.empty());
}

TEST_CASE("a vocabulary that nobody chose and the tokenizer has no use for is told") {
  Case brought({"--config_overrides", "n_layer=1,n_embd=8,n_head=2"});
  brought.model.tokenizer_vocabulary = 512;
  CHECK(contains(brought.notes(), "a vocabulary of 50,257 tokens, and the tokenizer one of 512"));
  CHECK(contains(brought.notes(), "--config_overrides vocab_size=512,n_layer=1,n_embd=8,n_head=2"));
  brought.model.tokenizer_vocabulary = 12565;
  CHECK_FALSE(contains(brought.notes(), "vocabulary of"));
  brought.model.tokenizer_vocabulary = 512;
  brought.model.source_folder = "/model";
  CHECK_FALSE(contains(brought.notes(), "vocabulary of"));
  Case chosen({"--config_overrides", "n_layer=1,n_embd=8,n_head=2,vocab_size=9000"});
  chosen.model.tokenizer_vocabulary = 512;
  CHECK_FALSE(contains(chosen.notes(), "vocabulary of"));
}

TEST_CASE("a masked language model grows its output's bias too, and any family its positions") {
  const std::string sizes =
      "hidden_size=8,num_attention_heads=2,num_hidden_layers=1,intermediate_size=8,max_position_embeddings="
      "32,";
  const auto masked = [&](const std::string& more) {
    return architectures::Architecture::from_scratch("bert", sizes + more, architectures::Head::kMaskedLm);
  };
  const auto grown = grown_parameters(*masked("vocab_size=100"), *masked("vocab_size=120"));
  REQUIRE(grown.size() == 2);
  CHECK(grown[0].name == "bert.embeddings.word_embeddings.weight");
  CHECK(grown[0].kind == GrowthKind::kTokens);
  CHECK(grown[1].name == "cls.predictions.bias");
  CHECK(grown[1].kind == GrowthKind::kZeros);
  const auto speaking = [](const std::string& vocabulary) {
    return architectures::Architecture::from_scratch(
        "bart",
        "d_model=8,encoder_layers=1,decoder_layers=1,encoder_attention_heads=2,decoder_attention_heads=2,"
        "encoder_ffn_dim=8,decoder_ffn_dim=8,max_position_embeddings=16,vocab_size=" +
            vocabulary,
        architectures::Head::kSeq2SeqLm);
  };
  const auto biased = grown_parameters(*speaking("100"), *speaking("120"));
  REQUIRE(biased.size() == 2);
  CHECK(biased[1].name == "final_logits_bias");
  CHECK(biased[1].shape_before == std::vector<int64_t>{1, 100});
  CHECK(biased[1].kind == GrowthKind::kZeros);
  const std::string small = "dim=8,n_heads=2,n_layers=1,hidden_dim=8,vocab_size=50,max_position_embeddings=";
  const auto before =
      architectures::Architecture::from_scratch("distilbert", small + "32", architectures::Head::kMaskedLm);
  const auto after =
      architectures::Architecture::from_scratch("distilbert", small + "40", architectures::Head::kMaskedLm);
  const auto positions = grown_parameters(*before, *after);
  REQUIRE(positions.size() == 1);
  CHECK(positions[0].name == "distilbert.embeddings.position_embeddings.weight");
  CHECK(positions[0].shape_before == std::vector<int64_t>{32, 8});
  CHECK(positions[0].kind == GrowthKind::kPositions);
}

TEST_CASE("a frozen encoder is its blocks, its norm and the embedding that the decoder shares") {
  const auto model = architectures::Architecture::from_scratch(
      "t5", "d_model=8,d_kv=4,d_ff=8,num_layers=1,num_decoder_layers=1,num_heads=2,vocab_size=50",
      architectures::Head::kSeq2SeqLm);
  const auto names = [&](const std::vector<std::string>& flags) {
    const Case run(flags);
    Problems problems;
    std::vector<std::string> frozen;
    for (const int position : frozen_parameters(run.input(), *model, problems))
      frozen.push_back(model->parameters().parameters[static_cast<size_t>(position)].name);
    return frozen;
  };
  CHECK(names({}).empty());
  CHECK(names({"--freeze_embeds"}) == std::vector<std::string>{"shared.weight"});
  const std::vector<std::string> encoder = names({"--freeze_encoder"});
  REQUIRE(encoder.size() > 8);
  CHECK(encoder.front() == "shared.weight");
  CHECK(encoder.back() == "encoder.final_layer_norm.weight");
  for (size_t i = 1; i < encoder.size(); ++i) CHECK(encoder[i].starts_with("encoder."));
  const auto& all = model->parameters().parameters;
  const auto of_encoder = std::count_if(all.begin(), all.end(),
                                        [](const auto& spec) { return spec.name.starts_with("encoder."); });
  CHECK(static_cast<int64_t>(encoder.size()) == of_encoder + 1);
}

TEST_CASE("frozen embeddings of a model of images are its positions") {
  const auto model = architectures::Architecture::from_scratch(
      "vit", "hidden_size=8,intermediate_size=8,num_hidden_layers=1,num_attention_heads=2,image_size=32",
      architectures::Head::kImageClassification);
  Problems problems;
  const std::vector<int> frozen = frozen_parameters(Case({"--freeze_embeds"}).input(), *model, problems);
  REQUIRE(frozen.size() == 1);
  CHECK(model->parameters().parameters[static_cast<size_t>(frozen[0])].name ==
        "vit.embeddings.position_embeddings");
}

TEST_CASE("positions to add where none are learned are told to have no effect") {
  Case without({"--block_size", "16", "--resize_position_embeddings"});
  without.model.architecture = architectures::Architecture::from_scratch(
      "llama", "hidden_size=8,intermediate_size=8,num_hidden_layers=1,num_attention_heads=2,vocab_size=100");
  CHECK(contains(without.notes(), "resize_position_embeddings has no effect here"));
  CHECK_FALSE(contains(Case({"--resize_position_embeddings"}).notes(), "no effect here"));
}

TEST_CASE("positions are added when that is asked for") {
  Case longer({"--block_size", "80", "--resize_position_embeddings"});
  longer.model.source_folder = "/model";
  const ModelPlan plan = longer.plan().model;
  CHECK(plan.config["n_positions"] == 80);
  REQUIRE(plan.grown.size() == 1);
  CHECK(plan.grown[0].name == "transformer.wpe.weight");
  CHECK(plan.grown[0].shape_before == std::vector<int64_t>{64, 8});
  CHECK(plan.grown[0].kind == GrowthKind::kPositions);
  CHECK(contains(longer.notes(), "80 positions instead of 64"));
  CHECK(contains(Case({"--block_size", "80"}).error().render(), "--resize_position_embeddings"));
  CHECK(contains(Case({"--block_size", "80", "--resize_position_embeddings", "false"}).error().render(),
                 "64 positions"));
  CHECK(Case({"--block_size", "48", "--resize_position_embeddings"}).plan().model.config["n_positions"] ==
        64);
}

TEST_CASE("frozen parameters have no gradient and no state in the plan, whatever the strategy") {
  const RunPlan all = Case().plan(), some = Case({"--freeze_embeds"}).plan();
  CHECK(all.model.frozen.empty());
  CHECK(some.model.frozen == std::vector<int>{0, 1});
  const int64_t embeddings = (100 + 64) * 8;
  CHECK(some.model.parameters - some.model.trainable_parameters == embeddings);
  CHECK(all.memory_per_rank.parameters == some.memory_per_rank.parameters);
  CHECK(all.memory_per_rank.gradients - some.memory_per_rank.gradients == 4 * embeddings);
  CHECK(all.memory_per_rank.optimizer - some.memory_per_rank.optimizer == 8 * embeddings);
  // The head shares its matrix with them: the fused loss makes no gradient of it.
  CHECK(all.memory_per_rank.activations - some.memory_per_rank.activations == 4 * 100 * 8);
  CHECK(contains(Case({"--freeze_embeds"}).notes(), "2 parameters are not trained, 1312 of"));
  for (const char* fsdp : {"shard_grad_op auto_wrap", "full_shard auto_wrap"}) {
    const std::vector<std::string> flags = {"--fsdp", fsdp, "--nproc_per_node", "2"};
    std::vector<std::string> frozen = flags;
    frozen.emplace_back("--freeze_embeds");
    const MemoryPlan before = Case(flags).plan().memory_per_rank, after = Case(frozen).plan().memory_per_rank;
    CHECK(before.gradients - after.gradients == 4 * embeddings / 2);
    CHECK(before.optimizer - after.optimizer == 8 * embeddings / 2);
  }
  CHECK(contains(Case({"--freeze_encoder"}).error().render(), "an encoder and a decoder"));
}

TEST_CASE("the config gets the tokenizer's special ids, the dtype and use_cache") {
  Case tokens;
  tokens.model.special_tokens = SpecialTokens{5, 6, std::nullopt};
  const Json config = tokens.plan().model.config;
  CHECK(config["bos_token_id"] == 5);
  CHECK(config["eos_token_id"] == 6);
  CHECK(config["pad_token_id"].is_null());
  CHECK(config["use_cache"] == false);
  CHECK(config["dtype"] == "float32");
}

TEST_CASE("beside hf_compat it is told that samples which fill up last batches are not counted twice") {
  const auto told = [](const std::vector<std::string>& more, const char* ranks) {
    std::vector<std::string> words = {"--task",     "summarization", "--nproc_per_node",  ranks,
                                      "--do_train", "--do_eval",     "--validation_file", "v.txt"};
    words.insert(words.end(), more.begin(), more.end());
    Case run(words);
    run.model.architecture = two_stacks("t5", "num_layers=1,decoder_start_token_id=0");
    return contains(run.notes(), "every sample that is evaluated counts once");
  };
  CHECK(told({"--hf_compat", "4.49.0"}, "2"));
  CHECK_FALSE(told({}, "2"));
  // On one rank a smaller last batch counts as a whole one there.
  const auto of_rows = [](int64_t rows) {
    Case run({"--task", "summarization", "--do_eval", "--validation_file", "v.txt", "--hf_compat", "4.49.0"});
    run.model.architecture = two_stacks("t5", "num_layers=1,decoder_start_token_id=0");
    run.data.validation = SplitFacts{.cache_path = "v", .samples = rows, .tokens = rows * 64, .exact = true};
    return contains(run.notes(), "every sample that is evaluated counts once");
  };
  CHECK(of_rows(19));
  CHECK_FALSE(of_rows(16));
}

TEST_CASE("a decoder without a token to begin with is refused") {
  Case run;
  run.model.architecture = two_stacks("t5", "num_layers=1");
  CHECK(run.error().code() == ExitCode::kUsage);
  CHECK(run.error().render().find("decoder_start_token_id=ID") != std::string::npos);
  run.model.source_folder = "/model";
  CHECK(run.error().code() == ExitCode::kData);
  run.model.architecture = two_stacks("t5", "num_layers=1,decoder_start_token_id=0");
  CHECK(run.error().code() == ExitCode::kDone);
  for (const char* outside : {"100", "-1"}) {
    run.model.architecture = two_stacks("t5", std::string("num_layers=1,decoder_start_token_id=") + outside);
    CHECK(run.error().code() == ExitCode::kData);
    CHECK(contains(run.error().render(), "tokens are 0 to 99"));
  }
}

TEST_CASE("optimizer state is counted by optimizer and options") {
  const auto bytes = [](std::vector<std::string> flags) {
    return Case(std::move(flags)).plan().memory_per_rank.optimizer;
  };
  const int64_t count = Case().plan().model.parameters;
  CHECK(bytes({"--optim", "adamw_torch"}) == 8 * count);
  CHECK(bytes({"--optim", "sgd"}) == 0);
  CHECK(bytes({"--optim", "sgd", "--optim_args", "momentum=0.9"}) == 4 * count);
  CHECK(bytes({"--optim", "lion_32bit"}) == 4 * count);
  CHECK(bytes({"--optim", "adagrad"}) == 4 * count);
  CHECK(bytes({"--optim", "rmsprop"}) == 4 * count);
  CHECK(bytes({"--optim", "rmsprop", "--optim_args", "momentum=0.9,centered=True"}) == 12 * count);
  CHECK(bytes({"--optim", "adamw_anyprecision"}) == 8 * count);
  CHECK(bytes({"--optim", "adamw_anyprecision", "--optim_args",
               "use_kahan_summation=True,momentum_dtype=bfloat16"}) == 8 * count);
}

TEST_CASE("adafactor keeps a row and a column of a matrix") {
  // [100, 8] and [64, 8] embeddings; per block 4 norm vectors of 8, matrices 8x24, 8x8, 8x32, 32x8 and their
  // biases.
  const int64_t block = 4 * 8 + (8 + 24) + 24 + (8 + 8) + 8 + (8 + 32) + 32 + (32 + 8) + 8;
  const int64_t numbers = (100 + 8) + (64 + 8) + 2 * block + 2 * 8;
  CHECK(Case({"--optim", "adafactor"}).plan().memory_per_rank.optimizer == 4 * numbers);
}

TEST_CASE("log levels are words of the logger, and passive asks the environment") {
  CHECK(Case().plan().logging.level == "info");
  CHECK(Case().plan().logging.replica_level == "warning");
  CHECK(Case({"--log_level", "detail"}).plan().logging.level == "debug");
  Case verbose;
  verbose.environment.set("TRANSFORMERS_VERBOSITY", "ERROR");
  CHECK(verbose.plan().logging.level == "error");
  verbose.environment.set("TRANSFORMERS_VERBOSITY", "chatty");
  CHECK(verbose.plan().logging.level == "info");
}

TEST_CASE("the TensorBoard folder is the flag's, the variable's, or a dated one") {
  CHECK(Case().plan().logging.tensorboard_dir == "/out/runs/label");
  Case variable;
  variable.environment.set("TENSORBOARD_LOGGING_DIR", "/tb");
  CHECK(variable.plan().logging.tensorboard_dir == "/tb");
}

TEST_CASE("optimizer, schedule, saving and evaluation carry over") {
  const RunPlan plan = Case({"--lr_scheduler_type", "cosine_with_min_lr", "--lr_scheduler_kwargs",
                             R"({"min_lr_rate": 0.1})", "--weight_decay", "0.1", "--eval_strategy", "steps",
                             "--eval_steps", "20", "--save_steps", "40", "--load_best_model_at_end",
                             "--early_stopping_patience", "3", "--data_seed", "7", "--eval_delay", "5"})
                           .plan();
  CHECK(plan.schedule.options["min_lr_rate"] == 0.1);
  CHECK(plan.optimizer.weight_decay == 0.1);
  CHECK(plan.evaluation.interval.steps == 20);
  CHECK(plan.evaluation.metric_for_best_model == "eval_loss");
  CHECK_FALSE(plan.evaluation.greater_is_better);
  CHECK(plan.evaluation.load_best_at_end);
  CHECK(plan.evaluation.early_stopping_patience == 3);
  CHECK(plan.evaluation.delay == 5);
  CHECK(plan.data.seed == 7);
  CHECK(plan.seed == 42);
}

TEST_CASE("options of an optimizer are in the plan as numbers and truths, however they were written") {
  const auto options = [](const char* written) {
    return Case({"--optim", "sgd", "--optim_args", written}).plan().optimizer.options;
  };
  using Options = std::map<std::string, std::string>;
  CHECK(options("momentum=+0.9, nesterov=YES") == Options{{"momentum", "0.9"}, {"nesterov", "true"}});
  CHECK(options("momentum=9e-1,weight_decay=0.1") == Options{{"momentum", "0.9"}});
}

TEST_CASE("resolve is pure: the same input gives the same plan") {
  const Case run({"--nproc_per_node", "2", "--bf16"});
  CHECK(to_json_value(run.plan()) == to_json_value(run.plan()));
  CHECK(plan_hash(run.plan()) == plan_hash(run.plan()));
}

}  // namespace
TEST_CASE("the level of the main process is that of a rank of every node, or of rank 0 alone") {
  RankPlan leader, other, far;  // far: the first of another node
  other.rank = other.local_rank = 1;
  far.rank = 2;
  far.node = 1;
  const std::vector<std::string> flags = {"--log_level", "debug", "--log_level_replica", "error"};
  const LoggingPlan everywhere = Case(flags).plan().logging;
  CHECK(everywhere.level_of(leader) == "debug");
  CHECK(everywhere.level_of(other) == "error");
  CHECK(everywhere.level_of(far) == "debug");
  std::vector<std::string> once = flags;
  once.emplace_back("--no_log_on_each_node");
  CHECK(Case(once).plan().logging.level_of(leader) == "debug");
  CHECK(Case(once).plan().logging.level_of(far) == "error");
}

TEST_CASE("each key of liger_kernel_config turns its operator off") {
  using Choices = std::array<bool, 6>;  // rope, swiglu, geglu, rms_norm, loss, rest
  const auto choices = [](const std::vector<std::string>& flags) -> Choices {
    const FusedKernels on = Case(flags).plan().model.fused_kernels;
    return {on.rope, on.swiglu, on.geglu, on.rms_norm, on.loss, on.rest};
  };
  const auto fused = [&](const char* config) { return choices({"--liger_kernel_config", config}); };
  constexpr Choices kAll = {true, true, true, true, true, true};
  CHECK(fused(R"({"rope": true, "swiglu": null})") == kAll);
  CHECK(fused(R"({"rope": false})") == Choices{false, true, true, true, true, true});
  CHECK(fused(R"({"swiglu": false})") == Choices{true, false, true, true, true, true});
  CHECK(fused(R"({"geglu": false})") == Choices{true, true, false, true, true, true});
  CHECK(fused(R"({"rms_norm": false})") == Choices{true, true, true, false, true, true});
  CHECK(fused(R"({"fused_linear_cross_entropy": false})") == Choices{true, true, true, true, false, true});
  CHECK(fused(R"({"fused_linear_cross_entropy": false, "cross_entropy": true})") == kAll);
  CHECK(fused(R"({"cross_entropy": false})") == kAll);
  CHECK(fused(R"({"layer_norm": false})") == kAll);
  const auto notes = [](const char* config) { return Case({"--liger_kernel_config", config}).notes(); };
  CHECK(contains(notes(R"({"layer_norm": false})"), "layer_norm of liger_kernel_config changes nothing"));
  CHECK_FALSE(contains(notes(R"({"rope": false})"), "changes nothing"));
  CHECK(fused(R"({"rope": false, "swiglu": false, "geglu": false, "rms_norm": false, "layer_norm": false,
                  "cross_entropy": false, "fused_linear_cross_entropy": false})") == Choices{});
  CHECK(choices({"--use_liger_kernel", "false"}) == Choices{});
}

TEST_CASE("variables that choose GPUs and folders are named where they count, and nowhere else") {
  Case run({}, machine(2, "1"));
  run.environment = environment_of({{"CUDA_VISIBLE_DEVICES", "1"}, {"HFTRAIN_CACHE", "/c"}});
  CHECK(contains(run.notes(), "CUDA_VISIBLE_DEVICES=1 of the environment says which GPUs there are"));
  CHECK(contains(run.notes(), "HFTRAIN_CACHE=/c of the environment says where prepared data are kept"));
  run.parsed.exported_environment["CUDA_VISIBLE_DEVICES"] = "1";  // --gpu_ids, or a file's env:
  CHECK_FALSE(contains(run.notes(), "CUDA_VISIBLE_DEVICES"));
  Case on_cpu({"--use_cpu"}, machine(2, "1"));
  on_cpu.environment = environment_of({{"CUDA_VISIBLE_DEVICES", "1"}, {"XDG_CACHE_HOME", "/x"}});
  CHECK_FALSE(contains(on_cpu.notes(), "CUDA_VISIBLE_DEVICES"));
  CHECK(contains(on_cpu.notes(), "XDG_CACHE_HOME=/x of the environment says where prepared data are kept"));
  Case from_hub;
  from_hub.environment = environment_of({{"HF_HOME", "/hf"}});
  CHECK_FALSE(contains(from_hub.notes(), "HF_HOME"));
  from_hub.model.tokenizer_folder = "/hf/hub/models--gpt2/snapshots/1";
  CHECK(contains(from_hub.notes(), "HF_HOME=/hf of the environment says where models lie"));
}

TEST_CASE("nodes with output folders of their own agree on the plan, and on nothing less") {
  RunPlan first = Case().plan(), second = first;
  second.output_dir = "/elsewhere";
  CHECK(plan_hash(first) != plan_hash(second));
  first.saving.further_nodes = second.saving.further_nodes = {1};
  CHECK(plan_hash(first) == plan_hash(second));
  first.saving.resume_from = first.output_dir + "/checkpoint-3";
  second.saving.resume_from = "/elsewhere/checkpoint-3";
  CHECK(plan_hash(first) == plan_hash(second));
  second.saving.resume_from = "/elsewhere/checkpoint-4";
  CHECK(plan_hash(first) != plan_hash(second));
}

}  // namespace hftrain::plan
