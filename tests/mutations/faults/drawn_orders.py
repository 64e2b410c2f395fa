# Orders of samples that are drawn from the random numbers of a run (use_seedable_sampler false).
fault("a grouped order is never drawn",
      "lib/hftrain/data/samplers.cpp", "options.length_group, random.seed, random.before);", "options.length_group, seed, 0);",
      tests=["data: a grouped order that is drawn is the one that accelerate's generator gives in each epoch"], says=r"epoch_batches")

fault("a grouped order of a later epoch is that of the first",
      "lib/hftrain/data/sample_order.cpp", "  Order order = random_permutation(n, seed, before);", "  Order order = random_permutation(n, seed, before > 99 ? before : 0);",
      tests=["data: a grouped order that is drawn is the one that accelerate's generator gives in each epoch"], says=r"epoch_batches")

fault("a pass of grouped samples takes two permutations",
      "lib/hftrain/trainer/training_data.cpp", "== data::Sampling::kRandom ? 2 : 1;", "!= data::Sampling::kSequential ? 2 : 1;",
      tests=["parity: two ranks over three epochs take the order that the Trainer draws"], says=r"drawn-order-grouped: .*worst relative difference \d\.\d+e-0[1-3]")

fault("an epoch that ranks have drawn is not kept by one that goes on in it",
      "lib/hftrain/trainer/training_data.cpp", "  if (plan_.data.seedable_sampler || !state_.order_seed) return std::nullopt;", "  if (!plan_.data.draws_order(communicator_.world_size()) || !state_.order_seed) return std::nullopt;",
      tests=["runs: samplers: a grouped order may be drawn from the random numbers of the run"], says=r"keeps its order on one rank")

fault("one rank draws a grouped order",
      "lib/hftrain/plan/resolve_data.cpp", """(sampling == "group_by_length" && ranks > 1)""", """(sampling == "group_by_length" && ranks > 0)""",
      tests=["plan: use_seedable_sampler false is told to be idle where no order is drawn"], says=r"told")

fault("a data_seed is told to be idle where evaluations are grouped by it",
      "lib/hftrain/plan/idle_flags.cpp", "&& (!drawn || judges(plan));", "&& (!drawn || (judges(plan) && plan.data.masking));",
      tests=["plan: a grouped order is drawn on several ranks, and evaluations are grouped by data_seed all the same"], says=r"idle")

fault("a data_seed is thought to act beside a grouped order that is drawn",
      "lib/hftrain/plan/idle_flags.cpp", "&& (!drawn || judges(plan));", "|| judges(plan);",
      tests=["plan: a grouped order is drawn on several ranks, and evaluations are grouped by data_seed all the same"], says=r"idle")
