# What the Trainer, accelerate and DeepSpeed mean by their words, where hftrain meant something else.

fault("prepared rows are taken for those of other special tokens",
      "lib/hftrain/data/file_hashes.cpp", "if (!tokens.empty()) key.push_back(tokens);", "if (tokens.is_null()) key.push_back(tokens);",
      tests=["data: A second run finds the entry without a tokenizer; any change of what it was made from makes another"], says=r"special_tokens_map|find_prepared")

fault("a run of a task that leaves types of tokens out is told that a new one would have them",
      "lib/hftrain/plan/resume_notes.cpp", "  if (given == would_give_types(input)) return;", "  if (given == (would_give_types(input) || input.model.tokenizer_names_types)) return;",
      tests=["plan: a task that leaves types of tokens out says nothing of them to a run that goes on"], says=r"types of tokens")

fault("names of labels that are left over win over num_labels",
      "lib/hftrain/architectures/labels.cpp", "if (count && *count != static_cast<int64_t>(by_number.size()))", "if (count && *count < 0)",
      tests=["architectures: labels are counted by their names, and two unnamed ones are not written"], says=r"LABEL_2")

fault("a tokenizer has only the special tokens that its files name",
      "lib/hftrain/tokenizer/named_tokens.cpp", "token != nullptr && !named", "token != nullptr && role > kTokenRoles.size() && !named",
      tests=["tokenizer: tokens that no file names are those of the class that opens the folder"], says=r"bos_id\(\) == 1")

fault("a token that tokenizer_config.json says there is none of is that of its class",
      "lib/hftrain/tokenizer/named_tokens.cpp", "!named.contains(kTokenRoles[role])", "named.value(kTokenRoles[role], Json()).is_null()",
      tests=["tokenizer: tokens that no file names are those of the class that opens the folder"], says=r"bos_token.*bos_id")

fault("special_tokens_map.json is read beside a list of added tokens",
      "lib/hftrain/tokenizer/named_tokens.cpp", 'if (!named.contains("added_tokens_decoder"))', 'if (!named.contains("added_tokens"))',
      tests=["tokenizer: special_tokens_map.json wins where tokenizer_config.json lists no added tokens, else it is not read"], says=r"newer->")

fault("a search looks for its metric without the eval_ that logs have",
      "lib/hftrain/search/specification.cpp", 'written.starts_with("train_") ? written : arguments::metric_in_log(written)', 'written.starts_with("train_") ? arguments::metric_in_log(written) : written',
      tests=["search: a metric is named as for metric_for_best_model: eval_ may be left out"], says=r'metric\("accuracy"\) == "eval_accuracy"')

fault("a search spends all its trials on a metric that no log has",
      "launcher/front/trial_runner.cpp", "if (!seen && !log.has_metric()) throw", "if (seen && !log.has_metric()) throw",
      tests=["runs: search: a metric is found without its prefix and missed with the names there are"], says=r"FAILED: ends with 2")

fault("metrics of a log that was replaced are still named",
      "lib/hftrain/report/log_follower.cpp", "    names_.clear();\n", "",
      tests=["report: a log that is another file, or was cut, is read anew"], says=r'names\(\) == std::set')

fault("early stopping takes the loss where nobody named a metric",
      "lib/hftrain/arguments/derive.cpp", 'const bool watched = best || schedule == "reduce_lr_on_plateau"', 'const bool watched = best || saving.early_stopping_patience || schedule == "reduce_lr_on_plateau"',
      tests=["arguments: every rule refuses what breaks it and lets the repaired form through"], says=r"early_stopping_patience needs metric_for_best_model")

fault("eval_steps become those of logging_steps without a word",
      "lib/hftrain/arguments/derive.cpp", 'note("eval_steps is that of logging_steps, "', 'if (*evaluation.eval_steps < 0) note("eval_steps is that of logging_steps, "',
      tests=["arguments: eval_steps that nobody gave are those of logging_steps, and that is told"], says=r"eval_steps is that of logging_steps")

fault("the checkpoint of the last update needs no room without an interval",
      "lib/hftrain/plan/budget.cpp", "if (interval.steps <= 0) return 1;", "if (interval.steps <= 0) return 0;",
      tests=["plan: disk need counts the kept checkpoints, the one in flight and the final model"], says=r"needed_bytes == checkpoint \+ weights")

fault("a plan without an interval of saving speaks of a share",
      "lib/hftrain/plan/describe_plan.cpp", 'at_end ? "after the last update" : interval_text(saving.interval)', "at_end || true ? interval_text(saving.interval) : std::string()",
      tests=["plan: no interval of saving is described as what it does: the last update saves"], says=r"after the last update")

fault("sections of DeepSpeed without effect are notes alone",
      "lib/hftrain/arguments/import/section_check.cpp", "(key.warned ? warned_ : idle_)", "(key.warned ? idle_ : idle_)",
      tests=["arguments: monitors, reductions and activation checkpointing"], says=r"keys without effect here")

fault("elastic checkpoints in stage 3 are a note",
      "lib/hftrain/arguments/import/deepspeed_zero.cpp", 'any strategy", stage_ == 3)', 'any strategy", stage_ > 3)',
      tests=["arguments: keys that act in another stage or on NVMe only are told where they do nothing"], says=r"elastic")

fault("a flag counts where optimizer.params of DeepSpeed leave its key out",
      "lib/hftrain/arguments/import/deepspeed_optimizer.cpp", "if (asked == usual) return;", "if (asked == usual || file.flags.given(flag)) return;",
      tests=["arguments: of a key that optimizer.params leave out DeepSpeed's default counts, which is told beside a flag",
             "arguments: scheduler sections"],
      says=r"1e-3|0\.001")

