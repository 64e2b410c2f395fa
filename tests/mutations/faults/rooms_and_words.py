# What further nodes have room for, Ctrl-Z, and numbers that the Trainer has.
ROOM = "runs: machines: a further node without room for a checkpoint ends the job"

fault("a further node's own disk is not asked before a run", "launcher/front/follow_stage.cpp",
      "if (own_folder_ && output_) note = check_own_disk(plan_);", "if (own_folder_ && !output_) note = check_own_disk(plan_);",
      tests=[ROOM], says=r"where not one fits", seconds=300)

fault("a further node does not say that checkpoints will fill its disk", "launcher/front/follow_stage.cpp",
      "if (note) show({*note}, console_);", "", tests=[ROOM], says=r"where not all do it has said so", seconds=300)

STANDS = "runs: Ctrl-Z: a run stands still with its ranks and goes on"
fault("Ctrl-Z stops the launcher alone", "launcher/process/child_process.cpp", "if (spec.stops_with_us) stop_with_us(pid_);", "",
      tests=[STANDS, "runs: Ctrl-Z: a search stands still with its trials"], says=r"stand still|stands still", seconds=300)

fault("ranks do not go on with the launcher", "launcher/process/terminal_stop.cpp", "  signal_groups(SIGCONT);\n", "", tests=[STANDS],
      says=r"it goes on", seconds=300)

fault("Ctrl-Z stops a run that nobody could let go on", "launcher/process/terminal_stop.cpp", "::raise(SIGTSTP);", "::raise(SIGSTOP);",
      tests=["runs: Ctrl-Z: a run that nobody could let go on does not stop"], says=r"TimeoutExpired|timed out|Timeout", seconds=300)

fault("eval_loss is a mean of more digits than the Trainer's, and ties are none", "lib/hftrain/trainer/evaluation_loss.cpp",
      "constexpr int64_t kLanes = 8, kBlock = 128;", "constexpr int64_t kLanes = 8, kBlock = 1 << 20;",
      tests=["trainer: the mean is NumPy's of float32, to the last bit"], says=r"expected")

fault("a run that dropped its last batch is taken for one that kept it", "lib/hftrain/trainer/others_position.cpp",
      "return std::llround(was_other ? other : done);", "return std::llround(was_other ? done : done);",
      tests=["trainer: a run that kept or dropped its last batch goes on behind the batches that it had done"], says=r"batch == done")

fault("batches of another size that were split are counted in the new size", "lib/hftrain/trainer/others_position.cpp",
      "const int64_t round = plan.data.split_batches ? batch : batch * ranks;", "const int64_t round = plan.data.split_batches ? pace.round : batch * ranks;",
      tests=["trainer: batches of another size go on at the next sample in every order"], says=r"12")

fault("a batch is planned to hold more rows than there are", "lib/hftrain/plan/activation_memory.cpp",
      "const int64_t rows = std::min(plan.batch.per_device_train, most);", "const int64_t rows = std::max(plan.batch.per_device_train, most);",
      tests=["plan: activations that are expected to take far more than there is are a mistake of the plan"], says=r"kDone")

fault("of several missing data files the first is told", "lib/hftrain/data/split_request.cpp", "      code = code.value_or(error.code());\n", "      throw;\n",
      tests=["runs: bad data: texts with labels"], says=r"w.jsonl")

fault("a run that clips nothing shall clip less", "lib/hftrain/trainer/divergence.cpp", "plan_.optimizer.max_grad_norm > 0", "plan_.optimizer.max_grad_norm >= 0",
      tests=["runs: endings: divergence"], says=r"max_grad_norm 1")

fault("a flag behind --search is taken for its file", "apps/hftrain/commands/search.cpp",
      'if (i + 1 == words.size() || words[i + 1].starts_with("--")) throw no_file();', "if (i + 1 == words.size()) throw no_file();",
      tests=["runs: search: mistakes are told before the first trial"], says=r"is no file")

fault("a signal cuts a wait short", "launcher/process/child_process.cpp", "while (found < 0 && errno == EINTR);\n  return found > 0;", "while (false);\n  return found > 0;",
      tests=["launcher: a signal, as that of Ctrl-Z, does not cut a wait short"], says=r"kSeconds")

OPEN = "arguments: num_processes -1, or none, asks for it on the command line, as for accelerate launch"
fault("ranks of the CPU are no answer to an Accelerate file that leaves their number open", "lib/hftrain/arguments/import/accelerate_layers.cpp",
      'return means(raw, "cpu_ranks") || means(raw, "hostfile")', 'return means(raw, "hostfile")', tests=[OPEN], says=r"leaves the number of ranks")

fault("a configuration that is only shown must say its ranks", "lib/hftrain/arguments/parse.cpp",
      "settle_open_ranks(raw, is_started_as_rank(environment_, raw), unrunnable);", "settle_open_ranks(raw, is_started_as_rank(environment_, raw), problems_);",
      tests=[OPEN], says=r"leaves the number of ranks")
