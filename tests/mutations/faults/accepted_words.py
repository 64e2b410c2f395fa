# Flags, keys and variables that were accepted and did nothing.

fault("unset, ddp_find_unused_parameters is false",
      "lib/hftrain/plan/resolve_strategy.cpp", "parallel.ddp_find_unused_parameters.value_or(!recomputes_activations(input_.parsed.arguments));",
      "parallel.ddp_find_unused_parameters.value_or(false);",
      tests=["plan: DDP looks for unused parameters unless told not to or activations are recomputed"],
      says=r"cpu_run\(2, \{\}\)")

fault("ddp_static_graph is taken and acts nowhere",
      "lib/hftrain/plan/resolve_strategy.cpp", "plan_.static_graph = parallel.ddp_static_graph;", "",
      tests=["values: every option acts"],
      says=r"static_graph is accepted and acts nowhere")

fault("log_on_each_node is taken and acts nowhere",
      "lib/hftrain/plan/resolve_training.cpp", "result.on_each_node = logging.log_on_each_node;", "",
      tests=["plan: the level of the main process is that of a rank of every node, or of rank 0 alone",
             "values: every option acts"],
      says=r"level_of|on_each_node is accepted and acts nowhere")

fault("save_on_each_node asks for a folder that all nodes share",
      "launcher/front/job.cpp", "const bool each_node = inputs_.parsed.arguments.saving.save_on_each_node;\n  if (alone()",
      "const bool each_node = false;\n  if (alone()",
      tests=["runs: machines: every node ends as a complete run"],
      says=r"FAILED|ended with")

fault("use_orig_params false of version 1 is passed over",
      "lib/hftrain/arguments/import/fsdp_rules.cpp", "if (settings_.use_orig_params.value_or(true)) return;", "if (settings_.use_orig_params.value_or(true) || !version2()) return;",
      tests=["arguments: what sharding does in one way only says so when the other is asked for"],
      says=r"use_orig_params false has no effect here")

fault("sync_module_states false is passed over",
      "lib/hftrain/arguments/import/fsdp_rules.cpp", "if (version2() || settings_.sync_module_states.value_or(true)) return;", "if (version2() || !version2()) return;",
      tests=["arguments: what sharding does in one way only says so when the other is asked for"],
      says=r"sync_module_states false has no effect here")

fault("ACCELERATE_USE_CPU of an announced launch is passed over",
      "lib/hftrain/arguments/import/environment.cpp", '    {"ACCELERATE_USE_CPU", "use_cpu"},\n', "",
      tests=["arguments: the precision and the device of an announced launch count below every flag"],
      says=r"device\.use_cpu")

fault("PARALLELISM_CONFIG_* are passed over",
      "lib/hftrain/arguments/import/environment.cpp", "for (const Variable& variable : kOfMesh) of_launch(variable);", "",
      tests=["arguments: the mesh of PARALLELISM_CONFIG_* counts when accelerate says that there is one"],
      says=r'== "hybrid_shard"|replicate_ranks == 2')

fault("MKL_NUM_THREADS is passed over",
      "lib/hftrain/plan/topology.cpp", '{"MKL_NUM_THREADS", "OMP_NUM_THREADS"}', '{"OMP_NUM_THREADS"}',
      tests=["machine: MKL_NUM_THREADS sets the threads too, and wins over OMP_NUM_THREADS as in PyTorch"],
      says=r'requested_threads|threads_variable == "MKL_NUM_THREADS"')

fault("use_liger_kernel on GPUs is taken without a word",
      "lib/hftrain/plan/resolve_model.cpp", "if (!on_gpu(plan.ranks) || !precision.use_liger_kernel) return notes;", "if (!on_gpu(plan.ranks) || precision.use_liger_kernel) return notes;",
      tests=["plan: on GPUs a note says which operators use_liger_kernel fuses"],
      says=r"on GPUs use_liger_kernel may fuse")

fault("a run that goes on with other intervals is not told so",
      "lib/hftrain/plan/resume_notes.cpp", "if (different.empty()) return;", "if (different.size() < 100) return;",
      tests=["plan: a run that goes on with other intervals, another batch or version is told so",
             "runs: a run says: a run that goes on with other settings is told"],
      says=r"instead of|'warning: the run goes on with other settings' is not there")

fault("special tokens that the tokenizer changes are not told",
      "lib/hftrain/plan/special_tokens.cpp", "if (present == own && same_there) continue;", "if (same_there || present != own) continue;",
      tests=["plan: special tokens that the tokenizer changes are listed in a warning"],
      says=r"->")

fault("commands do not answer --version",
      "apps/hftrain/command_options.cpp", 'if (std::find(words.begin(), words.end(), "--version") == words.end()) return false;', "if (words.size() < 1000) return false;",
      tests=["apps: every command answers --help, --help-all and --version, and calls itself by its whole name"],
      says=r"--version")

fault("a DeepSpeed file that is missing is not told with the line that names it",
      "lib/hftrain/arguments/import/accelerate.cpp", 'add(key, key, (*mapping)[key], file_.place(std::string("/deepspeed_config/") + key));',
      'add(key, key, (*mapping)[key], file_.place("/deepspeed_config"));',
      tests=["arguments: a DeepSpeed file that is not there is told with the line of the Accelerate file that names it"],
      says=r"4:26")

fault("use_node_local_storage is passed over",
      "lib/hftrain/arguments/import/deepspeed_training.cpp", "if (file.keys.value_or(pointer, false))\n", "if (file.keys.value_or(pointer, false) && pointer.empty())\n",
      tests=["arguments: use_node_local_storage is save_on_each_node"],
      says=r"save_on_each_node")

