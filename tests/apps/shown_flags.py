"""Where each flag of a run is shown to act, beside those of the tasks (task_flags.py): {flag: place}. A place names functions of scripts here and
test cases of C++ ("tests/plan/resolve_test.cpp: how the name begins"), and says of what kind of machine the flag is where a run cannot show it."""
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
PLANS = "run_flags.py parts_of_the_plan_follow_their_flags"
DEEPSPEED = "tests/arguments/deepspeed_test.cpp: the flags of accelerate launch for DeepSpeed"
BY_LAUNCHERS = "tests/arguments/launch_test.cpp: accelerate's names, whose processes are those"
HOST_FILE = "tests/arguments/launch_test.cpp: L10: filters choose from a host file"
SSH = "tests/launcher/ssh/hosts_test.cpp: the remote shell is ssh"
BEST = "what_a_run_keeps.py the_best_model_is_found_after_a_move_and_forgotten_when_gone"
HUB = "hub_push.py names_branches_and_tokens_are_found"
IN_PLACES = {
    "run_flags.py numbers_of_the_update":
        "learning_rate weight_decay adam_beta1 adam_beta2 adam_epsilon max_grad_norm label_smoothing_factor neftune_noise_alpha warmup_steps gradient_accumulation_steps "
        "per_device_train_batch_size per_gpu_train_batch_size warmup_ratio adafactor poly_power",
    "run_flags.py tokens_of_ranks_are_averaged_as_asked": "average_tokens_across_devices nproc_per_node config",
    "run_flags.py batches_are_shared_out_as_asked": "accelerator_config split_batches",
    "run_flags.py records_are_written_when_asked": "logging_steps logging_first_step logging_strategy save_strategy",
    "run_flags.py losses_that_are_no_numbers_are_logged_as_asked": "logging_nan_inf_filter",
    "run_flags.py callbacks_go_on_where_that_is_asked":
        "restore_callback_states_from_checkpoint early_stopping_patience early_stopping_threshold resume_from_checkpoint save_steps",
    "run_flags.py output_of_ranks_goes_where_it_is_sent": "log_ranks tee redirects local_ranks_filter duplicate_stdout_filters duplicate_stderr_filters log_dir enable_each_rank_log",
    "run_flags.py ranks_start_as_they_are_told": "num_cpu_threads_per_process role enable_cpu_affinity numa_binding",
    "run_flags.py buckets_and_recomputed_layers_are_as_many_as_asked": "ddp_bucket_cap_mb gradient_checkpointing gradient_checkpointing_kwargs profile_steps",
    "run_flags.py one_machine_of_a_host_file_is_reached": "hostfile force_multi no_ssh_check deepspeed_hostfile deepspeed_inclusion_filter deepspeed_exclusion_filter include exclude num_nodes",
    "run_flags.py machines_of_another_job_are_refused": "rdzv_id nnodes node_rank master_port",
    "run_flags.py an_adapter_is_scaled_as_asked": "use_peft use_rslora lora_alpha lora_dropout",
    PLANS: "use_fsdp fsdp_sharding_strategy fsdp_version fsdp_reshard_after_forward fsdp_auto_wrap_policy fsdp_transformer_layer_cls_to_wrap fsdp_min_num_params "
           "fsdp_offload_params fsdp_ignored_modules fsdp_activation_checkpointing fsdp_state_dict_type use_deepspeed zero_stage offload_optimizer_device "
           "offload_param_device sharded_ddp ddp_find_unused_parameters ddp_static_graph ddp_timeout ddp_backend xpu_backend mixed_precision parallelism_config "
           "use_parallelism_config parallelism_config_dp_replicate_size parallelism_config_dp_shard_size fsdp fsdp_config bf16 dry_run json fsdp_cpu_ram_efficient_loading fsdp_sync_module_states",
    "task_flags.py flags_of_models": "output_dir use_cpu",
    "loop_options.py every_optimizer_trains_by_its_own_rule": "optim optim_args",
    "loop_options.py every_schedule_has_rates_of_its_own": "lr_scheduler_type lr_scheduler_kwargs",
    "loop_options.py memory_goes_back_when_asked": "torch_empty_cache_steps", "loop_options.py the_first_module_that_overflows_is_named": "debug",
    "loop_options.py rank_0_reads_for_all": "dispatch_batches", "loop_options.py gradients_are_reduced_in_every_micro_batch": "deepspeed",
    "loop_options.py an_older_release_has_its_defaults_and_habits": "hf_compat print_config",
    "tests/arguments/deepspeed_test.cpp: flags of accelerate launch for stage 3 and NVMe": "offload_optimizer_nvme_path zero3_save_16bit_model",
    DEEPSPEED: "offload_param_nvme_path gradient_clipping", BY_LAUNCHERS: "num_machines machine_rank main_process_port", "tests/arguments/accelerate_test.cpp: DeepSpeed by file, over two machines": "main_process_ip",
    HOST_FILE: "num_gpus", "tests/arguments/accelerate_test.cpp: distributed_type MULTI_GPU asks for GPUs": "no_cuda", SSH: "launcher_args ssh_port", HUB: "hub_token hub_strategy hub_model_id hub_revision push_to_hub_organization push_to_hub_model_id push_to_hub_token",
    "hub_push.py each_strategy_pushes_what_it_says": "hub_always_push hub_private_repo",
    "what_a_run_says.py log_levels_hide_and_show": "log_level log_level_replica",
    "what_a_run_keeps.py trackers_get_every_record": "report_to run_name project", "what_a_run_keeps.py trackers_that_fail_or_hang_cost_a_warning_each": "logging_dir",
    "what_a_run_keeps.py tokens_and_memory_are_counted_when_asked": "include_tokens_per_second skip_memory_metrics",
    "what_a_run_keeps.py only_the_model_is_saved_when_so_asked": "save_only_model", BEST: "greater_is_better",
    "what_a_run_keeps.py the_best_model_of_another_trainer_is_loaded": "save_for_trainer",
    "sequence_to_sequence.py sortish_batches_are_learned_and_resume_in_mid_epoch": "include_num_input_tokens_seen",
    "text_classification.py the_best_model_is_that_of_the_best_metric": "load_best_model_at_end metric_for_best_model",
    "task_flags.py outputs_wait_as_long_as_asked": "per_device_eval_batch_size",
    "node_folders.py scenario_every_node_ends_as_a_complete_run": "save_total_limit", "node_folders.py scenario_a_shared_folder_is_saved_once": "save_on_each_node",
    "saves_in_flight.py save_at_every_update": "async_save", "rehearsal.py scenario_a_rehearsed_run_gives_the_same_bits_under_every_strategy": "rehearse",
    "before_a_run.py a_run_that_never_began_leaves_nothing": "overwrite_output_dir", "batch_search.py a_batch_that_does_not_fit_is_made_smaller_until_it_does": "auto_find_batch_size",
    "streaming.py ranks_get_the_blocks_of_the_contract": "dataloader_drop_last", "written_texts.py ranks_and_strategies_write_the_same": "bf16_full_eval",
    "endings.py scenario_ranks_with_cores_of_their_own": "bind_cores_to_rank bind_core_list", "endings.py scenario_time_is_over": "max_time",
    "endings.py scenario_attempt_that_cannot_be_started": "max_restarts",
    "machine_faults.py scenario_a_machine_is_reached_by_its_local_address": "local_addr rdzv_conf master_addr", "machines.py scenario_wrong_starts_are_named_in_time": "gpu_ids no_ssh",
    "library.py a_loss_and_its_log_are_the_programs": "worker_program", "plugins.py own_family": "plugin", "streaming.py a_plan_a_smoke_run_and_the_searched_batch_know_of_it": "smoke",
    "adapters.py an_adapter_alone_is_trained_and_saved": "lora_r", "adapters.py every_strategy_trains_the_same_adapter": "lora_target_modules",
    "adapters.py tied_embeddings_that_are_saved_whole_are_told_to_peft": "lora_modules_to_save", "adapters.py what_cannot_be_is_refused": "lora_task_type",
    "hub_push.py each_strategy_pushes_what_it_says words": "push_to_hub",
    "tests/apps/run_test.cpp: the signals that stop a run can be named": "signals_to_handle quiet",
    "tests/apps/plan_machines_test.cpp: a file of Accelerate for two machines is planned on two": "num_processes",
    "tests/apps/commands_test.cpp: every command answers --help": "help help_all version",
    "tests/apps/plan_machines_test.cpp: a 70B model whose weights are elsewhere": "machines",
    "tests/reporting/console_test.cpp: the style follows flags, terminal": "disable_tqdm progress color",
    "tests/plan/resolve_test.cpp: the level of the main process": "log_on_each_node", "tests/plan/resolve_test.cpp: precision follows the flags and the device": "fp16", "tests/plan/resolve_test.cpp: precision that the device cannot do": "fp16_full_eval tf32",
    "tests/plan/resolve_test.cpp: each key of liger_kernel_config": "liger_kernel_config", "tests/plan/resolve_strategy_test.cpp: kernels of our own run on GPUs": "use_liger_kernel",
    "tests/plan/resolve_test.cpp: cpu_ranks counts where no GPU is used": "cpu_ranks",
    "tests/plan/resolve_test.cpp: a GPU that the command line asks for": "multi_gpu",
    "tests/arguments/deepspeed_test.cpp: comments, text, base64 and mappings": "deepspeed_config deepspeed_config_file",
    "tests/arguments/launch_test.cpp: launchers that start hftrain are not started by it": "launcher deepspeed_multinode_launcher mpirun_hostfile",
    "tests/arguments/launch_test.cpp: rdzv_endpoint is master_addr": "rdzv_backend rdzv_endpoint",
    "tests/launcher/environments/find_membership_test.cpp: the flag --standalone does not look": "standalone",
    "tests/launcher/environments/find_membership_test.cpp: the flag --local_rank of old launchers": "local_rank",
    "tests/hub/access_test.cpp: hub access: the token is the flag": "token use_auth_token",
    "tests/arguments/fsdp_test.cpp: the flags of accelerate launch shard with its defaults": "fsdp_backward_prefetch fsdp_forward_prefetch",
    "tests/arguments/fsdp_test.cpp: rule F13": "fsdp_activation_checkpointing_offload",
    "tests/arguments/accelerate_test.cpp: config_file is config": "config_file",
}
SHOWN = {flag: place for place, flags in IN_PLACES.items() for flag in flags.split()}


