# What costs time or memory where a model lies on many GPUs, as far as ranks of a CPU show it.
UNIT = "lib/hftrain/parallel/shard_unit.cpp"
TOGETHER = "parallel: gradients of small parameters that stay whole are reduced with one operation"

fault("GPUs wait for each unit behind an update of stages 1 and 2", "lib/hftrain/plan/resolve_strategy.cpp",
      "asked_.forward_prefetch.value_or(plan_.stage > 0 &&", "asked_.forward_prefetch.value_or(plan_.stage == 3 &&",
      tests=["plan: GPUs gather the next unit ahead unless told not to"], says=r"shard_grad_op")

fault("each small gradient that stays whole is an all-reduce of its own", UNIT,
      "if (small.size() < 2) return gradients;", "if (small.size() < 2 || !small.empty()) return gradients;",
      tests=[TOGETHER], says=r"before \+ 2")

fault("small gradients come back to the parameters as others' parts", UNIT,
      "    offset += numel;\n  }\n  return reduced;", "    offset += numel - numel;\n  }\n  return reduced;",
      tests=[TOGETHER], says=r"gradient\.eq")

fault("the watch holds the tensors of an operation until it sees that it is over", "lib/hftrain/comm/observed_backend.cpp",
      "if (stand_in_) std::ranges::transform", "if (stand_in_ && works.empty()) std::ranges::transform",
      tests=["comm: a work that somebody stands in for goes with the wait for it, and is watched on"], says=r"alive == 0")

fault("the request of a group forgets what the watch keeps of a work", "lib/hftrain/comm/communicator.cpp",
      "watch_with(*watch_, device(), request_.stand_in)", "watch_with(*watch_, device(), {})",
      tests=["comm: a work that somebody stands in for goes with the wait for it, and is watched on"], says=r"alive == 0")

fault("the world's group forgets what the watch keeps of a work", "lib/hftrain/comm/make_communicator.cpp",
      ".stand_in = options.stand_in,", ".stand_in = {},",
      tests=["comm: a rank that hangs is named though no host waits for it"], says=r"stood_in == 1")

fault("a GPU holds nothing beside a rank's tensors", "lib/hftrain/plan/rank_memory.cpp",
      "gpu ? device_program_bytes(plan) + memory.total", "gpu ? memory.total",
      tests=["plan: what a rank takes of a GPU beside its tensors is expected, too, and is not part of the plan's total"],
      says=r"kDeviceProgramBytes|expected to need")

fault("the first save is the first time that ranks send to each other", "lib/hftrain/parallel/sharded_strategy.cpp",
      "  parameters_changed();\n  connect_for_saves();", "  parameters_changed();",
      tests=["parallel: ranks that will send each other whole parameters have done so before the first update"], says=r"gather")

fault("two groups of a GPU begin their operations in any order", "lib/hftrain/runtime/numerics.cpp",
      "if (numerics.several_groups)", "if (numerics.several_groups && numerics.full_determinism)",
      tests=["runtime: NCCL begins operations of several groups in one order, unless the user says otherwise"], says=r"LAUNCH_ORDER")
