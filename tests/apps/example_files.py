#!/usr/bin/env python3
"""Whole runs from configuration files in the formats that users bring: DeepSpeed JSON, Accelerate YAML, fsdp_config in
both dialects, NVMe, and a flat YAML of hftrain.

  example_files.py [SCENARIO…]

Every run trains, evaluates nothing it was not asked to, saves, and its checkpoint verifies. Its losses are those of plain data
parallelism with the same global batch, step by step: within 1e-5 in float32, 3e-2 in bfloat16.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from runs import HFTRAIN, Fixture, free_port, largest

STEPS = 6
AUTO = {name: "auto" for name in ("lr", "betas", "eps", "weight_decay")}
WARMUP = {"total_num_steps": "auto", "warmup_min_lr": "auto", "warmup_max_lr": "auto", "warmup_num_steps": "auto"}
BATCH = {"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto",
         "gradient_clipping": "auto"}


# Plain data parallelism whose norms and biases decay, too, as with every file that has an optimizer section.
ONE_GROUP = ("--deepspeed", json.dumps({"zero_optimization": {"stage": 0}, "optimizer": {"type": "AdamW", "params": AUTO}}))


class Scenario:
    def __init__(self, folder):
        self.fixture = Fixture(folder)
        self.folder = self.fixture.folder
        self.references = {}

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def base(self, output, *more):
        """Flags of every run; how many ranks there are is left to the file."""
        flags = self.fixture.flags(output, "--max_steps", STEPS, "--save_steps", STEPS, "--warmup_steps", 2,
                                 "--per_device_train_batch_size", 2, "--weight_decay", 0.1, *more)
        at = flags.index("--nproc_per_node")
        del flags[at:at + 2]
        at = flags.index("--lr_scheduler_type")
        del flags[at:at + 2]
        return flags

    def train(self, name, *more):
        output = os.path.join(self.folder, name)
        result = self.fixture.call(*self.base(output, *more))
        return self.facts(output, result.stderr + result.stdout)

    def facts(self, output, text=""):
        with open(os.path.join(output, "hftrain", "log.jsonl")) as file:
            losses = [record["loss"] for record in map(json.loads, file) if "loss" in record]
        with open(os.path.join(output, "hftrain", "plan.json")) as file:
            plan = json.load(file)
        self.fixture.call("checkpoint", "verify", os.path.join(output, f"checkpoint-{STEPS}"))
        return losses, plan, text

    def reference(self, ranks, *more):
        """Losses of plain data parallelism."""
        key = (ranks, *more)
        if key not in self.references:
            name = f"reference-{len(self.references)}"
            self.references[key] = self.train(name, "--nproc_per_node", ranks, *more)[0]
        return self.references[key]

    def check(self, losses, expected, bound):
        assert len(losses) == len(expected) == STEPS, (losses, expected)
        worst = largest(abs(a - b) for a, b in zip(losses, expected))
        assert worst <= bound, f"losses differ by {worst}: {losses} against {expected}"
        assert losses[-1] < losses[0], losses
        print(f"   losses as data parallelism gives them, within {worst:.1e}", flush=True)


def strategy(plan):
    return plan["strategy"]["name"], plan["strategy"]["offload_optimizer"], plan["strategy"]["offload_parameters"]


def scenario_deepspeed_stage_2_all_auto(scenario):
    path = scenario.write("zero2.json", {
        "_comment": "Stage 2 with optimizer and schedule, every value left to the flags.",
        "fp16": {"enabled": "auto", "loss_scale": 0, "initial_scale_power": 16, "hysteresis": 2},
        "bf16": {"enabled": "auto"},
        "optimizer": {"type": "AdamW", "params": AUTO},
        "scheduler": {"type": "WarmupDecayLR", "params": WARMUP},
        "zero_optimization": {"stage": 2, "overlap_comm": True, "reduce_bucket_size": "auto",
                              "allgather_bucket_size": 2e8, "contiguous_gradients": True}, **BATCH})
    losses, plan, _ = scenario.train("zero2", "--nproc_per_node", 2, "--deepspeed", path)
    assert strategy(plan) == ("shard_grad_op", "none", "none"), plan["strategy"]
    assert plan["schedule"]["name"] == "WarmupDecayLR"
    scenario.check(losses, scenario.reference(2, *ONE_GROUP, "--lr_scheduler_type", "WarmupDecayLR"), 1e-5)


def scenario_deepspeed_stage_3_on_the_cpu_between_uses(scenario):
    offload = {"device": "cpu", "pin_memory": True}
    path = scenario.write("zero3.json", {
        "bf16": {"enabled": "auto"},
        "zero_optimization": {"stage": 3, "offload_optimizer": offload, "offload_param": offload,
                              "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto",
                              "stage3_param_persistence_threshold": "auto", "sub_group_size": 1e9,
                              "stage3_gather_16bit_weights_on_model_save": True},
        "steps_per_print": 50, "wall_clock_breakdown": False, **BATCH})
    losses, plan, _ = scenario.train("zero3", "--nproc_per_node", 2, "--deepspeed", path)
    assert strategy(plan) == ("full_shard", "cpu", "cpu"), plan["strategy"]
    assert plan["strategy"]["full_parameter_limit"] == 320  # 10 x hidden size
    assert plan["strategy"]["state_dict"] == "full"
    scenario.check(losses, scenario.reference(2), 1e-5)


def scenario_deepspeed_stage_3_on_nvme(scenario):
    nvme = os.path.join(scenario.folder, "nvme")
    os.mkdir(nvme)
    path = scenario.write("nvme.json", {
        "bf16": {"enabled": False},
        "optimizer": {"type": "AdamW", "params": AUTO},
        "zero_optimization": {
            "stage": 3,
            "offload_optimizer": {"device": "nvme", "nvme_path": nvme, "buffer_count": 4, "pipeline_read": True,
                                  "pipeline_write": True, "fast_init": False},
            "offload_param": {"device": "nvme", "nvme_path": nvme, "buffer_count": 5, "buffer_size": 1e6,
                              "max_in_cpu": 1e9},
            "stage3_param_persistence_threshold": "auto"},
        "aio": {"block_size": 65536, "queue_depth": 8, "intra_op_parallelism": 1, "single_submit": False,
                "overlap_events": True}, **BATCH})
    losses, plan, _ = scenario.train("nvme-run", "--nproc_per_node", 2, "--deepspeed", path)
    assert strategy(plan) == ("full_shard", "nvme", "nvme"), plan["strategy"]
    assert plan["strategy"]["nvme"]["block_bytes"] == 65536 and plan["strategy"]["nvme"]["buffer_count"] == 5
    scenario.check(losses, scenario.reference(2, *ONE_GROUP), 1e-5)


def scenario_deepspeed_everything_explicit(scenario):
    explicit = {
        "train_batch_size": 8, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2,
        "gradient_clipping": 0.5, "fp16": {"enabled": False, "loss_scale": 0, "initial_scale_power": 12},
        "optimizer": {"type": "AdamW",
                      "params": {"lr": 1e-3, "betas": [0.8, 0.99], "eps": 1e-7, "weight_decay": 0.1}},
        "scheduler": {"type": "WarmupLR",
                      "params": {"warmup_min_lr": 1e-5, "warmup_max_lr": 1e-3, "warmup_num_steps": 2}},
        "zero_optimization": {"stage": 1, "reduce_bucket_size": 500000000, "allgather_bucket_size": 500000000}}
    path = scenario.write("explicit.json", explicit)
    losses, plan, _ = scenario.train("explicit", "--nproc_per_node", 2, "--deepspeed", path)
    assert strategy(plan)[0] == "zero1" and plan["batch"]["accumulation_steps"] == 2
    flags = ("--gradient_accumulation_steps", 2, "--max_grad_norm", 0.5, "--adam_beta1", 0.8, "--adam_beta2", 0.99,
             "--adam_epsilon", 1e-7, "--lr_scheduler_type", "WarmupLR", "--lr_scheduler_kwargs",
             '{"warmup_min_lr": 1e-5}')
    scenario.check(losses, scenario.reference(2, *ONE_GROUP, *flags), 1e-5)
    scenario.fixture.call(*scenario.base(os.path.join(scenario.folder, "conflict"), "--nproc_per_node", 2, "--deepspeed", path,
                                 "--adam_beta1", 0.9), expect=2)
    explicit["fp16"]["enabled"] = True
    result = scenario.fixture.call(*scenario.base(os.path.join(scenario.folder, "half"), "--nproc_per_node", 2, "--deepspeed",
                                          scenario.write("half.json", explicit)), expect=2)
    assert "fp16 does not work on the CPU\n  where: fp16 (" in result.stderr, result.stderr


def scenario_deepspeed_one_cycle_with_its_momentum(scenario):
    cycle = {"cycle_min_lr": 1e-4, "cycle_max_lr": 2e-3, "cycle_first_step_size": 3}
    path = scenario.write("cycle.json", {"optimizer": {"type": "Adam", "params": AUTO},
                                      "scheduler": {"type": "OneCycle", "params": cycle},
                                      "zero_optimization": {"stage": 2}, **BATCH})
    losses, plan, _ = scenario.train("cycle", "--nproc_per_node", 2, "--deepspeed", path)
    options = ("--lr_scheduler_type", "OneCycle", "--lr_scheduler_kwargs")
    scenario.check(losses, scenario.reference(2, *ONE_GROUP, *options, json.dumps(cycle)), 1e-5)
    still = scenario.reference(2, *options, json.dumps({**cycle, "cycle_momentum": False}))
    assert any(abs(a - b) > 1e-4 for a, b in zip(losses, still)), "the momentum did not move"


def scenario_accelerate_fsdp_by_layer_class(scenario):
    path = scenario.write("fsdp.yaml", """