fault("the optimizer's default is taken for the rate of a schedule that has its own",
      "lib/hftrain/arguments/import/deepspeed_optimizer.cpp", 'const bool scheduled = schedule != nullptr && schedule->contains("warmup_max_lr");', "const bool scheduled = schedule != nullptr && schedule->empty();",
      tests=["arguments: of a key that optimizer.params leave out DeepSpeed's default counts, which is told beside a flag"], says=r"warmup_max_lr|learning_rate")

fault("--cpu of a launch goes with every kind of run",
      "lib/hftrain/arguments/import/launch_kind.cpp", 'outcome.origins.of("use_cpu") != "--cpu"', 'outcome.origins.of("use_cpu") != "-cpu"',
      tests=["arguments: L2 and L3: one kind of run, and several ranks for multi_gpu"], says=r"cpu and ")

fault("threads of preparing data may be any number",
      "lib/hftrain/arguments/flags/data_flags.cpp", ".range = between(1, kMostThreads)", ".range = at_least(1)",
      tests=["arguments: threads of preparing data are one or more, and no more than a machine may have cores"], says=r"preprocessing_num_workers")

fault("beside hf_compat nobody hears that samples count once",
      "lib/hftrain/plan/resolve.cpp", "  note_padded_samples(input, plan, notes);\n", "",
      tests=["plan: beside hf_compat it is told that samples which fill up last batches are not counted twice"], says=r"4\.49\.0")

fault("a file that repeats the default of dataset_test_split names a split",
      "lib/hftrain/plan/run_files.cpp", 'parsed.origins.is_chosen("dataset_test_split")', 'parsed.origins.is_given("dataset_test_split")',
      tests=["plan: A file that repeats the default of dataset_test_split names no split, the command line does"], says=r"no split 'test'|empty")

fault("a preparation that is terminated says it was interrupted",
      "apps/hftrain/commands/prepare.cpp", "const bool key = first_stop_signal() == SIGINT;", "const bool key = first_stop_signal() != 0;",
      tests=["runs: endings: preparing that is asked to stop"], says=r"FAILED: ended with 130")

fault("a checkpoint that the limit removes goes without a word",
      "lib/hftrain/trainer/saving.cpp", "    if (speaks()) {\n      events_.message(LogLevel::kInfo,\n                      \"Deleting", "    if (step < 0) {\n      events_.message(LogLevel::kInfo,\n                      \"Deleting",
      tests=["runs: a run keeps: a checkpoint that the limit removes is named"], says=r"FAILED: 'Deleting older checkpoint")

fault("a best model that is found behind its save is not recorded",
      "lib/hftrain/trainer/saving.cpp", "state_.best_step == last_saved_step_ && state_.best_step != state_.best_checkpoint_step;", "false;",
      tests=["runs: a run keeps: a best model that is found behind its save is kept"],
      says=r"the best one and the newest are kept")

fault("the work of an update depends on which tokens are counted",
      "lib/hftrain/trainer/stepping.cpp", "static_cast<double>(all.main_inputs)", "static_cast<double>(all.input_tokens)",
      tests=["runs: text classification: padding is work and no token that was seen"],
      says=r"the same work")

fault("rates of the summary count full blocks",
      "lib/hftrain/trainer/trainer.cpp", "rate(static_cast<double>(tokens_trained_))",
      "rate(static_cast<double>(samples_trained_ * plan_.data.block_size))",
      tests=["runs: text classification: padding is work and no token that was seen"],
      says=r"summary.json counts the same tokens")

fault("a patch of 4.57 that nobody read has the defaults of 5",
      "lib/hftrain/arguments/compat.cpp", "release / 100 > release_number(last).value_or(0) / 100", "release > release_number(last).value_or(0)",
      tests=["runs: loop options: an older release has its defaults and habits"],
      says=r"every patch of 4.57")

fault("bf16 that is switched off by hand loses to an Accelerate file",
      "lib/hftrain/arguments/import/launch_kind.cpp", "!precision.bf16 && !refused", "!precision.bf16",
      tests=["arguments: a plain file of several ranks, with the keys that mean nothing here"],
      says=r"refused.arguments.precision.bf16")

fault("a search of evaluations alone is begun",
      "apps/hftrain/commands/search_checks.cpp", "if (!plan::wants_training(parsed)) {", "if (false) {",
      tests=["runs: search: mistakes are told before the first trial"],
      says=r"ends with 2|an evaluation alone")

fault("a folder as standard input is an empty text",
      "apps/hftrain/commands/tokenizer.cpp", "if (!std::cin.bad() && std::ferror(stdin) == 0) return;", "if (std::cin.fail()) return;",
      tests=["apps: words of small commands arrive as they were typed"],
      says=r"shell.finish")

fault("a smoke run passes signals over",
      "launcher/front/smoke.cpp", "if (*stop_) throw Stopped{};", "",
      tests=["runs: smoke: a signal ends it and nothing is left"],
      says=r"ends with 10|TimeoutExpired")

fault("every process of a launcher prints its configuration",
      "launcher/front/job_answer.cpp", "if (answers_for_job(parsed, context.environment))", "if (true)",
      tests=["runs: a plan says what the run would do"],
      says=r"rank 1 prints no configuration")

