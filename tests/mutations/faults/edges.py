# Faults at the edges of what checks, folders and connections are made for.
fault("a rehearsal on fewer ranks refuses the batch of a DeepSpeed file",
      "lib/hftrain/plan/resolve_deepspeed.cpp", "  if (is_of_more_ranks(input, micro * steps, copies)) return;\n", "  if (is_of_more_ranks(input, micro * steps, copies) && total < 0) return;\n",
      tests=["plan: a smoke run on fewer ranks keeps micro-batches and accumulation, and tells its train_batch_size",
             "runs: smoke: ranks and updates that a file has more of"], says=r"train_batch_size")

fault("a rehearsal takes any batch of a DeepSpeed file",
      "lib/hftrain/plan/resolve_deepspeed.cpp", "(follows || total % of_rank == 0)", "(follows || total % of_rank >= 0)",
      tests=["plan: a smoke run refuses a train_batch_size that no number of ranks makes, or fewer than it has"], says=r"refused\(")

fault("a rehearsal on fewer ranks refuses a mesh",
      "lib/hftrain/plan/resolve_strategy.cpp", "if (replicate * shard > world && has_groups && ", "if (replicate * shard < 0 && has_groups && ",
      tests=["plan: a smoke run's mesh is a smaller one, with groups of both kinds where there are ranks for them"], says=r"mesh")

fault("a rehearsal's smaller mesh has one kind of groups",
      "lib/hftrain/plan/smoke_ranks.cpp", "std::min(size, replicas) <= least", "std::max(size, replicas) <= least",
      tests=["plan: a smoke run's mesh is a smaller one, with groups of both kinds where there are ranks for them"], says=r"2 x 2")

fault("a rehearsal holds the whole run's schedule against its own length",
      "lib/hftrain/arguments/import/deepspeed_optimizer.cpp", "asked != total && !file.is_of_smoke", "asked != total",
      tests=["plan: a smoke run's schedule is as long as itself", "runs: smoke: ranks and updates that a file has more of"], says=r"total_num_steps")

fault("what gives way in a rehearsal is not said",
      "launcher/front/smoke.cpp", "for (const Diagnostic& note : plan::notes_of_smoke(parsed_, plan))", "for (const Diagnostic& note : std::vector<Diagnostic>())",
      tests=["runs: smoke: ranks and updates that a file has more of"], says=r"is 16 here")

fault("a rehearsal that diverges has left no checkpoint",
      "launcher/front/smoke.cpp", "    if (!scales_loss) look_at_gradients(", "    if (scales_loss) look_at_gradients(",
      tests=["runs: smoke: a run that diverges says so"], says=r"it ends as diverged")

fault("a rehearsal expects all updates of a run that a callback ends",
      "launcher/front/smoke.cpp", "const int64_t left = updates_ - checkpoint.step;", "const int64_t left = setting_.length.steps - checkpoint.step;",
      tests=["runs: plug-ins built against the installed tree do what their page says"], says=r"were left")

fault("a tokenizer's tokens around every text are counted, not compared",
      "lib/hftrain/tokenizer/class_pipelines.cpp", "|| !in_file.id || named->second.id == in_file.id) return;", "|| in_file.id == in_file.id) return;",
      tests=["tokenizer: Tokens around every text, and of unknown words, that are not those of the file are said by name"], says=r"before every text")

fault("the token of unknown words is not compared",
      "lib/hftrain/tokenizer/class_pipelines.cpp", "if (parts.unk_token == named->second.content) return;", "if (parts.unk_token != named->second.content) return;",
      tests=["tokenizer: Tokens around every text, and of unknown words, that are not those of the file are said by name"], says=r"of unknown words")

fault("special tokens that are pieces alone are not told",
      "lib/hftrain/tokenizer/unheeded_settings.cpp", "if (!added && tokenizer.token_to_id(token)", "if (added && tokenizer.token_to_id(token)",
      tests=["tokenizer: Special tokens that tokenizer.json has among its pieces alone are said, and those that it lacks are not"], says=r"found whole")

fault("a report waits for the writer of a pipe",
      "lib/hftrain/base/regular_file.cpp", "if (hidden || fs::is_regular_file(status)) return true;", "if (hidden || fs::exists(status)) return true;",
      tests=["report: a pipe in the place of a run's file is refused, and not waited for"], says=r"lasts longer than", seconds=60)

fault("an export copies a config.json that is none",
      "lib/hftrain/storage/model_export.cpp", "  require_config(checkpoint, options);\n", "  if (checkpoint.empty()) require_config(checkpoint, options);\n",
      tests=["storage: an export refuses a config.json that is none, and copies that of a family that nobody knows"], says=r"not valid JSON")

fault("a cache cannot be asked to go as a whole",
      "apps/hftrain/commands/cache.cpp", '*request.max_size == "0" ? std::optional<int64_t>(0) : parse_bytes', "parse_bytes",
      tests=["runs: cache prune keeps what is young and small enough, and a dry run removes nothing"], says=r"does not fit")

fault("a check of connections that nobody answers does not say how to go without it",
      "launcher/ssh/host_job.cpp", 'check->status() ? "" : "; where that', 'check->status() || true ? "" : "; where that',
      tests=["launcher: machines that cannot be reached are all named before anything starts"], says=r"no_ssh_check")

fault("a connection that is lost has ssh's words alone",
      "launcher/ssh/host_job.cpp", "  if (code == ExitCode::kWorkerLost && !was_stopped_) tell_lost_connection();\n", "",
      tests=["launcher: a connection that is lost while machines run is named, with what keeps one"], says=r"was lost")

fault("a search's trials train on this machine alone, whatever its host file names",
      "launcher/front/trial_runner.cpp", "for (const char* name : kOwnVariables) child.environment.unset(name);", 'for (const char* name : kOwnVariables) child.environment.unset(name);\n  child.environment.set("HFTRAIN_HOSTED", "1");',
      tests=["runs: search: each trial starts the machines of a host file"], says=r"both trials end well|front program|started once")
