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