compute_environment: LOCAL_MACHINE
debug: false
distributed_type: FSDP
downcast_bf16: 'no'
fsdp_config:
  fsdp_version: 1
  fsdp_activation_checkpointing: false
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch: BACKWARD_PRE
  fsdp_cpu_ram_efficient_loading: true
  fsdp_forward_prefetch: false
  fsdp_offload_params: true
  fsdp_sharding_strategy: 1
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_sync_module_states: true
  fsdp_transformer_layer_cls_to_wrap: GPT2Block
  fsdp_use_orig_params: true
machine_rank: 0
main_training_function: main
mixed_precision: bf16
num_machines: 1
num_processes: 4
rdzv_backend: static
same_network: true
use_cpu: false
""")
    losses, plan, _ = scenario.train("fsdp", "--config", path)
    assert strategy(plan) == ("full_shard", "cpu", "cpu") and plan["ranks"]["world_size"] == 4
    assert plan["strategy"]["state_dict"] == "sharded" and len(plan["strategy"]["units"]) == 4
    scenario.check(losses, scenario.reference(4, "--bf16"), 3e-2)


def scenario_accelerate_deepspeed_by_keys(scenario):
    path = scenario.write("inline.yaml", """
compute_environment: LOCAL_MACHINE
deepspeed_config:
  gradient_accumulation_steps: 2
  gradient_clipping: 0.5
  offload_optimizer_device: cpu
  offload_optimizer_nvme_path: none
  offload_param_device: cpu
  offload_param_nvme_path: none
  zero3_init_flag: true
  zero3_save_16bit_model: true
  zero_stage: 3