fault("a best model of the folder before is looked for in the new one",
      "lib/hftrain/trainer/saving.cpp", "state_.best_step == start_step_ && !plan_.saving.resume_from.empty();", "false;",
      tests=["runs: a run keeps: a best model of the folder before is named where it lies"],
      says=r"the checkpoint that is there|FileNotFoundError")

fault("a search goes on with other flags than it began with",
      "lib/hftrain/search/study.cpp", "if (different.empty()) return;", "if (different.size() < 100) return;",
      tests=["search: a search goes on with the flags that it began with, and names those that differ",
             "runs: search: a search goes on with the flags that it began with"],
      says=r"Study\(five_random|ends with 2")

fault("a search goes on under the habits of another release",
      "launcher/front/trial_flags.cpp", '"hf_compat",', "",
      tests=["front: the release whose rules trials go by is one of their flags"], says=r"hf_compat")

fault("a search compares its files as text",
      "launcher/front/trial_flags.cpp", "if (!flag.path && !word) return value;", "if (!flag.path || !word) return value;",
      tests=["front: a file of trials has one name in all folders, and files of two folders have two"], says=r"train_file")

fault("a search knows the files of strategies by their names",
      "launcher/front/trial_flags.cpp", "value = with_content(flag, std::move(value));", "if (flag.name.empty()) value = with_content(flag, std::move(value));",
      tests=["front: an edited file of a strategy is another flag of trials, but for its layout and what is free"], says=r"content")

fault("a search refuses another pace",
      "launcher/front/trial_flags.cpp", '"ddp_static_graph",', "",
      tests=["front: what changes the speed of trials alone is none of their common flags"], says=r"ddp_static_graph")

fault("a search takes trials of any number of ranks",
      "lib/hftrain/search/study.cpp", "if (*world_size_ == world_size) return;", "if (*world_size_ > 0) return;",
      tests=["search: all trials of a search have the number of ranks of the first",
             "runs: search: a trial of another number of ranks is refused"], says=r"2 there, and 4|ends with 2")

fault("a search does not look at the number of ranks that its trials got",
      "launcher/front/trial_runner.cpp", "if (ranks) study_.require", "if (ranks && *ranks < 0) study_.require",
      tests=["runs: search: a trial of another number of ranks is refused"], says=r"of the first trial|world_size")

fault("a search goes on after its configuration was edited",
      "launcher/front/trial_runner.cpp", "if (refusal_ || !flags_are_the_same()) return false;", "",
      tests=["runs: search: an edit of the configuration ends a search that runs"], says=r"what, where, why")

fault("a search whose trials all fail ends as if its data were wrong",
      "apps/hftrain/commands/search.cpp", "code == 0 ? ExitCode::kData : static_cast<ExitCode>(code)", "code > 1000 ? static_cast<ExitCode>(code) : ExitCode::kData",
      tests=["runs: search: trials that all fail end the search with the code of the first",
             "runs: search: a metric is found without its prefix and missed with the names there are"],
      says=r"ends with 2")

fault("a search that is stopped says that its trial has saved, whatever that did",
      "launcher/front/trial_runner.cpp", "if (unsaved_) return ExitCode::kTerminatedUnsaved;", "",
      tests=["runs: search: a search that is stopped before a trial saved says so"],
      says=r"10, not 130")

fault("--json of a search goes to its trials",
      "apps/hftrain/commands/search.cpp", 'if (json) request.flags.emplace_back("--json=false");', "",
      tests=["runs: search: a search that is stopped before a trial saved says so", "runs: search: a grid is tried and the best named"],
      says=r"ends with 0")

fault("a plan shows a port that the ranks would not meet at",
      "apps/hftrain/commands/train_plan.cpp", "starts_here ? port_of_plan(port, console) : port", "port",
      tests=["runs: a plan says what the run would do"],
      says=r"a plan says that its port is taken")

fault("a plan of several machines does not try the port of node 0",
      "apps/hftrain/commands/train_plan.cpp", "    check_meeting_port(inputs, membership);\n", "",
      tests=["runs: a plan says what the run would do"],
      says=r"are refused a port that is taken")

fault("every process of a launcher says what it has prepared",
      "apps/hftrain/commands/prepare.cpp", "if (actions.json && answers) context.out", "if (actions.json) context.out",
      tests=["runs: a plan says what the run would do"],
      says=r"rank 1 says nothing of what it prepares with --json")

fault("every process of a launcher refuses a task for itself",
      "launcher/front/job_answer.cpp", "if (alone || launcher::speaks_first(context.environment)) throw Error(error);", "if (!environment.variables().empty()) throw Error(error);",
      tests=["runs: a plan says what the run would do"],
      says=r"rank 1 says nothing of what no plug-in|nothing of a mistyped flag")

fault("generating passes over a variable of threads that holds no number",
      "apps/hftrain/commands/generate.cpp", "  warn_of_unread_threads(context.environment, context.err);\n", "",
      tests=["runs: generation: a variable of threads that holds no number is told"],
      says=r"OMP_NUM_THREADS=many")

fault("batches may be made by any number of threads",
      "lib/hftrain/arguments/flags/data_flags.cpp", ".range = between(0, kMostThreads)", ".range = at_least(0)",
      tests=["arguments: threads of a rank, and those that make its batches, are no more than a machine may have cores"],
      says=r"dataloader_num_workers")

fault("a rank takes any number of threads from the environment",
      "lib/hftrain/plan/topology.cpp", "*threads >= 1 && *threads <= kMostRankThreads", "*threads >= 1",
      tests=["machine: more threads of a rank than a machine may have cores are not taken from the environment",
             "plan: a variable of threads that holds no number is warned of, and none that does"],
      says=r"requested_threads|has no effect")