fault("ACCELERATE_MIXED_PRECISION of an announced launch is passed over",
      "lib/hftrain/arguments/import/environment.cpp", '    {"ACCELERATE_MIXED_PRECISION", "mixed_precision"},\n', "",
      tests=["arguments: the precision and the device of an announced launch count below every flag"],
      says=r"bf16")

fault("a note of a flag says again what its help says",
      "lib/hftrain/arguments/flags/evaluation_flags.cpp", '.note = "Unset or 0: logging_steps.",', '.note = "Below 1: a share of all updates. Unset or 0: logging_steps.",',
      tests=["arguments: what a flag's help says its note does not say again in other words"],
      says=r"eval_steps")

fault("a warm-up that the schedule does not have is taken without a word",
      "lib/hftrain/arguments/rules/effect_rules.cpp", 'return schedule != "constant" && schedule', 'return schedule != "none" && schedule',
      tests=["arguments: a flag that was given and does nothing beside the others is told, once it would act it is not"],
      says=r"warmup_steps has no effect")

fault("min_num_params beside a policy of layers is taken without a word",
      "lib/hftrain/arguments/import/fsdp_rules.cpp", 'if (sized && *policy != "size")', 'if (sized && *policy == "nothing")',
      tests=["arguments: an option of FSDP that does nothing beside the others is told"],
      says=r"told\(")

fault("a configuration file behind the name of a command is no configuration",
      "apps/hftrain/main.cpp", "if (command->takes_run_flags && begins", "if (command->takes_run_flags && name.empty() && begins",
      tests=["apps: one configuration file is one for every command that takes the flags of a run"],
      says=r"dry_run|values follow a flag|run\.yaml")

fault("small commands do not know --help-all",
      "apps/hftrain/command_options.cpp", '|| word == "--help-all" || word == "--help_all";', '|| word == "--help_all";',
      tests=["apps: every command answers --help, --help-all and --version, and calls itself by its whole name"],
      says=r"--help-all")

fault("agent 0 listens where it is looked for, whatever --local_addr says",
      "launcher/control/meeting.cpp", "if (!membership.local_address.empty()) return", 'if (membership.local_address == "nowhere") return',
      tests=["runs: machines: a machine is reached by its local address"],
      says=r"FAILED: --local_addr of agent 0|still running")

fault("--local_addr of a job without other machines is taken without a word",
      "launcher/environments/find_membership.cpp", "membership_.agents == 1 && launch_.local_addr &&", "membership_.agents == 0 && launch_.local_addr &&",
      tests=["launcher: an address of this machine that nobody asks for is told"],
      says=r"notices")

fault("a printed configuration warns of adapter flags that nobody gave",
      "lib/hftrain/plan/resolve_adapter.cpp", "if (!origins.is_given(flag) || !origins.is_chosen(flag)) continue;", "if (!origins.is_given(flag)) continue;",
      tests=["plan: what print_config prints of every file in configs/ is read back as the same plan"],
      says=r"remarks")

fault("a follower connects as routes have it, whatever --local_addr says",
      "launcher/control/meeting.cpp", "connect_to(endpoint, spec_.membership.local_address, seconds, why)", 'connect_to(endpoint, "", seconds, why)',
      tests=["runs: machines: a machine is reached by its local address"],
      says=r"FAILED: --local_addr of a follower: the machines are known by it")

fault("ignored modules are sharded like all others",
      "lib/hftrain/plan/resolve_strategy.cpp", "if (kind_.stage > 0 && asked_.ignored_modules) ignore();", "if (kind_.stage > 3 && asked_.ignored_modules) ignore();",
      tests=["runs: loop options: ignored modules are not sharded"],
      says=r"the MLPs are whole")

fault("what is offloaded between forward and backward stays on the device",
      "lib/hftrain/nn/activation_checkpoint.cpp", "return at::empty(tensor.sizes(), options).copy_(tensor, /*non_blocking=*/true);", "return options.pinned_memory() ? at::empty(tensor.sizes(), options).copy_(tensor, /*non_blocking=*/true) : tensor.detach();",
      tests=["nn: Inputs that wait in host memory give the same gradients, and are copies"],
      says=r"gradient\(true\)")

fault("the offload of activations is planned and acts nowhere",
      "lib/hftrain/trainer/components.cpp", "plan.model.checkpoint_every_n_layers, plan.model.checkpoint_offload && on_gpu);", "plan.model.checkpoint_every_n_layers, on_gpu);",
      tests=["values: every option acts"],
      says=r"checkpoint_offload is accepted and acts nowhere")

fault("torch_compile on GPUs changes nothing",
      "lib/hftrain/arguments/derive.cpp", "      precision.tf32 = true;\n", "",
      tests=["arguments: torch_compile allows TensorFloat-32 as upstream does",
             "plan: tf32 that a compile flag switched on is dropped where there is no GPU"],
      says=r"tf32 == true")

fault("torch_compile is taken without a word",
      "lib/hftrain/arguments/flags/precision_flags.cpp", '.help = "Compile the model with torch.compile.",\n       .support = kTorchCompile},', '.help = "Compile the model with torch.compile."},',
      tests=["arguments: torch_compile says that nothing is compiled"],
      says=r'has no effect here')

fault("a hint names an option that does not exist",
      "lib/hftrain/arguments/rules/training_rules.cpp", '"--bf16_full_eval, or neither"', '"--bf16_all_eval, or neither"',
      tests=["arguments: every option that a message names exists, and neither it nor the word behind it is planned or refused"],
      says=r"--bf16_all_eval")
