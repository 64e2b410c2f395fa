# What a plan left out that its run does, and places that were counted or named wrongly.

fault("parameters and the optimizer on one disk are each measured against all of it",
      "lib/hftrain/plan/nvme_check.cpp", "return other.disk.file_system == disk->file_system &&",
      "return other.disk.file_system == disk->file_system && other.folders.empty();",
      tests=["plan: offloaded state must fit on the disks of its folders, two folders on one disk together"],
      says=r"all - 1")

fault("parameters and the optimizer on two disks are measured against one",
      "lib/hftrain/plan/nvme_check.cpp", "return other.disk.file_system == disk->file_system &&",
      "return (other.disk.free_bytes <= disk->free_bytes || other.disk.free_bytes > disk->free_bytes) &&",
      tests=["plan: offloaded state must fit on the disks of its folders, two folders on one disk together"],
      says=r"\{2, optimizer\}\)\.empty\(\)")

fault("a plan does not open the secret of its job",
      "launcher/front/meeting_stage.cpp", "if (membership.agents > 1) secret_of(inputs);", "static_cast<void>(inputs), static_cast<void>(membership);",
      tests=["runs: a plan says what the run would do"],
      says=r"FAILED: plan with a secret that others may read ends with 2")

fault("a plan does not ask for the token that its run pushes with",
      "apps/hftrain/commands/train_plan.cpp", "if (membership.leads()) named_target(inputs, plan.do_train, starts_here, console);", "if (membership.leads()) named_target(inputs, plan.do_train, false, console);",
      tests=["runs: a plan says what the run would do"],
      says=r"FAILED: plan with --push_to_hub and without a token ends with 2")

fault("the first process of a launcher's second machine ends its plan with 0",
      "apps/hftrain/commands/train.cpp", "dry_run ? plan_unseen(context, std::move(parsed))", "dry_run ? ExitCode::kDone",
      tests=["runs: a plan says what the run would do"],
      says=r"FAILED: the first process of each machine ends a plan with 2")

fault("every process of a launcher makes the plan, and one of them may end the job before the first has spoken",
      "apps/hftrain/commands/train_plan.cpp", "if (!launcher::speaks_first(context.environment)) return ExitCode::kDone;\n", "",
      tests=["runs: a plan says what the run would do"],
      says=r"FAILED: those beside it leave the plan to it")

fault("a node that does not push is refused a plan for want of a token",
      "apps/hftrain/commands/train_plan.cpp", "if (membership.leads()) named_target(", "named_target(",
      tests=["runs: a plan says what the run would do"],
      says=r"FAILED: a node that does not push needs none")

fault("a plan opens the secret of a host file's first machine on this one",
      "apps/hftrain/commands/train_plan.cpp", "(hosts == nullptr || hosts->here.front());", "(hosts == nullptr || !hosts->machines.empty());",
      tests=["runs: a plan says what the run would do"],
      says=r"FAILED: what a host file's first machine has is not looked for here")

fault("an empty name in GLOO_SOCKET_IFNAME is an interface that is not there",
      "lib/hftrain/comm/local_address.cpp", "  refuse_empty_names(names);\n", "  static_cast<void>(refuse_empty_names);\n",
      tests=["comm: a list of interfaces with an empty part is not told as an interface that is not there"],
      says=r"a name is missing in the list")

fault("whatever has colons passes for an address",
      "lib/hftrain/arguments/import/launch.cpp", "return !odd && (host.find(':') == std::string::npos || is_ipv6(host));", "return !odd;",
      tests=["arguments: rdzv_endpoint is master_addr and master_port"],
      says=r"\[a:b\]:5")

fault("an endpoint with two ports passes for an address",
      "lib/hftrain/arguments/import/launch.cpp", "const bool bare_v6 = is_ipv6(text);", "const bool bare_v6 = std::count(text.begin(), text.end(), ':') > 1;",
      also=[("lib/hftrain/arguments/import/launch.cpp", "endpoint.valid = endpoint.valid && is_host(endpoint.host);", "endpoint.valid = endpoint.valid && !endpoint.host.empty();")],
      tests=["arguments: rdzv_endpoint is master_addr and master_port"],
      says=r"a:b:c")

fault("no free port is told as port 0 that is in use",
      "launcher/supervision/rendezvous.cpp", "if (port == 0 && error_number == EADDRINUSE) return no_free_port();", "static_cast<void>(no_free_port);",
      tests=["launcher: no free port is not told as port 0 that somebody uses"],
      says=r"there is no free port")

fault("a follower writes its plan before node 0 keeps the folder",
      "launcher/front/follow_stage.cpp", "if (!own_place) return;", "if (!own_place && !differs) return;",
      tests=["front: a follower writes nothing into a folder that may move back until ranks start"],
      says=r"is_empty")

fault("the terminal of a follower does not say why node 0 has ended the job",
      "launcher/front/follow_stage.cpp", '": " + in_a_line(why)', '": " + why.substr(0, why.find(\'\\n\'))',
      tests=["front: the terminal of a follower says why the job ended, not only that it did"],
      says=r"no space is left")