fault("nobody says which variable names a cache that cannot be written to",
      "lib/hftrain/data/prepare.cpp", "throw with_cache_variables(error);", "throw Error(error);",
      tests=["data: A cache that cannot be written to is told with the variables that name another one"],
      says=r"HFTRAIN_CACHE")

fault("a cache that cannot be looked into is an empty one",
      "lib/hftrain/data/cache_entries.cpp", "if (error && error != std::errc::no_such_file_or_directory)", "if (error && tokens_folder.empty())",
      tests=["data: a cache that is not there is empty, and one that cannot be looked into is told"],
      says=r"list_cache\(below\)")

fault("of a model that a run replaces in its folder nothing is said",
      "launcher/front/output_stage.cpp", "const bool model = storage::has_model_weights(output_dir) || storage::holds_adapter_alone(output_dir);", "const bool model = output_dir.empty();",
      tests=["front: what becomes of a model in the output folder is told, and of other files that they stay"],
      says=r"is replaced when this run saves its own")

fault("the commit of a worktree is not read",
      "launcher/front/run_record.cpp", "const fs::path git = elsewhere.empty() ? inside : elsewhere;", "const fs::path& git = inside;",
      tests=["front: the commit of a worktree and of a submodule is read where their .git file says"],
      says=r"git_commit\(")

fault("steps_per_print may be any word",
      "lib/hftrain/arguments/import/deepspeed_keys.cpp", '    {.name = "steps_per_print",\n     .type = Type::kInt,', '    {.name = "steps_per_print",\n     .type = Type::kText,',
      tests=["arguments: how often DeepSpeed prints is a number, or never"],
      says=r"steps_per_print: 'often' is not a whole number")

fault("steps_per_print cannot be infinite",
      "lib/hftrain/arguments/import/section_check.cpp", "  if (key.endless && is_infinite(written)) return;\n", "  if (key.endless && is_infinite(written) && false) return;\n",
      tests=["arguments: how often DeepSpeed prints is a number, or never"],
      says=r"inf")

fault("both ends of a range are drawn half as often",
      "lib/hftrain/search/space.cpp", "return !choices.empty() || (step > 0 && !log);", "return !choices.empty();",
      tests=["search: steps of a range are drawn as often as each other"],
      says=r"Approx")

fault("beside an optimizer section norms do not decay in the plan",
      "lib/hftrain/plan/resolve_training.cpp", "plan.decays_all = deepspeed && deepspeed->has_optimizer;", "plan.decays_all = false && deepspeed;",
      tests=["plan: with an optimizer section norms and biases decay, too, and the plan says so"],
      says=r"decays\(section\)")

fault("norms are left alone where all parameters are to decay",
      "lib/hftrain/trainer/components.cpp", "list.weight_decays = plan.optimizer.weight_decays();",
      "list.weight_decays = {plan.optimizer.weight_decay, 0.0};",
      tests=["trainer: norms decay where the plan says that all parameters do, and are left alone otherwise"],
      says=r"decays_all \? 0\.9F")

fault("in the Trainer's files norms do not decay",
      "lib/hftrain/interchange/trainer_files.cpp", 'put_number(values, "weight_decay", run.weight_decays[group]);', 'put_number(values, "weight_decay", group == 0 ? run.weight_decays[0] : 0.0);',
      tests=["interchange: the state of all ranks is gathered from their files into the Trainer's"],
      says=r"0\.05")

fault("fp16 under DeepSpeed has torch's loss scale where no section says fp16",
      "lib/hftrain/arguments/import/deepspeed.cpp", "  scale_loss(outcome.arguments);\n", "  if (section && false) scale_loss(outcome.arguments);\n",
      tests=["arguments: a run in fp16 has DeepSpeed's own loss scale, also where no section says so"],
      says=r"scale\(words\)")

fault("dataloader_drop_last of a DeepSpeed file is forgotten in silence",
      "lib/hftrain/arguments/import/deepspeed_training.cpp", 'if (file.flags.value("dataloader_drop_last") == false)', "if (false)",
      tests=["arguments: dataloader_drop_last is of DeepSpeed's own loader and drops nothing of the run"],
      says=r"file\.warnings\(\)")

fault("an automatic eps of RMSprop is not adam_epsilon",
      "lib/hftrain/arguments/import/deepspeed_optimizer.cpp", "if (file.keys.is_auto(pointer)) return usual;",
      "if (file.keys.is_auto(pointer)) return 1e-8;",
      tests=["arguments: eps of every optimizer is adam_epsilon where it is auto, and agrees with it elsewhere"],
      says=r"eps=0\.0001")

fault("one DeepSpeed file under two spellings is two",
      "lib/hftrain/arguments/section.cpp", "return first && second && *first == *second;", "return false;",
      tests=["arguments: one DeepSpeed file under several names is one, and several are refused",
             "arguments: D6: another DeepSpeed file on the command line is a conflict"],
      says=r"mistakes\(words\)\.empty\(\)|\.empty\(\)")

fault("of two old names that disagree the last one wins",
      "lib/hftrain/arguments/merge.cpp", "if (candidate.old != nullptr && renamed != nullptr) check_names(flag, *renamed, candidate);", "",
      tests=["arguments: two old names that disagree are an error, and of one name given twice the last one counts"],
      says=r"num_gpus")