def flags_of_page(page):
    """{section: {flag: its default as the page has it}} of `hftrain docs arguments`, for flags that do something under one of their names."""
    found = {}
    for section in re.split(r"^## ", page, flags=re.M)[1:]:
        title, _, text = section.partition("\n")
        rows = [line for line in text.splitlines() if line.startswith("| ")]
        if not rows or not rows[0].startswith("| flag | type | default |"):
            continue
        for flag, _, default, meaning in (re.split(r" \| ", line.strip("| "), maxsplit=3) for line in rows[1:]):
            found.setdefault(title, {})[flag] = (default, meaning)
    idle = {flag for flags in found.values() for flag, (_, meaning) in flags.items() if re.search(r"\*(planned|accepted|not supported)", meaning)}

    def acts(flag, meaning):
        other = re.search(r"\*(?:old name of|same as) --(\w+)", meaning)
        return flag not in idle and not (other and other[1] in idle)
    return {title: {flag: default for flag, (default, meaning) in flags.items() if acts(flag, meaning)} for title, flags in found.items()}


def text_of(source, name):
    """The function of a script or the test case that begins so, with the constants of its file that it names; nothing where there is none."""
    path = os.path.join(HERE, source) if source.endswith(".py") else os.path.join(HERE, "..", "..", source)
    if not os.path.exists(path):
        return ""
    with open(path) as file:
        text = file.read()
    if not source.endswith(".py"):
        body = re.search(rf'^TEST_CASE\("{re.escape(name)}.*?^}}', text, re.S | re.M)
        return body[0].partition("{")[2] if body else ""
    body = re.search(rf"^def {name}\(.*?(?=^\S|\Z)", text, re.S | re.M)
    if not body:
        return ""
    found, constants = body[0], [constant[0] for constant in re.finditer(r"^[A-Z][A-Z_0-9]*(?:, [A-Z_0-9]+)* = .*?(?=^[\w#@]|\Z)", text, re.S | re.M)]
    while named := [each for each in constants if any(re.search(rf"\b{word}\b", found) for word in each.partition(" = ")[0].split(", "))]:
        found += "".join(named)
        constants = [each for each in constants if each not in named]
    return found


