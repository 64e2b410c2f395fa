# Flags whose value changes nothing, or something else.

fault("lines that standard output repeats are those of the errors",
      "launcher/front/rank_output.cpp", "{{launcher::Stream::kOut, asked.duplicate_stdout_filters},", "{{launcher::Stream::kOut, asked.duplicate_stderr_filters},",
      tests=["runs: flags of runs: output of ranks goes where it is sent"], says=r"FAILED: duplicate_stdout_filters")

fault("tokens are averaged over all ranks whatever is asked",
      "lib/hftrain/trainer/stepping.cpp", "const bool average = plan_.batch.average_tokens_across_devices;", "const bool average = true;",
      tests=["runs: flags of runs: tokens of ranks are averaged as asked"], says=r"FAILED: the mean of means")

fault("machines are tried before a start that asks for none",
      "launcher/front/host_stage.cpp", "if (!spec.launch.no_ssh_check) launcher::check_connections(spec);", "launcher::check_connections(spec);",
      tests=["runs: flags of runs: one machine of a host file is reached"], says=r"FAILED: no_ssh_check")

fault("losses that are no numbers are filtered whatever is asked",
      "lib/hftrain/trainer/trainer.cpp", "losses_(context.device, plan.logging.nan_inf_filter),", "losses_(context.device, true),",
      tests=["runs: flags of runs: losses that are no numbers are logged as asked"], says=r"FAILED: as they are")

fault("states of callbacks come back unasked",
      "lib/hftrain/trainer/resuming.cpp", "if (!plan_.saving.restore_callbacks && !plan_.saving.same_run) return;", "",
      tests=["runs: flags of runs: callbacks go on where that is asked"], says=r"FAILED: the updates after which runs ended")

fault("adam_epsilon is taken and acts nowhere",
      "lib/hftrain/plan/resolve_training.cpp", "plan.epsilon = optimizer.adam_epsilon;", "",
      tests=["runs: flags of runs: numbers of the update"], says=r"FAILED: adam_epsilon")

fault("ddp_bucket_cap_mb is taken and acts nowhere",
      "lib/hftrain/plan/resolve_strategy.cpp", "plan_.bucket_cap_mb = parallel.ddp_bucket_cap_mb.value_or(plan_.bucket_cap_mb);", "",
      tests=["runs: flags of runs: buckets and recomputed layers are as many as asked"], says=r"FAILED: ddp_bucket_cap_mb")

fault("machines of any job are taken",
      "launcher/environments/find_membership.cpp", 'if (launch_.rdzv_id != "none") membership_.job_id = launch_.rdzv_id;', "",
      tests=["runs: flags of runs: machines of another job are refused"], says=r"FAILED|another job|TimeoutExpired")

fault("early stopping counts anew where a rank was lost",
      "launcher/front/launch_stage.cpp", "as_it_was || attempts.goes_on();", "as_it_was || (attempts.goes_on() && plan.rehearse);",
      tests=["runs: going on: early stopping counts on where a rank was lost"], says=r"it stops where an undisturbed run does")

fault("a run that ends before its epochs says nothing",
      "lib/hftrain/trainer/resuming.cpp", "if (end + in_epochs(1) > steps.num_train_epochs) return;", "if (end + in_epochs(1) > 0) return;",
      tests=["runs: going on: larger batches that end a run early are told"], says=r"larger batches")

fault("a flag that means 0 by null is none on the command line",
      "lib/hftrain/arguments/value.cpp", "flag.slot.optional || !flag.null_is.empty();", "flag.slot.optional;",
      tests=["arguments: null unsets what can be unset"], says=r"max_grad_norm")

fault("nobody is told that a weight decay of optim_args is the Trainer's no-op",
      "lib/hftrain/arguments/option_keys.cpp", '"the Trainer passes over it: its parameter groups have a decay of their own"', '""',
      tests=["arguments: the weight_decay of optim_args is that of the run"],
      says=r"passes over it")

fault("a static graph's updates of several micro-batches are reduced once",
      "lib/hftrain/trainer/components.cpp", "if (plan.batch.reduces_last_alone()) strategy", "if (plan.batch.sync_each_batch) strategy",
      tests=["runs: loop options: a static graph goes with accumulation"],
      says=r"losses of the run without it")