fault("JSON with a character of two halves is refused",
      "lib/hftrain/arguments/json_text.cpp", "if (is_high_half(*high) && low && is_low_half(*low)) {", "if (false && low && is_high_half(*high) && is_low_half(*low)) {",
      tests=["arguments: characters beyond U+FFFF are read as Python writes them into JSON"],
      says=r"not valid JSON|unknown key 'sed'")

fault("what follows a character of two halves is told in the wrong place",
      "lib/hftrain/arguments/json_text.cpp", "missing += kShorter;", "",
      tests=["arguments: characters beyond U+FFFF are read as Python writes them into JSON"],
      says=r"unknown key 'sed'")

fault("options of the command line are forgotten beside an optimizer section",
      "lib/hftrain/arguments/import/deepspeed_optimizer.cpp", "if (!asked.empty()) options.push_back(asked);", "if (asked.size() == 1) options.push_back(asked);",
      tests=["arguments: options of the command line stand beside the params of an optimizer section"],
      says=r"alpha=0.95")

fault("options of an optimizer section and of the command line are compared as texts",
      "lib/hftrain/arguments/import/deepspeed_optimizer.cpp", "return first && second ? *first == *second : a == b;", "return first && second ? a == b : a.empty();",
      tests=["arguments: options of the command line stand beside the params of an optimizer section"],
      says=r"momentum")

fault("options of an optimizer reach it as they were written",
      "lib/hftrain/plan/resolve_training.cpp", "plan.options[key] = value.is_string() ? value.get<std::string>() : value.dump();", "plan.options[key] = optimizer.optim_args.value_or(value.dump());",
      tests=["plan: options of an optimizer are in the plan as numbers and truths, however they were written"],
      says=r"true|0\.9")

fault("an orientation in a long number is not seen",
      "lib/hftrain/images/exif.cpp", "    case kTypeLong:\n", "",
      tests=["images: every kind of PNG and JPEG has the pixels that PIL gives it, upright"],
      says=r"same_pixels|noted_long")

fault("notes in the text of a PNG are not seen",
      "lib/hftrain/images/png_reader.cpp", "if (holds_notes_as_text(*chunk)) as_text = chunk;", "if (holds_notes_as_text(*chunk)) as_text.reset();",
      tests=["images: every kind of PNG and JPEG has the pixels that PIL gives it, upright"],
      says=r"same_pixels|noted")

fault("deepspeed_config of an Accelerate file asks for DeepSpeed beside --multi_gpu",
      "lib/hftrain/arguments/import/accelerate_layers.cpp", "  std::erase_if(raw, of_section);\n", "",
      tests=["arguments: the kind of run on the command line wins over deepspeed_config, too, and that is told"],
      says=r"gradient_clipping|sharding.strategy")

fault("of two spellings of a key in an Accelerate file's section one wins without a word",
      "lib/hftrain/arguments/import/accelerate_sections.cpp", "if (!fresh) {", "if (!fresh && other->second == name) {",
      tests=["arguments: two spellings of one key in a section are refused with both places"],
      says=r"has both")

fault("an empty --deepspeed trains with ZeRO",
      "lib/hftrain/arguments/value.cpp", "if (text.empty()) return Json(nullptr);", "if (text.empty() && !flag.path) return Json(nullptr);",
      tests=["arguments: an empty --deepspeed, as of a script's unset variable, is none"],
      says=r"sharding|exclude")

fault("a launch that asks for DeepSpeed in the environment is not told of",
      "lib/hftrain/arguments/import/deepspeed.cpp", "if (announces_deepspeed(environment)) note_announcement(outcome);", "if (announces_deepspeed(environment) && problems.size() > 1000) note_announcement(outcome);",
      tests=["arguments: the environment of an accelerate launch counts only when it is announced"],
      says=r"asks for DeepSpeed")

fault("a trial pushes where another one does not",
      "lib/hftrain/search/specification.cpp", '{"push_to_hub", "it would push trials to the Hub"},', '{"push_to_hub_", "it would push trials to the Hub"},',
      tests=["search: what is no flag of a trial is not searched, by whichever name"], says=r"push-to-hub")

fault("a search looks at the last set of choices alone",
      "apps/hftrain/commands/search_checks.cpp", "      check_trains(parsed, mistakes);\n      measures", "      if (i + 1 == most) check_trains(parsed, mistakes);\n      measures",
      tests=["runs: search: mistakes are told before the first trial"], says=r"no trial of --do_eval, do_train|ends with 2")

fault("a search asks for help as a trial",
      "lib/hftrain/search/specification.cpp", "return flag.command_line_only ?", "return flag.command_line_only && flag.letter == 0 && flag.name != \"help_all\" ?",
      tests=["search: what is no flag of a trial is not searched, by whichever name"], says=r"help")

fault("a search draws one flag under two names",
      "lib/hftrain/search/specification.cpp", "    if (fresh) return true;\n", "    if (fresh || first->second != \"\") return true;\n",
      tests=["search: a flag is one parameter of a search by whichever name"], says=r"names of one flag")

fault("a search calls flags by the names in its file",
      "lib/hftrain/search/specification.cpp", "return renamed ? arguments::flag_table().named(became.flag) : flag;", "return renamed && flag.name.empty() ? arguments::flag_table().named(became.flag) : flag;",
      tests=["search: a flag is one parameter of a search by whichever name"], says=r"per_device_train_batch_size")

