// Mistakes in files and words of other launchers say what, where, why and what to do, as those in ours do.
#include <string>
#include <vector>

#include "support.h"
#include "support/catch.h"

namespace hftrain::arguments {
namespace {

void check_told_in_full(const Words& words) {
  try {
    parse(words);
  } catch (const Error& error) {
    for (const Diagnostic& each : error.diagnostics()) {
      INFO(each.render());
      CHECK_FALSE((each.where.empty() || each.why.empty() || each.hint.empty()));
    }
    return;
  }
  FAIL("nothing is refused");
}

}  // namespace

TEST_CASE("mistakes in an Accelerate file are told with a reason and a way out") {
  for (const char* text :
       {"compute_environment: AMAZON_SAGEMAKER\ndistributed_type: 'NO'\n",
        "compute_environment: LOCAL_MACHINE\n", "distributed_type: GPUS\n",
        "distributed_type: MULTI_GPU\nnum_processes: 8\nnum_machines: 2\nmachine_rank: 2\n",
        "distributed_type: MULTI_GPU\nnum_processes: 7\nnum_machines: 2\n",
        "distributed_type: MULTI_GPU\nnum_processes: 1\n",
        "distributed_type: MULTI_GPU\nnum_processes: two\n",
        "distributed_type: FSDP\nnum_processes: 2\nfsdp_config: [4]\n"}) {
    INFO(text);
    check_told_in_full(NamedFile("--config", "acc.yaml", text).with());
  }
}

TEST_CASE("mistakes in a DeepSpeed file are told with a reason and a way out") {
  for (const char* zero : {R"("stage": 4)", R"("stage": 3, "offload_optimizer": {"device": "nvme"})",
                           R"("stage": 3, "offload_param": [1])"}) {
    INFO(zero);
    check_told_in_full({"--deepspeed", std::string(R"({"zero_optimization": {)") + zero + "}}"});
  }
  for (const char* key : {R"("fp16": {"enabled": "perhaps"})", R"("gradient_clipping": "much")",
                          R"("communication_data_type": "x")", R"("optimizer": {"params": {}})",
                          R"("optimizer": {"type": "Lamb", "params": {}})",
                          R"("optimizer": {"type": "AdamW", "params": {"betas": [0.9]}})",
                          R"("optimizer": {"type": "AdamW", "params": {"betas": 3}})",
                          R"("scheduler": {"type": "WarmupDecayLR", "params": {}})",
                          R"("scheduler": {"type": "X", "params": {}})", R"("scheduler": {})",
                          R"("sparse_attention": {"mode": "fixed"})", R"("aio": {"use_gds": true})"}) {
    INFO(key);
    check_told_in_full({"--deepspeed", std::string(R"({"zero_optimization": {"stage": 2}, )") + key + '}'});
  }
}

TEST_CASE("mistakes in flags of other launchers are told with a reason and a way out") {
  const std::vector<Words> lines = {
      {"--zero_stage", "2", "--offload_param_device", "cpu"},
      {"--zero_stage", "3", "--offload_param_device", "nvme"},
      {"--offload_param_device", "cpu"},
      {"--gradient_clipping", "1"},
      {"--sharded_ddp", "zero_dp_2 zero_dp_3"},
      {"--fsdp", "true", "--parallelism_config", R"({"dp_size": 2})"},
      {"--fsdp", "true", "--parallelism_config", R"({"dp_shard_size": 0})"},
      {"--fsdp", "true", "--fsdp_config", R"({"forward_prefetch": "perhaps"})"},
      {"--fsdp", "true", "--fsdp_config", R"({"auto_wrap_policy": "L", "min_num_params": -1})"}};
  for (const Words& line : lines) {
    INFO(line.front() << ' ' << line.back());
    check_told_in_full(line);
  }
}

}  // namespace hftrain::arguments
