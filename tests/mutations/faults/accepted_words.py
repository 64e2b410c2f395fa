# Flags, keys and variables that were accepted and did nothing.

fault("unset, ddp_find_unused_parameters is false",
      "lib/hftrain/plan/resolve_strategy.cpp", "plan_.static_graph.value_or(false) || !recomputes_activations(input_.parsed.arguments));",
      "plan_.static_graph.value_or(false));",
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
      "lib/hftrain/arguments/import/accelerate_sections.cpp", 'add(key, key, (*mapping)[key], file_.place(std::string("/deepspeed_config/") + key));',
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
      "apps/hftrain/main.cpp", "if (command->run_flags == hftrain::app::RunFlags::kAlone && begins", "if (command->run_flags == hftrain::app::RunFlags::kAlone && name.empty() && begins",
      tests=["apps: one configuration file is one for every command that takes the flags of a run"],
      says=r"dry_run|values follow a flag|run\.yaml")

fault("small commands do not know --help-all",
      "apps/hftrain/command_options.cpp", '|| word == "--help-all" || word == "--help_all";', '|| word == "--help_all";',
      tests=["apps: every command answers --help, --help-all and --version, and calls itself by its whole name"],
      says=r"--help-all")

fault("agent 0 listens where it is looked for, whatever --local_addr says",
      "launcher/control/leader_place.cpp", "if (!membership.local_address.empty()) return", 'if (membership.local_address == "nowhere") return',
      tests=["runs: machines: a machine is reached by its local address"],
      says=r"FAILED: --local_addr of agent 0|still running")

fault("--local_addr of a job without other machines is taken without a word",
      "launcher/environments/find_membership.cpp", "if (membership_.agents != 1 || origins_", "if (membership_.agents != 0 || origins_",
      tests=["launcher: an address of this machine that nobody asks for is told"],
      says=r"notices")

fault("a printed configuration warns of adapter flags that nobody gave",
      "lib/hftrain/plan/resolve_adapter.cpp", "if (!is_said(input, flag)) continue;", "if (!input.parsed.origins.is_given(flag)) continue;",
      tests=["plan: what print_config prints of every file in configs/ is read back as the same plan"],
      says=r"remarks")