fault("a flag that the space draws is dropped without a word",
      "apps/hftrain/commands/search_checks.cpp", "    if (mapping || !given.origins.is_given(flag)", "    if (!mapping || !given.origins.is_given(flag)",
      tests=["runs: search: a flag that the space draws is told"], says=r"ends with 2")

fault("mistakes in a search have no line",
      "lib/hftrain/search/specification.cpp", "return (found == places_.end() ? file_ : found->second)", "return (found == places_.end() || !dotted.empty() ? file_ : found->second)",
      tests=["search: every mistake in a search is told at once, with its place"], says=r"search\.yaml:2:9: trails")

fault("a wrong value in a search waits for a trial",
      "lib/hftrain/search/specification.cpp", "  if (error == nullptr) return;\n", "  if (error == nullptr || !pointer.empty()) return;\n",
      tests=["search: values that a flag does not take stand where they are written"], says=r"perhaps")

fault("a slip in an Accelerate file hides those in its sections",
      "lib/hftrain/arguments/import/accelerate.cpp", "if (unreadable || !know_kind()) return {};", "if (unreadable || !know_kind() || file_.mistakes() > before) return {};",
      tests=["arguments: L1: unknown keys, missing files and kinds that are not ours"], says=r"fsdp_versio")

fault("tokenizer encode keeps the CR of a line end",
      "apps/hftrain/commands/tokenizer.cpp", "if (line.ends_with('\\r')) line.pop_back();", "if (line.ends_with('\\v')) line.pop_back();",
      tests=["apps: tokenizer encode reads lines as data files are read"], says=r"lines")

fault("tokenizer encode reads compressed bytes",
      "lib/hftrain/data/byte_stream.cpp", 'if (name.ends_with(".gz"))', 'if (name.ends_with(".gzip"))',
      tests=["apps: tokenizer encode reads lines as data files are read"], says=r"lines")

fault("bash cuts names of files at blanks",
      "lib/hftrain/arguments/completion.cpp", """  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
""", """  else
    COMPREPLY=($(compgen -f -- "$current"))
""",
      tests=["runs: completions: bash offers what a command takes"], says=r"behind 'hftrain --train_file a'")

fault("zsh completes from fpath alone",
      "lib/hftrain/arguments/completion.cpp", 'if [[ "$funcstack[1]" == _hftrain ]]; then _hftrain "$@"; else compdef _hftrain hftrain; fi', '_hftrain "$@"',
      tests=["runs: completions: zsh completes with a sourced script"], says=r"registered _hftrain")

fault("completions offer flags of runs behind every command",
      "apps/hftrain/commands/completion.cpp", "whole.takes_run_flags = command.run_flags != RunFlags::kNone;", "whole.takes_run_flags = command.run != nullptr;",
      tests=["runs: completions: fish offers what a command takes"], says=r"behind 'hftrain")

fault("completions know no actions",
      "apps/hftrain/command_options.cpp", "if (declared_now != nullptr) declared_now->actions = known;", "if (declared_now != nullptr) declared_now->actions.clear();",
      tests=["runs: completions: fish offers what a command takes"], says=r"behind 'hftrain checkpoint '")

fault("a size of one number is what it is to ViT's image processor",
      "lib/hftrain/images/preprocessor.cpp", 'return defaults_of(name, "size of one number", origin).number_is_edge;',
      'return defaults_of(name, "size of one number", origin).name.empty();',
      tests=["images: the class of an image processor decides what its file leaves out"],
      says=r"== clip")

fault("mean of an image processor that leaves it out is 0.5 whatever its class",
      "lib/hftrain/images/preprocessor.cpp", 'preprocessor.mean = defaults_of(name, "image_mean", origin).mean;',
      'defaults_of(name, "image_mean", origin);',
      tests=["images: the class of an image processor decides what its file leaves out"],
      says=r"== clip")

fault("preprocessor_config.json comes before the image processor in processor_config.json",
      "lib/hftrain/plan/model_facts.cpp", "    if (!facts.preprocessor.is_null()) return;\n",
      "    if (!facts.preprocessor.is_null() && !path_exists(folder + '/' + images::kPreprocessorName)) return;\n",
      tests=["parity: image processors are read as AutoImageProcessor reads them"],
      says=r"1 are read otherwise")

fault("of a model for another problem it is the labels of the images that are said to be no classes",
      "lib/hftrain/tasks/image_classification.cpp", "    require_classes_of_model(*kept, input);\n",
      "    kept->kind() == LabelSet::Kind::kClasses ? require_classes_of_model(*kept, input) : require_classes(*kept);\n",
      tests=["tasks: a model that was trained for no classification of images is told as that"],
      says=r"the labels of the images are no classes")

fault("batches of images are said to have input_ids",
      "lib/hftrain/plan/resolve_training.cpp", 'sees_images(task_row(input.parsed).head) ? "pixel_values" : "input_ids"', '"input_ids"',
      tests=["plan: columns of batches of images are told where another one is named"],
      says=r"pixel_values, labels")

fault("a forced token that is suppressed is written",
      "lib/hftrain/generation/generation_config_json.cpp", "    if (all_suppressed(forced, config.suppress_tokens))\n",
      "    if (all_suppressed(forced, {}))\n",
      tests=["generation: a forced token that is suppressed is refused, as long as no other may come in its place"],
      says=r"suppress_tokens has them all")

fault("a search for the batch must begin where the DeepSpeed file says",
      "lib/hftrain/arguments/import/deepspeed_training.cpp", 'file.flags.value("auto_find_batch_size") != true', "differs",
      tests=["arguments: D1: a search for the batch begins at the flag, and both are named"],
      says=r"mistakes|4 against 2")