distributed_type: DEEPSPEED
machine_rank: 0
main_training_function: main
mixed_precision: bf16
num_machines: 1
num_processes: 2
use_cpu: false
""")
    losses, plan, _ = scenario.train("inline", "--config", path)
    assert strategy(plan) == ("full_shard", "cpu", "cpu") and plan["batch"]["accumulation_steps"] == 2
    scenario.check(losses, scenario.reference(2, "--bf16", "--gradient_accumulation_steps", 2, "--max_grad_norm", 0.5), 3e-2)


def scenario_accelerate_deepspeed_by_file_on_two_machines(scenario):
    """Two front programs as the machines; each is started by hand, as deepspeed_multinode_launcher standard says."""
    scenario.write("ds.json", {"zero_optimization": {"stage": 2}, **BATCH})
    scenario.write("hostfile", "localhost slots=1\n127.0.0.1 slots=1\n")
    path = scenario.write("machines.yaml", f"""
compute_environment: LOCAL_MACHINE
deepspeed_config:
  deepspeed_config_file: ds.json
  deepspeed_hostfile: hostfile
  deepspeed_multinode_launcher: standard
  zero3_init_flag: false
distributed_type: DEEPSPEED
machine_rank: 0
main_process_ip: 127.0.0.1
main_process_port: {free_port()}
main_training_function: main
num_machines: 2
num_processes: 2
use_cpu: false
""")
    output = os.path.join(scenario.folder, "machines")
    fronts = [subprocess.Popen([HFTRAIN, *scenario.base(output, "--config", path, "--machine_rank", rank)],
                               env=scenario.fixture.environment, cwd=scenario.folder, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT) for rank in (0, 1)]
    texts = [front.communicate()[0] for front in fronts]
    assert [front.returncode for front in fronts] == [0, 0], texts
    losses, plan, _ = scenario.facts(output)
    assert strategy(plan)[0] == "shard_grad_op" and plan["ranks"]["world_size"] == 2
    scenario.check(losses, scenario.reference(2), 1e-5)


def scenario_accelerate_ddp(scenario):
    path = scenario.write("ddp.yaml", "distributed_type: MULTI_CPU\nnum_processes: 2\nmixed_precision: 'no'\nuse_cpu: true\n"
                                   "downcast_bf16: 'no'\ngpu_ids: all\nmain_training_function: main\n")
    losses, plan, _ = scenario.train("ddp", "--config", path)
    assert strategy(plan)[0] == "ddp"
    scenario.check(losses, scenario.reference(2), 0)


def scenario_fsdp_config_of_version_1(scenario):
    path = scenario.write("v1.json", {
        "fsdp_version": 1, "fsdp_transformer_layer_cls_to_wrap": ["GPT2Block"], "fsdp_backward_prefetch": "backward_pre",
        "fsdp_forward_prefetch": "false", "fsdp_limit_all_gathers": True, "fsdp_use_orig_params": "true",
        "fsdp_sync_module_states": "true", "fsdp_cpu_ram_efficient_loading": "true",
        "fsdp_state_dict_type": "FULL_STATE_DICT"})
    losses, plan, _ = scenario.train("v1", "--nproc_per_node", 2, "--fsdp", "full_shard auto_wrap", "--fsdp_config", path)
    assert strategy(plan)[0] == "full_shard" and plan["strategy"]["state_dict"] == "full"
    scenario.check(losses, scenario.reference(2), 1e-5)


def scenario_fsdp_config_of_version_2(scenario):
    path = scenario.write("v2.json", {
        "version": 2, "reshard_after_forward": True, "auto_wrap_policy": "TRANSFORMER_BASED_WRAP", "cpu_offload": True,
        "activation_checkpointing": True, "cpu_ram_efficient_loading": False, "state_dict_type": "SHARDED_STATE_DICT"})
    losses, plan, _ = scenario.train("v2", "--nproc_per_node", 2, "--fsdp", "true", "--fsdp_config", path)
    assert strategy(plan) == ("full_shard", "cpu", "cpu") and plan["model"]["gradient_checkpointing"]
    scenario.check(losses, scenario.reference(2), 1e-5)


def scenario_flat_yaml_of_hftrain(scenario):
    fixture, output = scenario.fixture, os.path.join(scenario.folder, "flat")
    path = scenario.write("flat.yaml", f"""