def is_set(flag, default, text):
    """Whether the text gives the flag a value, as a word of a command line, a key of a file or of a mapping, that is not its default."""
    text, default = text.replace("\\n", "\n"), default.strip('"').lower()
    ways = (rf"--(?P<no>no_)?{flag}(?![\w-])(?P<rest>.{{0,40}})", rf"(?<![\w.-])(?P<no>)[\"']?{flag}[\"']?\s*(?:[:,)]|=(?!=))(?P<rest>.{{0,40}})",
            rf"(?P<no>)\.{flag} = (?P<rest>.{{0,40}})")
    for found in (each for way in ways for each in re.finditer(way, text, re.S)):
        value = re.match(r"[\s\"',:={(\[]*([^\s\"',)}\]]*)", found["rest"])[1].lower()
        if default in ("true", "false"):
            off = bool(found["no"]) or value in ("false", "no", "0")
            if off == (default == "true"):
                return True
        elif value not in (default, "") or (default == "null" and found[0].startswith("--")):
            return True
    return False


def is_shown_at(flag, default, place):
    """Whether all that `place` names is there and one of it gives the flag another value than its default."""
    named = re.findall(r"(tests/[\w/]+\.cpp): (.*)", place) or [(script, name) for script, names in re.findall(r"(\w+\.py) ([\w ]+)", place) for name in names.split()]
    texts = [text_of(source, name) for source, name in named]
    return bool(texts) and all(texts) and is_set(flag, default, "".join(texts))