fault("a section of DeepSpeed is on unless it says that it is off",
      "lib/hftrain/arguments/import/section_check.cpp", "if (!key.switched_by.empty() && value.is_object())", "if (false && value.is_object())",
      tests=["arguments: a section without what switches it on is off, as DeepSpeed's defaults leave it"],
      says=r"hybrid_engine")

fault("whole numbers of FSDP in disguise are none",
      "lib/hftrain/arguments/import/fsdp_settings.cpp", "type == Type::kInt ? undisguised(*written_) : *written_", "*written_",
      tests=["arguments: whole numbers of FSDP may be in disguise"],
      says=r"not a whole number|min_parameters")

fault("an fsdp_config of values that are false asks for nothing",
      "lib/hftrain/arguments/import/fsdp.cpp", "!(unasked && asks_for_nothing(value))", "!(asks_for_nothing(value) || (unasked && value.is_null()))",
      tests=["arguments: what the Trainer writes of FSDP where nobody asked for it is no warning"],
      says=r"have no effect without")

fault("a variable of a launch is passed over without a word",
      "lib/hftrain/arguments/import/environment.cpp", "return meaning(each) == meaning(variable) ? nullptr : &each;", "return meaning(each) == meaning(variable) ? nullptr : nullptr;",
      tests=["arguments: a variable of a launch that an argument wins over is told, where the two differ"],
      says=r"has no effect")

fault("an old switch contradicts the new name that it adds to",
      "lib/hftrain/arguments/merge.cpp", "if (renamed != nullptr && renamed->old->adds && !renamed->neutral)", "if (renamed != nullptr && renamed->old->wins && !renamed->neutral)",
      tests=["arguments: an old switch that was one of its own adds to what the new name says"],
      says=r"say two different things")

fault("an old switch takes back what the layers before say",
      "lib/hftrain/arguments/merge.cpp", "named != nullptr ? *named : before(flag, layer, candidates));", "named != nullptr ? *named : Candidate());",
      tests=["arguments: an old switch that was one of its own adds to what the new name says"],
      says=r"include_for_metrics == both")

fault("a warmup_ratio of 1 is one update under releases where it was a share",
      "lib/hftrain/arguments/compat.cpp", "  outcome.arguments.schedule.warmup_steps = std::nextafter(1.0, 0.0);\n", "",
      tests=["plan: a warmup_ratio of 1 is all updates where it was a field of its own"],
      says=r"1 == 10")

fault("an entry of before has samples without length",
      "lib/hftrain/data/token_cache.cpp", 'record.at("longest").get<int64_t>() : longest_of(split);', 'record.at("longest").get<int64_t>() : 0 * longest_of(split);',
      tests=["data: An entry that does not say its longest sample is read for it, as those of before are"],
      says=r"longest == made.train->longest")

fault("a folder on NVMe that the file does not ask for is said to be missing twice",
      "lib/hftrain/arguments/import/deepspeed.cpp", 'if (text(where) == "nvme" && !folder && !configured_)', 'if (text(where) == "nvme" && !folder)',
      tests=["arguments: a folder on NVMe that fills no auto of the file is missed once, and it is said what would take it"],
      says=r"needs offload_optimizer_nvme_path")

fault("evaluations that are off are told twice beside the best model",
      "lib/hftrain/arguments/rules/interval_rules.cpp", 'save_strategy == "best" && !best_at_end(o) &&', 'save_strategy == "best" &&',
      tests=["arguments: what will be no best model is told, and the run goes on, as the Trainer's does"],
      says=r"writes no checkpoint")

fault("on and off are truth values of flags wherever they stand",
      "lib/hftrain/arguments/value.cpp", '"true", "yes", "t", "y", "1"}', '"true", "yes", "t", "y", "1", "on"}',
      tests=["arguments: booleans take the words of argparse in any letter case and no others",
             "arguments: on, off and words for no count without quotes in YAML alone"],
      says=r'fails\("fp16", word\)|bf16')

fault("a word for false is the no of a flag wherever it stands",
      "lib/hftrain/arguments/value.cpp", 'if (!written.is_boolean() && !all && flag.choice("true") == nullptr) return written;', "",
      tests=["arguments: false is the word no where the flag has it, and no other word is"],
      says=r'fails\("eval_strategy", word\)')

fault("words of a YAML file are texts, quoted or not",
      "lib/hftrain/arguments/yaml_meaning.cpp", "if (truth && (chooses || flag.slot.type == Type::kBool)) return *truth;", "if (truth && chooses && flag.slot.type == Type::kBool) return *truth;",
      tests=["arguments: on, off and words for no count without quotes in YAML alone"],
      says=r"is not a truth value|is not one of")

fault("numbers of mappings keep the underscores of YAML",
      "lib/hftrain/arguments/yaml_meaning.cpp", "    return plain_number(decimal_of_yaml(text));\n", "    return text.empty() ? decimal_of_yaml(text) : text;\n",
      tests=["arguments: numbers of mappings in YAML may have an underscore between digits, too"],
      says=r"is not a (whole )?number")

fault("quoted numbers of mappings lose their underscores",
      "lib/hftrain/arguments/yaml_meaning.cpp", "if (value.is_string() && plain.contains(pointer)) return change", "if (value.is_string()) return change",
      tests=["arguments: numbers of mappings in YAML may have an underscore between digits, too"],
      says=r"is not a whole number")