fault("what accelerate launch exports unasked counts as somebody's wish",
      "lib/hftrain/arguments/import/fsdp.cpp", "is_unasked(variable, text) ? FsdpReader", "is_unasked(variable, {}) ? FsdpReader",
      tests=["arguments: what accelerate launch exports unasked is nobody's word: it is told as no mistake and contradicts nothing"],
      says=r"has no effect|contradict")

fault("the form of checkpoints that an Accelerate file repeats counts as somebody's wish",
      "lib/hftrain/arguments/import/fsdp_rules.cpp", "return !said || (", "return !said || (said.origin.empty() && ",
      tests=["arguments: FSDP_STATE_DICT_TYPE that says what version 2 does anyway counts as filled in"],
      says=r"repeated\.state_dict_filled_in")

fault("what is moved aside is told by a flag that nobody gave, or by none",
      "launcher/front/moved_inputs.cpp", "const std::string given = given_instead(flag, inputs.parsed);", "const std::string given = flag;",
      tests=["front: what a run reads of the folder that is moved aside is told by the flag that was given, and by its place"],
      says=r"train_dir")

fault("a folder that nothing is offloaded to is named among those with too little room",
      "lib/hftrain/plan/nvme_check.cpp", " || bytes_of_rank == 0) return;", ") return;",
      tests=["plan: a folder that nothing is offloaded to is not among those that have too little room"],
      says=r"/states")

fault("spaces around an endpoint are part of its host",
      "lib/hftrain/arguments/import/launch.cpp", "trim(written->get<std::string>());", "written->get<std::string>();",
      tests=["arguments: rdzv_endpoint is master_addr and master_port"],
      says=r"node0")

fault("a deterministic run is one that nobody tells the libraries of",
      "launcher/environments/local.cpp", "if (!launch.full_determinism) return environment;", "if (launch.attempt >= 0) return environment;",
      tests=["launcher: libraries of a deterministic run are told so, where nothing else is said"],
      says=r"CUDA_LAUNCH_BLOCKING")

fault("a plan takes a stored weight of any shape",
      "lib/hftrain/plan/resolve_model.cpp", "  if (wrong) problems.add(wrong->code(), wrong->diagnostics().front());\n",
      "  if (wrong && plan.ignore_mismatched_sizes) problems.add(wrong->code(), wrong->diagnostics().front());\n",
      tests=["plan: a stored weight of another shape than the run's is refused by the plan"],
      says=r"kData|wrong shape")

fault("the copy of a tied output is of any shape in a plan",
      "lib/hftrain/plan/stored_shapes.cpp", "if (tied.parameter == spec.name)\n", "if (tied.parameter.empty())\n",
      tests=["plan: shapes are held against every name that files have for a parameter"],
      says=r"lm_head\.weight")

fault("a plan holds the first model's shapes against a run that goes on from a checkpoint",
      "lib/hftrain/plan/resolve_model.cpp", "if (input.resume_from.empty() || plan.adapter) {", "if (true) {",
      tests=["plan: a stored weight of another shape than the run's is refused by the plan"],
      says=r"wrong shape")

fault("a schedule takes the state of that name alone",
      "lib/hftrain/optim/schedule.cpp", "if (!alike) require_schedule_state", "if (!alike || !absolute_) require_schedule_state",
      tests=["optim: A schedule goes on from another one where both are a base rate times a function of the step"],
      says=r"the saved schedule is")

fault("a plan lets a schedule go on from any other",
      "lib/hftrain/plan/resume_notes.cpp", "if ((own || goes_by_steps(before)) && goes_by_steps(now)) return;", "return;",
      tests=["plan: a run goes on with another schedule where both are functions of the step, and is refused otherwise"],
      says=r"refused")

fault("hybrid sharding of several programs on one machine goes by the machine",
      "lib/hftrain/plan/resolve_strategy.cpp", "if (input_.agents.empty() || assigned)", "if (input_.agents.empty() || assigned || true)",
      tests=["plan: hybrid strategies shard inside what one program starts, where several of them share a machine"],
      says=r"mesh_replicate")

fault("a bias that the blocks of a stack share counts for each of them on a GPU",
      "lib/hftrain/plan/activation_memory.cpp", "if (!on_gpu(plan.ranks) || !stack.block.shares_square) return 0;", "if (!on_gpu(plan.ranks) || stack.block.shares_square) return 0;",
      tests=["plan: a bias that the blocks of a stack share counts once on a GPU, and for each block on a CPU"], says=r"of_a_head")

fault("the gradients of a shared bias are never two while they are added",
      "lib/hftrain/plan/activation_memory.cpp", ".backward = passing + 2 * shared,", ".backward = passing + shared,",
      tests=["plan: a bias that the blocks of a stack share counts once on a GPU, and for each block on a CPU"], says=r"once == 2")
