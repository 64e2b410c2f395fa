# Ranks that connect to each other behind the store.
fault("a stop is not heard while the ranks connect",
      "lib/hftrain/comm/communicator.cpp", "      is_stopped(request.stopped));", "      nullptr);",
      tests=["comm: ranks that are stopped while another comes to the store and no further leave, and name it",
             "runs: endings: stop while ranks connect to one that is frozen"], says=r"could not connect|did not end|expected 10")

fault("sub-groups forget who stops the run",
      "lib/hftrain/comm/communicator.cpp", "  BackendRequest request = request_;\n", "  BackendRequest request = request_;\n  request.stopped = nullptr;\n",
      tests=["comm: ranks that are stopped while another comes to the store and no further leave, and name it"], says=r"could not connect")

fault("a rank that freezes on its way is not named by those that leave",
      "lib/hftrain/comm/communicator.cpp", "of_all ? left_behind(group) : not_connecting(group)", "not_connecting(group)",
      tests=["comm: ranks that are stopped while another comes to the store and no further leave, and name it"], says=r"for the others|1 of 3 ranks")

fault("a rank that has connected long ago is named as missing",
      "lib/hftrain/comm/store.cpp", "rank) && !without_key(*world, kUnderWay, {rank}).empty();", "rank) && false;",
      tests=["comm: ranks that are stopped while another comes to the store and no further leave, and name it"], says=r"2 of 3 ranks")

fault("ranks of a sub-group are named by their numbers in it",
      "lib/hftrain/comm/store.cpp", "  return group.members.at(static_cast<size_t>(group.rank));", "  return group.rank;",
      tests=["comm: ranks that are stopped while another comes to the store and no further leave, and name it"], says=r"1 of 3 ranks")

fault("who has not come to the store is not named behind a stop",
      "lib/hftrain/comm/store.cpp", "store ? absent_at(store, kPresent, world_size) : std::nullopt", "std::nullopt",
      tests=["comm: a rank that is stopped while another has not come to the store leaves and names it"], says=r"does not say for whom")

fault("who has not begun to connect is not named at the deadline",
      "lib/hftrain/comm/communicator.cpp", "not_connecting(group_of(request)).value_or(std::vector<int>{})", "std::vector<int>{}",
      tests=["comm: a peer that does not connect is named when the deadline has passed"], says=r"nothing was heard of")

fault("an adapter is planned to be saved in parts", "lib/hftrain/plan/resolve.cpp",
      "  if (plan.model.adapter) plan.strategy.state_dict", "  if (plan.model.adapter && false) plan.strategy.state_dict",
      tests=["plan: a save puts a parameter of an adapter together, whatever form was asked for",
             "plan: beside an adapter the form of checkpoints is told to do nothing, and the plan says that it is saved whole"], says=r"saving|state_dict")

fault("modules that are saved whole are planned in float32", "lib/hftrain/plan/rank_memory.cpp",
      "  return parameter.adapts ? kAdapters : plan", "  return parameter.adapts || plan.model.adapter ? kAdapters : plan",
      tests=["plan: modules that are saved whole beside an adapter have the model's type, gradients and state too"], says=r"gradients")

fault("a save of an adapter is planned to put the whole model together", "lib/hftrain/plan/rank_memory.cpp",
      "  if (!plan.model.adapter) return table;\n", "  if (!plan.model.adapter || table.count() > 0) return table;\n",
      tests=["plan: a save puts a parameter of an adapter together, whatever form was asked for"], says=r"saving")

fault("a static graph is taken where layers are dropped", "lib/hftrain/plan/resolve.cpp",
      "  check_dropped_layers(input, plan, problems);\n", "",
      tests=["plan: DDP that takes the parameters of all updates for the same is refused where layers are dropped"], says=r"nothing was refused|unexpected|refused|error")

fault("a model says nothing of the layers that it drops", "lib/hftrain/architectures/bart.h",
      "config_.encoder.layerdrop > 0 || config_.decoder.layerdrop > 0", "config_.encoder.layerdrop > 0",
      tests=["plan: DDP that takes the parameters of all updates for the same is refused where layers are dropped"], says=r"unexpected|refused|error")

fault("a rank does not tell which ranks a meeting missed", "apps/hftrain-worker/run_rank.cpp",
      '    failure["missing_ranks"] = meeting->ranks();\n', '    failure["of_peers"] = meeting->ranks();\n',
      tests=["runs: endings: stop of two nodes while ranks connect"], says=r"missing are ranks of")

fault("the nodes of ranks that a meeting missed are not named", "launcher/supervision/failure_report.cpp",
      "if (is_missing && is_new && !worker", "if (is_missing && !is_new && !worker",
      tests=["launcher: the report of a meeting says on which nodes the ranks are that did not come"], says=r"report_of")