fault("numbers and truth values of a DeepSpeed mapping are printed as texts",
      "lib/hftrain/arguments/print_config.cpp", "return mapping ? typed_parts(std::move(value), plain->second) : value;", "return mapping ? value : value;",
      tests=["arguments: a mapping that import/ reads is printed with numbers and truth values as they stood"],
      says=r"gradient_clipping: 1.0")

fault("variables of a launch have the truth values of flags alone",
      "lib/hftrain/arguments/import/environment.cpp", "if (flag.slot.type == Type::kBool) return truth_of_launchers(value);", "",
      tests=["arguments: variables of a launch have the truth values of accelerate and the numbers of Python"],
      says=r"is not a truth value")

fault("numbers of a search keep the underscores of YAML",
      "lib/hftrain/search/specification.cpp", "arguments::parts_meant_in_yaml(as_it_stands, plain);", "as_it_stands;",
      tests=["search: numbers and truth values of a search are those of YAML"],
      says=r"'on' is not a truth value|is no number")

fault("a callback is told of a save that is still to come",
      "lib/hftrain/trainer/saving.cpp", "  control_.should_save = false;  // as the Trainer's handler, before anybody is told\n", "",
      tests=["trainer: a callback sees the flags as the Trainer's handler leaves them"],
      says=r'saw\("save "\)')

fault("the evaluation before the first update is asked for by a flag",
      "lib/hftrain/trainer/training.cpp", "    evaluate_and_track();  // no flag asks for it, nor for what its callbacks would like to follow\n",
      "    control_.should_evaluate = true;\n    evaluate_and_track();\n",
      tests=["trainer: a callback sees the flags as the Trainer's handler leaves them"],
      says=r'saw\("log eval_loss "\)')

fault("a secret that is a number is printed",
      "lib/hftrain/arguments/print_config.cpp", "as_people_write(outcome, flag, given->first, shown(flag, given->second))", "shown(flag, as_people_write(outcome, flag, given->first, given->second))",
      tests=["arguments: a mapping that import/ reads is printed with numbers and truth values as they stood"],
      says=r"123456")

fault("a variable that an argument wins over is told as used",
      "lib/hftrain/arguments/import/fsdp.cpp", "        counts = !reader_.differs();\n", "",
      tests=["arguments: a variable of FSDP that says something else than an argument is told as without effect, not as used"],
      says=r"FSDP_STATE_DICT_TYPE=SHARDED_STATE_DICT")

fault("off in a list of YAML is the word off",
      "lib/hftrain/arguments/yaml_meaning.cpp", "if (written.is_array()) return elements_meant_in_yaml(flag, std::move(written), plain);", "if (written.is_null()) return elements_meant_in_yaml(flag, std::move(written), plain);",
      tests=["arguments: what is off in a list of YAML is off, and stands alone"],
      says=r"off")

fault("trackers that are off are looked for under the name false",
      "lib/hftrain/arguments/value.cpp", 'if (written.is_boolean() && !*truth && none) return "none";', 'if (written.is_null() && !*truth && none) return "none";',
      tests=["arguments: what is off in a list of YAML is off, and stands alone"],
      says=r"report_to")

fault("a section of DeepSpeed that says No is on",
      "lib/hftrain/arguments/import/section_check.cpp", "truth_of(written) == false;", 'written == "false";',
      tests=["arguments: words and numbers of YAML 1.1 mean in mappings what they do there, and so do tags"],
      says=r"enabled|hybrid_engine")

fault("0x10 in a mapping of YAML is no number",
      "lib/hftrain/arguments/yaml_meaning.cpp", "return plain_number(decimal_of_yaml(text));", "return plain_number(text.empty() ? decimal_of_yaml(text) : text);",
      tests=["arguments: words and numbers of YAML 1.1 mean in mappings what they do there, and so do tags"],
      says=r"0x2")

fault("a tag of YAML is passed over",
      "lib/hftrain/arguments/yaml_values.cpp", "  if (!text)\n    problem(", "  if (tag.empty() && !text)\n    problem(",
      tests=["arguments: words and numbers of YAML 1.1 mean in mappings what they do there, and so do tags"],
      says=r"the tag !level")

fault("a choice of a search that is a text becomes a number",
      "lib/hftrain/search/specification.cpp", "return word_of(value) == word_of(written) &&", "return !word_of(value).empty() &&",
      tests=["search: choices mean what their flag's value means in a file"],
      says=r"1e3")

fault("a run of before goes on without the types of tokens that it was trained with",
      "lib/hftrain/plan/resolve_data.cpp", "    if (input.saved) facts.names_types = input.saved->token_types.value_or(facts.names_types);\n", "",
      tests=["plan: a run goes on with types of tokens as its checkpoint was trained, and says so where a new one would not"],
      says=r"types; ")

fault("the plan beside a checkpoint of before is not asked for types of tokens",
      "launcher/front/saved_run.cpp", "const std::optional<Json> plan = path_exists(path) ?", "const std::optional<Json> plan = path.empty() ?",
      tests=["front: whether a run had types of tokens its checkpoint says, and of one of before the plan beside it"],
      says=r"token_type_ids|types")

fault("a plug-in's task is mistaken for the built-in one that its name begins as",
      "lib/hftrain/arguments/derive.cpp", "if (task.empty() || (!languages && arguments_.interface.plugin)) return;", "if (task.empty()) return;",
      tests=["plan: a plug-in's task keeps its name where that begins as a built-in one's, and other such words are the latter",
             "arguments: words that people have for a task lead to it"],
      says=r"summarization")
