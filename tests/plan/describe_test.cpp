#include "hftrain/plan/describe.h"

#include <set>

#include "hftrain/plan/text_table.h"
#include "resolve_case.h"
#include "support/catch.h"

namespace hftrain::plan {
namespace {

Topology two_gpus() {
  Topology topology;
  for (int i = 0; i < 2; ++i) {
    CudaDevice device;
    device.index = i;
    device.uuid = "GPU-" + std::to_string(i);
    device.name = "H200";
    device.pci_bus_id = "00000000:0" + std::to_string(i) + ":00.0";
    device.compute_major = 9;
    device.free_bytes = 70 * kGiB;
    device.total_bytes = 80 * kGiB;
    topology.devices.push_back(device);
  }
  topology.mask = "1,0";
  topology.device_order = "PCI_BUS_ID";
  topology.visible = apply_visible_devices(topology.devices, topology.mask, topology.device_order);
  topology.driver_version = "550.1";
  topology.cuda_version = "12.4";
  topology.host.allowed_cores = 8;
  topology.host.quota_cores = 2.5;
  topology.host.memory_bytes = 16 * kGiB;
  topology.host.available_bytes = 8 * kGiB;
  return topology;
}

RunPlan gpu_plan() {
  RunPlan plan;
  plan.output_dir = "/out";
  plan.ranks.world_size = plan.ranks.local_world_size = 2;
  plan.ranks.backend = "nccl";
  plan.model.fused_kernels.own = false;
  plan.ranks.ranks = {{0, 0, 0, DeviceKind::kCuda, 0, "H200", "GPU-1", 4},
                      {1, 1, 0, DeviceKind::kCuda, 1, "H200", "GPU-0", 4}};
  plan.strategy.name = "ddp";
  plan.strategy.mesh_replicate = 2;
  for (const char* unit : {"embeddings", "block.0", "block.1", "block.2", "block.3", "head"}) {
    plan.strategy.units.push_back({unit, {}, false, 10});
  }
  plan.model.model_type = "gpt2";
  plan.model.parameters = plan.model.trainable_parameters = 124439808;
  plan.data.block_size = 1024;
  plan.data.train = SplitPlan{"/cache", 1000, 1024000, true};
  plan.batch = {4, 8, 3, 24, true};
  plan.steps = {125, 42, 126, 3, true, 3.0, 3000};
  plan.logging.interval = {"steps", 10};
  plan.saving.interval = {"steps", 50};
  plan.saving.total_limit = 2;
  plan.disk = {1000, 3, 3000, 5000};
  return plan;
}

std::vector<WorkerCommand> workers() {
  return {
      {0, {"/bin/hftrain-worker", "--plan", "/out/hftrain/plan.json"}, {{"RANK", "0"}, {"WORLD_SIZE", "2"}}},
      {1, {"/bin/hftrain-worker", "--plan", "/out/hftrain/plan.json"}, {{"RANK", "1"}, {"WORLD_SIZE", "2"}}}};
}

TEST_CASE("a table aligns its columns by characters") {
  CHECK(format_table({{"a", "b"}, {"läng", "c"}}, 1) == " a     b\n läng  c\n");
  CHECK(format_table({}) == "");
}

TEST_CASE("the plan is described in words, down to the command of every worker") {
  const std::string text = describe_plan(gpu_plan(), two_gpus(), workers());
  for (const char* part :
       {"GPU-1", "2 ranks on 1 node, nccl", "ddp, ZeRO stage 0, mesh 2 x 1", "buckets of 25 MiB",
        "6: embeddings 10, block.0 to block.3 10 each, head 10", "124,439,808 parameters",
        "blocks of 1,024 tokens", "training 1,000 samples",
        "LibTorch's; --use_liger_kernel takes this program's own", "no CUDA graph",
        "4 per rank x 3 accumulated x 2 ranks = 24 samples per update", "126 updates in 3 epochs",
        "every 10 updates", "the newest 2 are kept", "fresh start", "RANK=1 WORLD_SIZE=2",
        "/bin/hftrain-worker --plan /out/hftrain/plan.json"}) {
    INFO(text);
    CHECK(contains(text, part));
  }
}

TEST_CASE("batches that are split are those of all ranks, in evaluations too") {
  RunPlan plan = gpu_plan();
  CHECK(contains(describe_plan(plan, two_gpus(), {}),
                 "per update; evaluation " + std::to_string(plan.batch.per_device_eval) + " per rank"));
  plan.data.split_batches = true;
  CHECK(contains(describe_plan(plan, two_gpus(), {}),
                 "per update; evaluation " + std::to_string(plan.batch.per_device_eval) + " for all ranks"));
}

TEST_CASE("no interval of saving is described as what it does: the last update saves") {
  RunPlan plan = gpu_plan();
  plan.saving.interval = {"steps", 0};
  CHECK(contains(describe_plan(plan, two_gpus(), {}), "after the last update, the newest 2 are kept"));
  plan.steps.max_steps = 0;  // a share of what nobody knows yet, perhaps
  CHECK(contains(describe_plan(plan, two_gpus(), {}), "by a share of the updates, unknown yet"));
}

TEST_CASE("what is not known before the data are prepared is said so") {
  RunPlan plan = gpu_plan();
  plan.data.train.reset();
  plan.steps = StepsPlan{};
  const std::string text = describe_plan(plan, two_gpus(), {});
  CHECK(contains(text, "training not prepared yet"));
  CHECK(contains(text, "unknown until the data are prepared (3 epochs)"));
  plan.data.train = SplitPlan{"", 500, 1000, false};
  CHECK(contains(describe_plan(plan, two_gpus(), {}), "training about 500 samples"));
}

TEST_CASE("the JSON document has the keys of the contract") {
  const Json document = plan_document(gpu_plan(), two_gpus(), workers());
  for (const char* key : {"schema", "world_size", "devices", "strategy", "batch", "steps", "schedule",
                          "memory_per_rank", "disk", "resume", "workers"}) {
    INFO(key);
    CHECK(document.contains(key));
  }
  CHECK(document["schema"] == 1);
  CHECK(document["world_size"] == 2);
  CHECK(document["strategy"]["name"] == "ddp");
  CHECK(document["strategy"]["stage"] == 0);
  CHECK(document["strategy"]["mesh"] == Json({{"replicate", 2}, {"shard", 1}}));
  CHECK(document["strategy"]["offload"] == Json({{"parameters", "none"}, {"optimizer", "none"}}));
  CHECK(document["strategy"]["units"].size() == 6);
  CHECK(document["devices"][0]["uuid"] == "GPU-1");
  CHECK(document["devices"][0]["index"] == 1);
  CHECK(document["devices"][0]["position"] == 0);
  CHECK(document["resume"].is_null());
  CHECK(document["workers"][1]["rank"] == 1);
  CHECK(document["workers"][1]["env"]["RANK"] == "1");
  CHECK(document["workers"][1]["argv"][1] == "--plan");
  CHECK(document["batch"]["global_train"] == 24);
}

TEST_CASE("devices are shown with position, index, UUID, name and memory") {
  const std::string text = describe_devices(two_gpus());
  CHECK(contains(text, "0 (1)"));
  CHECK(contains(text, "GPU-0"));
  CHECK(contains(text, "70.0 GiB"));
  CHECK(contains(text, "CUDA_VISIBLE_DEVICES is '1,0'"));
  CHECK(contains(text, "driver 550.1"));
  CHECK(contains(text, "2 cores to use (8 allowed, quota 2.50)"));
  const Json document = devices_document(two_gpus());
  CHECK(document["schema"] == 1);
  CHECK(document["devices"][0]["index"] == 1);
  CHECK(document["devices"][0]["local_rank"] == 0);
  CHECK(document["all_devices"][0]["uuid"] == "GPU-0");
  CHECK(document["host"]["cores"] == 2);
}

TEST_CASE("without a GPU the host is shown, and a driver's problem where there is one") {
  Topology topology = two_gpus();
  topology.devices.clear();
  topology.visible = {};
  topology.mask.reset();
  CHECK(contains(describe_devices(topology), "runs take the CPU"));
  CHECK(contains(describe_devices(topology), "16.0 GiB memory"));
  topology.gpu_problem = "the driver does not answer";
  CHECK(contains(describe_devices(topology), "the driver does not answer"));
  CHECK(devices_document(topology)["problem"] == "the driver does not answer");
}

TEST_CASE("an unsure order of GPUs is marked") {
  Topology topology = two_gpus();
  topology.devices[1].name = "T4";
  topology.visible = apply_visible_devices(topology.devices, topology.mask, "FASTEST_FIRST");
  CHECK(contains(describe_devices(topology), "1?"));
  CHECK(contains(describe_plan(gpu_plan(), topology, {}), "PCI_BUS_ID"));
}

}  // namespace
}  // namespace hftrain::plan