fault("a rule takes a text beside a mistake for a number",
      "lib/hftrain/arguments/rules/training_rules.cpp", '"greedy" && least.is_number() &&', '"greedy" && least.get<double>() > 0 &&',
      tests=["arguments: options of schedules are checked against the schedule"],
      says=r"nope|type_error")

fault("two names of one secret show it where they differ",
      "lib/hftrain/arguments/merge.cpp", 'flag.secret ? "they are secrets, and not shown"', 'flag.secret && named.value == renamed.value ? "they are secrets, and not shown"',
      tests=["arguments: an old and a new name that disagree are an error, except where the old one wins"],
      says=r"hf_one")

fault("files say what YAML 1.1 reads as another number",
      "lib/hftrain/arguments/value.cpp", "(older && is_more_in_yaml_1_1(text))", "(older && is_more_in_yaml_1_1(text) && text.empty())",
      tests=["arguments: what is written to a file is read alike by YAML 1.1"],
      says=r"to_yaml_of_file")

fault("ranks that share a generator take every permutation of it",
      "lib/hftrain/trainer/training_data.cpp", "== data::Sampling::kRandom ? 2 : 1;", "== data::Sampling::kSequential ? 2 : 1;",
      tests=["parity: two ranks over three epochs take the order that the Trainer draws"],
      says=r"worst relative difference")

fault("nobody is told that norms do not decay as an older release had it",
      "lib/hftrain/plan/resolve.cpp", "  note_norms(input, plan, notes);\n", "  if (notes.size() > 99999) note_norms(input, plan, notes);\n",
      tests=["plan: beside an older release it is told that norms do not decay as they did"],
      says=r"told\(")

fault("noise below nothing is left to LibTorch",
      "lib/hftrain/arguments/flags/optimizer_flags.cpp", """hidden size).",
       .range = at_least(0)},""", """hidden size)."},""",
      tests=["arguments: noise of NEFTune has no size below nothing"],
      says=r"neftune")

fault("a reducer without a logger stumbles over other unused parameters than before",
      "lib/hftrain/parallel/replicated_strategy.cpp", "  reducer_->set_logger(logger_);\n", "",
      tests=["parallel: parameters that are unused may change from update to update"],
      says=r"SIGSEGV|signal 11|139|crash")

fault("callbacks get records without their epoch",
      "lib/hftrain/trainer/logging.cpp", '  metrics["epoch"] = state_.epoch;\n', "",
      tests=["trainer: a callback hears every event in the order of the Trainer"],
      says=r"without epoch")

fault("warm-up beyond all whole numbers is below nothing",
      "lib/hftrain/plan/step_arithmetic.cpp", "static_cast<int64_t>(std::min(number, kMost))", "static_cast<int64_t>(std::max(number, -kMost))",
      tests=["plan: warm-up counts updates from 1 on and is a share below"],
      says=r"1e30")

fault("what a rank says of the run is not in its log",
      "launcher/front/rank_output.cpp", "spec.words = [&plan]", "if (agent > 99999) spec.words = [&plan]",
      tests=["runs: flags of runs: output of ranks goes where it is sent"],
      says=r"in the log of rank 0")

fault("--redirects leaves what a rank says of the run on the terminal",
      "launcher/front/rank_words.cpp", "filter(log_ranks, asked.tee, asked.redirects);", 'filter(log_ranks, asked.tee, "0");',
      tests=["front: words of all ranks are shown, or of those whose stderr a flag leaves on the terminal"],
      says=r'"--redirects", "3"')

fault("a local rank that is not named tells of the run",
      "launcher/front/rank_words.cpp", "filter.keep_only(named_by_local_ranks(asked.local_ranks_filter, plan.ranks));", 'filter.keep_only(named_by_local_ranks("0,1", plan.ranks));',
      tests=["front: words of all ranks are shown, or of those whose stderr a flag leaves on the terminal"],
      says=r"local_ranks_filter")