model_type: gpt2
config_overrides: n_layer=2,n_head=2,n_embd=32,n_positions=64,vocab_size=512,bos_token_id=0,eos_token_id=0
tokenizer_name: {fixture.tokenizer}
train_file: {fixture.text}
validation_file: {fixture.text}
max_eval_samples: 20
block_size: 64
output_dir: {output}
do_train: true
do_eval: true
use_cpu: yes
cpu_ranks: 2
per_device_train_batch_size: 2
gradient_accumulation_steps: 2
max_steps: {STEPS}
learning_rate: 1e-3
lr_scheduler_type: cosine_with_min_lr
lr_scheduler_kwargs: {{min_lr_rate: 0.1}}
warmup_steps: 0.4
weight_decay: 0.1
adam_beta2: 0.95
gradient_checkpointing: no
logging_steps: 0.1
logging_first_step: true
evaluation_strategy: steps
eval_steps: 3
save_steps: 3
save_total_limit: 2
load_best_model_at_end: true
metric_for_best_model: null
report_to: [csv]
data_seed: 7
""")
    fixture.call("--config", path)
    losses, plan, _ = scenario.facts(output)
    assert plan["ranks"]["world_size"] == 2 and plan["schedule"]["warmup_steps"] == 3  # ceil(0.4 x 6)
    assert plan["evaluation"]["metric_for_best_model"] == "eval_loss" and not plan["model"]["gradient_checkpointing"]
    assert os.path.exists(os.path.join(output, "hftrain", "log.csv")) and os.path.exists(
        os.path.join(output, "eval_results.json"))
    flags = ("--gradient_accumulation_steps", 2, "--adam_beta2", 0.95, "--lr_scheduler_type", "cosine_with_min_lr",
             "--lr_scheduler_kwargs", '{"min_lr_rate": 0.1}', "--warmup_steps", 0.4, "--data_seed", 7)
    scenario.check(losses, scenario.reference(2, *flags), 1e-5)


SCENARIOS = {name[len("scenario_"):]: function for name, function in list(globals().items()) if name.startswith("scenario_")}


def main():
    names = sys.argv[1:] or list(SCENARIOS)
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(folder)
        for name in names:
            print(name.replace("_", " "), flush=True)
            SCENARIOS[name](scenario)


if __name__ == "__main__":
    main()