fault("a follower connects as routes have it, whatever --local_addr says",
      "launcher/control/joining.cpp", "connect_to(endpoint, spec_.membership.local_address, seconds, why)", 'connect_to(endpoint, "", seconds, why)',
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

STAGES_AND_DEVICES = "arguments: keys that act in another stage or on NVMe only are told where they do nothing"
LAUNCH_FLAGS = "arguments: flags of accelerate launch for stage 3 and NVMe are told where they do nothing"
BESIDE_OTHERS = "arguments: a flag that was given and does nothing beside the others is told, once it would act it is not"

fault("DeepSpeed's keys of NVMe beside another device are taken without a word",
      "lib/hftrain/arguments/import/deepspeed_zero.cpp", 'if (device == "nvme") return;', "if (!device.empty()) return;",
      tests=[STAGES_AND_DEVICES], says=r"nvme_path \(beside device nvme only\)")

fault("DeepSpeed's keys of NVMe are told although the state goes there",
      "lib/hftrain/arguments/import/deepspeed_zero.cpp", 'if (device == "nvme") return;\n    for', "if (device.empty()) return;\n    for",
      tests=[STAGES_AND_DEVICES], says=r"CHECK_FALSE")

fault("DeepSpeed's keys of stage 3 below it are taken without a word",
      "lib/hftrain/arguments/import/deepspeed_zero.cpp", "if (stage_ == 3) return;\n    const std::string why", "if (stage_ >= 0) return;\n    const std::string why",
      tests=[STAGES_AND_DEVICES], says=r"stage3_param_persistence_threshold \(in stage 3 only\)")

fault("zero3_save_16bit_model below stage 3 is taken without a word",
      "lib/hftrain/arguments/import/deepspeed.cpp", "if (whole == true) note(", "if (whole == 3) note(",
      tests=[LAUNCH_FLAGS], says=r"zero3_save_16bit_model has no effect")

fault("a folder of NVMe beside another device is taken without a word",
      "lib/hftrain/arguments/import/deepspeed.cpp", 'if (named && device.value_or("none") != "nvme")', 'if (named && device.value_or("none") == "disk")',
      tests=[LAUNCH_FLAGS], says=r"offload_optimizer_nvme_path has no effect")

fault("options of pushing without --push_to_hub are taken without a word",
      "lib/hftrain/arguments/rules/effect_rules.cpp", "return !o.arguments.hub.push_to_hub && std::any_of", "return o.arguments.hub.push_to_hub && std::any_of",
      tests=[BESIDE_OTHERS], says=r"hub_model_id")

fault("test data without --do_predict are taken without a word",
      "lib/hftrain/arguments/rules/effect_rules.cpp", "return !o.arguments.run.do_predict && (named", "return o.arguments.run.do_predict && (named",
      tests=[BESIDE_OTHERS], says=r"test_file")

fault("a column of lengths that nothing looks at is taken without a word",
      "lib/hftrain/arguments/rules/effect_rules.cpp", 'return chosen(o, "length_column_name") && !looks_at_lengths', 'return chosen(o, "length_column_name") && looks_at_lengths',
      tests=[BESIDE_OTHERS], says=r"length_column_name")

fault("use_parallelism_config without sizes is taken without a word",
      "lib/hftrain/arguments/import/parallelism_config.cpp", "if (used() && !sizes_.replicate && !sizes_.shard)", "if (used() && sizes_.replicate && !sizes_.shard)",
      tests=["arguments: what does nothing in a parallelism_config is told"], says=r"use_parallelism_config has no effect")

fault("back ends of a parallelism_config are taken without a word",
      "lib/hftrain/arguments/import/parallelism_config.cpp", "return idle_.push_back(key", "return void(key",
      tests=["arguments: what does nothing in a parallelism_config is told"], says=r"keys of parallelism_config have no effect here")

fault("a launcher without a host file is taken without a word",
      "lib/hftrain/arguments/import/launch.cpp", 'if (!named && !started && given("launcher")', 'if (named && !started && given("launcher")',
      tests=["arguments: L10: filters choose from a host file, one way at a time"], says=r"launcher has no effect without a host file")

fault("rows of several labels are smoothed in the plan",
      "lib/hftrain/plan/resolve_training.cpp", "const bool several = architecture.head() == Head::kSequenceClassification &&", "const bool several = architecture.head() == Head::kQuestionAnswering &&",
      tests=["plan: labels of question answering, and several of a row, are not smoothed, which is told"],
      says=r"label_smoothing == 0")

fault("words of the fsdp_ flags are known in capitals alone",
      "lib/hftrain/arguments/flag.cpp", "return any_case ? to_lower(choice.word) == to_lower(word) : choice.word == word;", "return choice.word == word;",
      tests=["arguments: words of the flags of accelerate launch are known in any letter case, as in fsdp_config"],
      says=r"is not one of")

fault("keys of several machines are passed over in silence where there is one",
      "lib/hftrain/arguments/import/accelerate_layers.cpp", "if (usual) return true;", "if (usual || name.size() > 12) return true;",
      tests=["arguments: keys about several machines are told to do nothing on one, but for those that are always written"],
      says=r"told\(")

fault("main_process_port of a file is passed over where there is one machine",
      "lib/hftrain/arguments/import/accelerate.cpp", 'top_level("main_process_port");', 'if (machines_ > 1) top_level("main_process_port");',
      tests=["arguments: the port of the main process counts on one machine, and the command line may add machines"],
      says=r"master_port == 29501")

fault("fp16 beside another mixed_precision is taken without a word",
      "lib/hftrain/arguments/import/accelerate.cpp", 'if (!newer.empty() && newer != "fp16")', 'if (newer == "fp16")',
      tests=["arguments: fp16 of an old file is a truth value in any spelling"],
      says=r"beside\(")

fault("backward_prefetch of a strategy that gathers once is taken without a word",
      "lib/hftrain/arguments/rules/effect_rules.cpp", "&& !gathers_twice(sharding);", "&& !gathers_twice(sharding) && !shards(sharding);",
      tests=["arguments: an option of FSDP that does nothing beside the others is told"],
      says=r"told\(words, backward")

fault("no_shard says nothing of the options that it has no use for",
      "lib/hftrain/arguments/import/fsdp_rules.cpp", 'if (sharding_.strategy.value_or("") != "no_shard") return;', 'if (sharding_.strategy.value_or("") != "none") return;',
      tests=["arguments: no_shard tells which options of sharding do nothing with it"],
      says=r"kBegins|contains\(all")

fault("communication_data_type of stage 0 is taken without a word",
      "lib/hftrain/arguments/import/deepspeed_zero.cpp", 'if (stage_ == 0 && sharding_.reduce_dtype', 'if (stage_ > 3 && sharding_.reduce_dtype',
      tests=["arguments: communication_data_type is told to do nothing in stage 0, where DDP reduces in the weights' type"],
      says=r"told\(")

fault("save_only_model is taken with LOCAL_STATE_DICT",
      "lib/hftrain/arguments/rules/training_rules.cpp", 'sharding.state_dict.value_or("full") != "full";', 'sharding.state_dict.value_or("full") == "sharded";',
      tests=["arguments: rule T8: save_only_model does not go with weights in parts"],
      says=r"in parts exclude each other")

fault("a passive log level leaves the progress bar whatever TRANSFORMERS_VERBOSITY says",
      "lib/hftrain/arguments/derive.cpp", "wanted_log_level(logging.log_level, environment_, LogLevel::kInfo)", "log_level_named(logging.log_level, LogLevel::kInfo)",
      tests=["arguments: values that follow from others"], says=r"disable_tqdm == hides")

fault("activation_checkpointing_offload of accelerate launch is taken without a version",
      "lib/hftrain/arguments/import/fsdp_rules.cpp", "request_.words.empty() || is_of_older_release() ? 1 : 2", "2",
      tests=["arguments: rule F13: activations are offloaded where they are computed again, in version 2"],
      says=r"mistakes\(launch\)|belongs to version 2")

fault("ACCELERATE_DEBUG_MODE=1 is taken without a word",
      "lib/hftrain/arguments/import/environment.cpp", 'if (is_switched_on(environment_, "ACCELERATE_DEBUG_MODE"))', 'if (is_true(environment_, "ACCELERATE_DEBUG_MODE"))',
      tests=["arguments: variables of accelerate that nothing here reads are told, in every spelling of a truth value"],
      says=r"has no effect")

fault("variables of DeepSpeed are taken without a word where FSDP is announced",
      "lib/hftrain/arguments/import/environment.cpp", 'say_unused(of_deepspeed(), ', 'say_unused({}, ',
      tests=["arguments: of a launch by FSDP the variables of DeepSpeed are told to be unused, and the other way round"],
      says=r"of_fsdp")

fault("the port of c10d is taken without a word",
      "lib/hftrain/arguments/import/launch.cpp", '.what = "rdzv_endpoint names no port: it is "', '.what = "rdzv_endpoint is "',
      tests=["arguments: an endpoint without a port has that of c10d, also of an Accelerate file, which is told"],
      says=r"names no port")

fault("the form of checkpoints beside an adapter is taken without a word",
      "lib/hftrain/plan/resolve_adapter.cpp", 'if (form == "full" || ', 'if (form != "full" || ',
      tests=["plan: beside an adapter the form of checkpoints is told to do nothing, and the plan says that it is saved whole"],
      says=r"has no effect beside an adapter|STATE_DICT")

fault("a form of checkpoints that accelerate filled in is told to have no effect beside an adapter",
      "lib/hftrain/plan/resolve_adapter.cpp", " || asked.state_dict_filled_in) return;", ") return;",
      tests=["plan: beside an adapter the form of checkpoints is told to do nothing, and the plan says that it is saved whole"],
      says=r"launched\(\{\}\)")

fault("zero3_init_flag below stage 3 is taken without a word",
      "lib/hftrain/arguments/import/deepspeed.cpp", "if (asked == in_parts) return;", "if (asked == in_parts || !in_parts) return;",
      tests=["arguments: zero3_init_flag is told where it says something else than the stage does"],
      says=r"counts as false")

fault("the slots of a host file take the place of what --gpu_ids chose",
      "lib/hftrain/arguments/import/visible_gpus.cpp", "ids ? choose_from(*slots, *ids) : MaskChoice{{*slots}, std::nullopt};", "ids && slots->empty() ? choose_from(*slots, *ids) : MaskChoice{{*slots}, std::nullopt};",
      tests=["arguments: gpu_ids chooses among the slots of a host file, which take the place of another mask, as is told"],
      says=r"gpu_ids")

fault("the slots of a host file take the place of another mask without a word",
      "lib/hftrain/arguments/import/visible_gpus.cpp", "if (on_gpus && before && *before != *slots)", "if (!on_gpus && before && *before != *slots)",
      tests=["arguments: gpu_ids chooses among the slots of a host file, which take the place of another mask, as is told"],
      says=r"told|is not used")

fault("gpu_ids beside a host file's slots is refused by a mask that gives way to them",
      "lib/hftrain/arguments/import/visible_gpus.cpp", "return read && (!launch.include.empty() || !launch.exclude.empty());", "return read && launch.include.empty() && launch.exclude.empty();",
      tests=["arguments: a mask that slots of a host file replace refuses no gpu_ids"],
      says=r"there is no GPU '1'")

fault("nodes wait for one whose slots lack a GPU of --gpu_ids",
      "apps/hftrain/commands/train.cpp", "    } catch (const Error& error) {\n      return refuse_job(context, parsed, error);\n    }\n", "    } catch (const Error&) {\n      throw;\n    }\n",
      tests=["runs: machines: wrong starts are named in time"],
      says=r"a GPU that one machine's slots lack")

fault("nodes wait for one whose command line contradicts the host file",
      "apps/hftrain/commands/train.cpp", "    } catch (const Error& error) {\n      return refuse_job(context, parsed, error);\n    }\n", "    } catch (const arguments::InvalidArguments& error) {\n      return refuse_job(context, parsed, error);\n    }\n",
      tests=["runs: machines: wrong starts are named in time"],
      says=r"ranks that one machine's slots contradict")

fault("a node_rank that is not in the host file leaves the others unknown",
      "launcher/ssh/machine_start.cpp", "  if (!origins.is_given(\"nnodes\")) {\n    launch.nnodes", "  if (!origins.is_given(\"nnodes\") && launch.node_rank < machines) {\n    launch.nnodes",
      tests=["launcher: no_ssh takes the numbers of machines and ranks from the host file"],
      says=r"wrong\.nnodes")

fault("gpu_ids takes the place of a mask of a file's env: without a word",
      "lib/hftrain/arguments/import/visible_gpus.cpp", "if (before && *before != chosen)", "if (before && *before == chosen)",
      tests=["arguments: what gpu_ids makes of a mask that is there is told"],
      says=r"is not used")

fault("JSON of a flag of generate that does not parse is said to be a damaged file",
      "lib/hftrain/generation/settings.cpp", "  } catch (Error& error) {  // whose way out is that of a file", "  } catch (std::bad_alloc&) {\n    Error error(ExitCode::kUsage, word);",
      tests=["generation: what is no JSON on the command line is not said to be a damaged file"],
      says=r"quotes of the shell")

fault("hysteresis of a fixed loss scale is taken without a word",
      "lib/hftrain/arguments/import/deepspeed_training.cpp", 'file.keys.tell_idle("/fp16/hysteresis"', 'if (!scales) file.keys.tell_idle("/fp16/hysteresis"',
      tests=["arguments: what moves the loss scale is told to do nothing where it is fixed, and where the run is not in fp16"],
      says=r"idle\(|told\(")

fault("GLOO_SOCKET_IFNAME is passed on to ranks that take the interface which leads to rank 0",
      "lib/hftrain/comm/gloo_backend.cpp", "if (request.interfaces.empty()) return {local_address_towards(request.master_host)};\n  return addresses_of_interfaces(request.interfaces);",
      "return {local_address_towards(request.master_host)};",
      tests=["comm: ranks of several nodes talk by the interfaces that they are told, not by whichever leads to rank 0"],
      says=r"there is no network interface")

fault("GLOO_SOCKET_IFNAME ends a run of one machine, which talks by no interface",
      "lib/hftrain/comm/gloo_backend.cpp", "if (request.one_machine) {", "if (request.one_machine && request.interfaces.empty()) {",
      tests=["comm: ranks of one machine need no interface that is named for runs of several"],
      says=r"there is no network interface")

fault("an interface without an address is said not to be there",
      "lib/hftrain/comm/local_address.cpp", "const bool silent = ::if_nametoindex(name.c_str()) != 0;", "const bool silent = false;",
      tests=["comm: an interface that is down or has no address is not told as one that is not there"],
      says=r"is down, or has no address")

fault("a plan tells ranks another address of node 0 than --local_addr",
      "apps/hftrain/commands/train_plan.cpp", "return named_here ? membership.local_address : membership.master_host;", "return named_here && membership.master_host.empty() ? membership.local_address : membership.master_host;",
      tests=["runs: a plan says what the run would do"],
      says=r"FAILED: ranks are told node 0's own address", seconds=120)

fault("a plan takes any --local_addr",
      "launcher/front/meeting_stage.cpp", "if (membership.agents == 1 || membership.local_address.empty()) return;", "if (membership.agents >= 1 || membership.local_address.empty()) return;",
      tests=["runs: a plan says what the run would do"],
      says=r"FAILED: 192\.0\.2\.7 is no address of this machine", seconds=120)

fault("a variable of threads that holds no number is passed over without a word",
      "lib/hftrain/plan/topology.cpp", "if (!value.empty() && !threads_of(value))", "if (value.empty() && !threads_of(value))",
      tests=["plan: a variable of threads that holds no number is warned of, and none that does"],
      says=r"has no effect")

fault("option words of --fsdp make one unit, as up to 5.9",
      "lib/hftrain/arguments/import/fsdp_rules.cpp", "asked_release(outcome_.arguments) / 100 < kFirstWrapping", "true",
      tests=["arguments: every word of --fsdp names its strategy", "plan: layers become units unless the policy is another one"],
      says=r"transformer|units\.size\(\) == 4")

fault("ranks that a word asks for pass the limit of a plan",
      "lib/hftrain/plan/machine_spec.cpp", 'if (*asked == "cpu" || (*asked == "auto" && gpus == 0)) return spec.cores;\n  return whole_number<int64_t>(*asked).value_or(gpus);', "return whole_number<int64_t>(*asked).value_or(1);",
      tests=["plan: machines with more ranks than a plan can hold are refused before any of them is made"], says=r"4,000 on each")

fault("null of a list takes the place of the release's default",
      "lib/hftrain/arguments/merge.cpp", "(winner.value.is_null() || winner.raw->written.is_null())", "winner.value.is_null()",
      tests=["arguments: report_to null of a file is the default of the release"], says=r"all")

fault("0 of an old name of the batch size is a size",
      "lib/hftrain/arguments/flags/batch_flags.cpp", '"per_device_train_batch_size", .wins = true, .zero_is_unset = true', '"per_device_train_batch_size", .wins = true',
      tests=["arguments: 0 of the old names of batch sizes is as good as not given"], says=r"is not a whole number|sizes")

fault("a run of transformers 4 has no name",
      "lib/hftrain/arguments/derive.cpp", "kFirstWithoutName = 50000;", "kFirstWithoutName = 40000;",
      tests=["arguments: up to transformers 4.57 a run without a name has that of its folder"], says=r"name\(")

fault("a printed mixed_precision wins over the false that was asked for",
      "lib/hftrain/arguments/import/launch_kind.cpp", '  found->second = "no";\n', "",
      tests=["plan: what print_config prints of command lines is read back as the same plan"], says=r"FAILED")

fault("use_liger_kernel false is taken without a word",
      "lib/hftrain/plan/resolve_model.cpp", "if (!switches_fusion_off(input)) return;", "if (switches_fusion_off(input)) return;",
      tests=["plan: use_liger_kernel false is told to switch fused operators off, also of a file that repeats the default"], says=r"told")

fault("save_steps with another strategy is passed over",
      "lib/hftrain/arguments/rules/loop_effect_rules.cpp", 'saving.save_steps > 0 && saving.save_strategy != "steps";', 'saving.save_steps > 0 && saving.save_strategy == "never";',
      tests=[BESIDE_OTHERS], says=r"--save_steps")

fault("logging_steps is called idle where evaluations go by it, and there alone",
      "lib/hftrain/arguments/rules/loop_effect_rules.cpp", 'logging.logging_strategy != "steps" && !of_evaluation;', 'logging.logging_strategy != "steps" && of_evaluation;',
      tests=[BESIDE_OTHERS], says=r"no effect")

fault("betas of an optimizer without them are passed over",
      "lib/hftrain/arguments/rules/loop_effect_rules.cpp", 'return optim == "sgd" || optim == "adagrad" || optim == "rmsprop" || optim == "adafactor";', 'return optim == "adagrad" || optim == "adafactor";',
      tests=[BESIDE_OTHERS], says=r"--adam_beta1")

fault("validation data that nobody evaluates are passed over",
      "lib/hftrain/arguments/rules/loop_effect_rules.cpp", "return !judges && (names_validation_data(o)", "return judges && (names_validation_data(o)",
      tests=[BESIDE_OTHERS], says=r"validation data have no effect")

fault("metrics of inputs and losses are promised where the loss alone is given",
      "lib/hftrain/plan/resolve_training.cpp", "if (scoring.metrics.empty()) return scoring;", "if (task.scoring == nullptr) return scoring;",
      tests=["plan: pairs that are judged by the loss alone have no metrics to include anything for, and none is promised"], says=r"include_for_metrics|loss_std")

fault("a revision beside folders alone is passed over",
      "lib/hftrain/plan/idle_flags.cpp", "!opens_snapshots(input.model);", "opens_snapshots(input.model);",
      tests=["plan: a revision is told to be idle where no snapshot of the Hub is opened"], says=r"idle\(")

fault("a model_type beside a model of another one is passed over",
      "lib/hftrain/plan/idle_flags.cpp", "model.model_type != input.model.architecture->model_type();", "model.model_type == input.model.architecture->model_type();",
      tests=["plan: a model_type is told to be idle where the model that is opened is of another one"], says=r"model_type has no effect")

fault("a data_seed is said to be idle where masks are drawn from it",
      "lib/hftrain/plan/idle_flags.cpp", 'grouped || data.sampling == "sortish" || data.masking ||\n         data.preprocessor;', '(grouped && data.masking) || data.sampling == "sortish";',
      tests=["plan: a data_seed is told to be idle where nothing is drawn from it"], says=r"idle|told")

fault("evaluation reads its batches on its own thread whatever is asked",
      "lib/hftrain/trainer/evaluator.cpp", "options.length_group = sampler.length_group;", "options.length_group = sampler.length_group;\n  options.prefetch = 0;",
      tests=["trainer: batches of an evaluation are made by the loader's threads where there are some, in their order"], says=r"workers == 0|threads")

fault("a tag on a list or a mapping of YAML is dropped",
      "lib/hftrain/arguments/yaml_values.cpp", "if (node.IsSequence() || node.IsMap()) check_tag_of_parts(node);", "if (node.IsScalar()) check_tag_of_parts(node);",
      tests=["arguments: words and numbers of YAML 1.1 mean in mappings what they do there, and so do tags"], says=r"level|mine")