fault("a signal that is not named is taken for one before the start",
      "launcher/supervision/stop_signals.cpp", "::sigaction(number, &by_default, &unnamed_[number]);", "::sigaction(number, by_default.sa_handler == SIG_IGN ? &by_default : nullptr, &unnamed_[number]);",
      tests=["runs: a signal that --signals_to_handle does not name ends a run as the system has it"],
      says=r"10 == 143")

fault("who has stopped a rank past its launcher is not told",
      "launcher/supervision/supervisor.cpp", "if (asked_by == event.data.end() || job_.stop_signal != 0) return;", "if (asked_by == event.data.end() || job_.stop_signal == 0) return;",
      tests=["runs: endings: rank that somebody else stops"],
      says=r"nothing says", seconds=200)

fault("a launcher that was asked itself names who asked a rank, too",
      "launcher/supervision/supervisor.cpp", "if (asked_by == event.data.end() || job_.stop_signal != 0) return;", "if (asked_by == event.data.end()) return;",
      tests=["runs: endings: somebody stops all processes at once"],
      says=r"who else was", seconds=200)

fault("a rank that its launcher stops names it as somebody else",
      "lib/hftrain/trainer/stop_request.cpp", "if (g_parent_has_asked) return {};", "",
      tests=["trainer: who asked is known, where the launcher has not"],
      says=r"both")

fault("a local rank that nobody has is not told",
      "lib/hftrain/plan/resolve.cpp", 'note_missing_ranks(input, "local_ranks_filter"', 'if (notes.size() > 9999) note_missing_ranks(input, "local_ranks_filter"',
      tests=["runs: a plan says what the run would do"],
      says=r"those of --local_ranks_filter", seconds=200)

fault("every event behind an unfinished line begins with an empty one",
      "launcher/process/output_router.cpp", "  channel.within_line = false;\n", "",
      tests=["launcher: what a rank says by events stands in its log and in the common file, and is not shown again"],
      says=r"and more")

fault("containers of one machine are taken to share memory",
      "lib/hftrain/plan/resolve_ranks.cpp", "if (plan.machines == 1 && see_each_other())", "if (plan.machines == 1 && (see_each_other() || !on_gpu(plan)))",
      tests=["runs: machines: two programs of one machine are nodes by their folders"],
      says=r"containers of one machine", seconds=300)

fault("where rank 0's words went is not told",
      "launcher/front/launch_stage.cpp", "if (!words.shows(0, launcher::Stream::kErr))", "if (!words.shows(0, launcher::Stream::kErr) && plan.ranks.ranks.empty())",
      tests=["runs: flags of runs: output of ranks goes where it is sent"],
      says=r"it is told where it is", seconds=300)

fault("FSDP of accelerate launch without a policy makes one unit of the model",
      "lib/hftrain/arguments/import/fsdp_rules.cpp", 'policy = {"transformer", origin()};', 'policy = {request_.words.empty() ? "none" : "transformer", origin()};',
      tests=["arguments: the flags of accelerate launch shard with its defaults"], says=r"wrap_policy")

fault("explain leaves checks out that are made outside the table of rules",
      "lib/hftrain/arguments/help.cpp", "for (const OtherCheck& check : other_checks()) add_row(check);", "for (const OtherCheck& check : other_checks().first(1)) add_row(check);",
      tests=["runs: checks of several flags that explain tells are made"], says=r"FAILED: explain tells")

fault("a run trains that was told not to",
      "lib/hftrain/arguments/derive.cpp", "return !outcome.arguments.run.do_train && outcome.origins.is_chosen(\"do_train\");", "return outcome.arguments.run.do_train && outcome.origins.is_chosen(\"do_train\");",
      tests=["arguments: a command line without training leaves it out beside an evaluation strategy, a file repeats the default"], says=r"do_train|wants_training|nothing to do")

fault("the defaults of no release are printed as those of one",
      "lib/hftrain/arguments/parse.cpp", "apply_older_defaults(outcome_, problems_, unrunnable);", "apply_older_defaults(outcome_, unrunnable, unrunnable);",
      tests=["arguments: a release that is none or too old is refused where a configuration is printed, too"], says=r"hf_compat")
