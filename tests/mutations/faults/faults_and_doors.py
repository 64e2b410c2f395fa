# Faults of processes and doors for strangers: the control port, stop signals, crafted files, secrets, limits.

HUB = "launcher/control/hub.cpp"

fault("a stray greeting during training is looked at as a node's, and ends the job",
      HUB, 'if (all_came()) return "all nodes of this job have come";', "",
      tests=["launcher: a well-formed greeting during training is refused and logged, and training goes on"],
      says=r'contains\(answer, "refused by node 0|all nodes of this job have come')

fault("whoever greets is taken, whether or not it knows the secret",
      HUB, "if (!spec_.key.empty() && !spec_.key.proves(", "if (spec_.key.empty() && !spec_.key.proves(",
      tests=["launcher: agents that know the job's secret meet; one that does not is refused, and the others still meet"],
      says=r'contains\(answer, "refused by node 0"\)')

fault("a greeting may be as long as any message",
      HUB, "LineSocket(std::move(socket), kLongestGreeting, silence", "LineSocket(std::move(socket), 1000 * kLongestGreeting, silence",
      tests=["launcher: a greeting that does not end is cut off when it is too long, not when its time is over"],
      says=r"cut_off")

fault("the hub goes on listening when no descriptor is left, and spins",
      HUB, "for (const FileDescriptor& each : listeners_)\n        ::epoll_ctl(watch_.get(), EPOLL_CTL_DEL, each.get(), nullptr);\n      if",
      "if",
      tests=["launcher: when no descriptor is left the hub says so, rests, and goes on when there is one"],
      says=r"turns < 20")

fault("agent 0 hears nobody while it removes left-overs",
      HUB, "BackgroundWork background([&work](const std::atomic<bool>&) { work(); });\n"
      "  while (!background.over()) wait_and_ignore(background.descriptor(), next_deadline());\n  background.finish();",
      "work();",
      tests=["launcher: a stop signal of another agent that comes between two attempts is not lost"],
      says=r"news\.said\.size\(\) == 1")

fault("agent 0 hears nobody while it verifies the checkpoint that it goes on from",
      "launcher/control/leader.cpp", "BackgroundWork background(work);",
      "BackgroundWork background([](const std::atomic<bool>&) {});\n  work(std::atomic<bool>(false));",
      tests=["runs: machines: a long look at a checkpoint loses no machine"],
      says=r"a long look")

fault("JSON is read however deep it is nested",
      "lib/hftrain/base/json.cpp", "if (++depth > kDeepestJson) return i + 1;", "++depth;",
      tests=["base: JSON that is nested so deep that copying it would overflow the stack is refused with its place",
             "launcher: a line that is nested too deep, or has a number that does not fit, is no message"],
      says=r"SIGSEGV|parsed|nested|ended with -11|take_plan")

fault("a follower obeys a leader that does not know the secret",
      "launcher/control/greeting.cpp", "if (!proven) return {};", "",
      tests=["launcher: agent 0 proves the same the other way, and not with what a follower has said",
             "launcher: a follower obeys no leader that does not know the secret"],
      says=r'read_answer\(line, JobKey\("other"|does not know the secret of this job|lasts longer', seconds=60)

fault("a refusal is believed whoever says it",
      "launcher/control/greeting.cpp", "proven || key.empty()", "proven || !line.empty()",
      tests=["launcher: a refusal is heard, however long its text is, and proven to who knows the secret",
             "launcher: who does not prove that he knows the secret ends no follower with an exit code of his own"],
      says=r"CHECK_FALSE\( other\.proven|agent\.finish\(\) == code")

fault("a proof is good for every connection",
      "launcher/control/job_key.cpp", 'message.append(leaders_number).append("\\n")',
      'message.append(leaders_number.substr(0, 0)).append("\\n")',
      tests=["launcher: a greeting proves that one knows the secret, for this connection and these words only"],
      says=r"std::string\(32, 'c'\)")

fault("what a follower says serves as the leader's proof",
      "launcher/control/job_key.cpp", '? "follower\\n" : "leader\\n"', '? "leader\\n" : "leader\\n"',
      tests=["launcher: agent 0 proves the same the other way, and not with what a follower has said"],
      says=r"Side::kLeader.*!=.*Side::kFollower")

fault("without a secret the port is open at every address",
      "launcher/control/leader_place.cpp", "if (has_secret) return {};", 'return has_secret ? std::vector<std::string>() : std::vector<std::string>{"0.0.0.0"};',
      tests=["launcher: without a secret a job's port is open at the address of its name alone",
             "runs: machines: strangers at the port of a run are refused"],
      says=r"CHECK_FALSE\( connect_to|address of --master_addr alone")

fault("a file of the secret may be readable for others",
      "launcher/control/job_secret.cpp", "if ((status.st_mode & 077) != 0)", "if ((status.st_mode & 077) == 077)",
      tests=["launcher: the secret of a job comes from a file of mode 0600, else from the environment",
             "runs: only who knows the secret of a job takes part in it"],
      says=r"others may read or write it|a file that others may read")

fault("a rank that a peer names is taken for its own",
      "launcher/control/job_worker_set.cpp", "owner != agent_of_.end() && owner->second == agent ?",
      "owner != agent_of_.end() || agent > 0 ?",
      tests=["launcher: ranks and signals that another agent names count only when they are its own and stop a job"],
      says=r"lines\.empty\(\)|SIGSEGV|ended with -")

fault("any number that a peer names is a stop signal",
      "launcher/control/job_worker_set.cpp", "if (is_stop_signal(stop->signal)) changes", "if (!is_stop_signal(-1)) changes",
      tests=["launcher: ranks and signals that another agent names count only when they are its own and stop a job"],
      says=r"StopReceived\{signal\}\)\.stops\.empty\(\)")

fault("text of others goes to the terminal as it came",
      "launcher/control/message.cpp", "if (!is_among(kForPrograms, name))", "if (is_among(kForPrograms, name))",
      tests=["launcher: text of others does not act on a terminal"],
      says=r"title")

fault("a worker's second signal within two seconds costs the save",
      "lib/hftrain/trainer/stop_request.cpp", "return now - first >= int64_t{StopRequest::kOneWishSeconds} * 1'000'000'000;",
      "return true;",
      tests=["trainer: a service manager that signals a worker twice at once does not lose its save"],
      says=r"worker\.finish\(true\) == kSaves")

fault("who signals a worker again and again puts off his second wish",
      "lib/hftrain/trainer/stop_request.cpp", "int64_t first = 0;  // stays: who asks again and again does not put his second wish off\n  if (g_others_asked_at.compare_exchange_strong(first, now)) return false;",
      "const int64_t first = g_others_asked_at.exchange(now);\n  if (first == 0) return false;",
      tests=["trainer: somebody else who asks again and again does not put off his second wish"],
      says=r"worker\.finish\(true\) == kLost")

fault("a stop that comes from the launcher and from elsewhere is two wishes",
      "lib/hftrain/trainer/stop_request.cpp", "return g_parent_has_asked.exchange(true);",
      "return g_parent_has_asked.exchange(true) || g_others_asked_at.exchange(1) != 0;",
      tests=["trainer: a stop that reaches a worker and its launcher, which passes it on, is one wish"],
      says=r"worker\.finish\(true\)")

fault("the launcher takes two signals of one moment for two wishes",
      "launcher/supervision/stop_wishes.h", "signal != SIGINT && seconds < kRepeatedStopSeconds)",
      "signal != SIGINT && seconds < -kRepeatedStopSeconds)",
      tests=["launcher: two different signals of one moment, as systemd sends them, are one wish",
             "launcher: signals of one moment are one wish to stop, whatever their names"],
      says=r"result\.code == ExitCode::kTerminated|notices\.size\(\) == 1|wishes\.")

fault("a repeated signal puts off the second wish",
      "launcher/supervision/stop_wishes.h", "is_same_wish(signal, now - newest_at_)) return false;",
      "is_same_wish(signal, now - newest_at_)) return newest_at_ = now, false;",
      tests=["launcher: the same signal again is a second wish when its moment is over, whatever came in between",
             "launcher: who repeats a wish again and again does not put off the next one"],
      says=r"without saving|notices\.size\(\) >= 2|lasts longer than|wishes\.take", seconds=60)

fault("the end of a slice is added up without a check",
      "lib/hftrain/storage/sharded_state.cpp", "const std::optional<int64_t> end = checked_sum(offsets[dim], stored.entry.shape[dim]);",
      "const std::optional<int64_t> end =\n          static_cast<int64_t>(static_cast<uint64_t>(offsets[dim]) + static_cast<uint64_t>(stored.entry.shape[dim]));",
      tests=["storage: places beyond all memory that a shard claims are refused when it is opened"],
      says=r'"too large"')

fault("the sizes of a tensor are multiplied without a check",
      "lib/hftrain/storage/tensor_size.cpp", "bits = checked_product(*bits, static_cast<uint64_t>(std::max<int64_t>(size, 1)));",
      "bits = *bits * static_cast<uint64_t>(std::max<int64_t>(size, 1));",
      tests=["storage: a crafted shard cannot make an export write past its memory",
             "storage: every violation of the format is refused with its reason"],
      says=r"too large|it was accepted|SIGSEGV|ended with -")

fault("a shard may claim a whole that no file holds",
      "lib/hftrain/storage/sharded_state.cpp", "if (stored >= whole.elements()) return;", "if (stored + whole.elements() > 0) return;",
      tests=["storage: places beyond all memory that a shard claims are refused when it is opened"],
      says=r'"of its')

fault("agents wait eight seconds for each other, however many they are",
      "launcher/control/link.cpp", "return kSilenceSeconds + kSilenceOfEachMore * std::max(0, agents - kFewAgents);",
      "return kSilenceSeconds + 0 * kSilenceOfEachMore * std::max(0, agents - kFewAgents);",
      tests=["launcher: the limit of silence grows with the number of agents, and is named when one is lost"],
      says=r"silence_seconds\(1000\) == 26")

fault("the limit of silence is not said",
      "launcher/control/link.cpp", 'format_duration(silence_seconds(agents_)) + " are allowed in a job of " +\n                 std::to_string(agents_) + " front programs");',
      'std::to_string(agents_) + " front programs");',
      tests=["launcher: the limit of silence grows with the number of agents, and is named when one is lost"],
      says=r"are allowed in a job of 1000")

fault("logs are opened and written by whoever has output",
      "launcher/process/log_writer.cpp", 'start_detached_thread([state = state_] { state->run(); }, "writes logs");',
      "state_->stop = true;\n  state_->run();\n  state_->stop = false;",
      tests=["launcher: a folder that does not answer holds up neither output nor its owner"],
      says=r"lasts longer than", seconds=40)

fault("trash that cannot be removed ends training",
      "lib/hftrain/storage/checkpoint_folder.cpp", "} catch (const Error& error) {\n    return error.diagnostics().front().why;\n  }",
      "} catch (const Error& error) {\n    throw;\n  }",
      tests=["storage: trash that cannot be removed is told, ends nothing and is tried again",
             "storage: a replaced checkpoint that cannot be removed does not come back"],
      says=r"cannot remove|unexpected exception")

fault("a folder that cannot be listed behind a save ends training",
      "lib/hftrain/storage/checkpoint_folder.cpp", "  } catch (const Error&) {\n    return {};\n  }", "  } catch (const Error&) {\n    throw;\n  }",
      tests=["storage: behind a save a folder that cannot be listed is a warning"],
      says=r"cannot list|unexpected exception")

fault("a run does not try again to remove what it could not",
      "lib/hftrain/trainer/saving.cpp", "  for (const std::string& warning : storage::remove_trash(files_, plan_.output_dir))\n    events_.message(LogLevel::kWarning, warning);\n", "",
      tests=["trainer: trash that was there goes with the next save, whether or not there is a limit"],
      says=r"leftovers_in\(plan\.output_dir\)\.empty")

fault("a checkpoint is replaced before the new one was read back",
      "lib/hftrain/storage/checkpoint_folder.cpp", "  own.sync_names();\n  read_back(threads, progress);", "  own.sync_names();\n  static_cast<void>(threads);\n  static_cast<void>(progress);",
      tests=["storage: a checkpoint is replaced only by one that reads back as it was written"],
      says=r"it was committed")

fault("the limit of descriptors stays where it was",
      "launcher/process/descriptor_limit.cpp", "limit.rlim_cur = wanted;", "static_cast<void>(wanted);",
      tests=["launcher: the limit of descriptors is raised to what the system allows, and named when it is too low"],
      says=r"after\.rlim_cur ==")

fault("the front program does not raise the limit of descriptors",
      "apps/hftrain/main.cpp", "hftrain::launcher::raise_descriptor_limit();", "",
      tests=["apps: the front program raises its limit of descriptors"],
      says=r"Max open files")

fault("the front program has no handlers of faults",
      "apps/hftrain/main.cpp", "hftrain::install_crash_report();", "",
      tests=["apps: a crash of the front program is told with its stack"],
      says=r"internal: the program crashed")

fault("a file that becomes shorter while it is mapped is a crash without a word",
      "lib/hftrain/base/fault_handlers.cpp", "if (signal == SIGBUS && by_processor && path.find(", "if (signal == SIGABRT && by_processor && path.find(",
      tests=["base: a mapped file that becomes shorter while it is read is named, and is code 4"],
      says=r"ended\.status")

fault("hashing maps the file",
      "lib/hftrain/base/hash.cpp", "  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));\n  if (!file)",
      "  hasher.update(MappedFile(path).bytes());\n  const FileDescriptor file(::open(\"/dev/null\", O_RDONLY | O_CLOEXEC));\n  if (!file)",
      tests=["base: hashing reads and maps nothing, so that no file can end it by a signal"],
      says=r"hash_file\(pipe\)|cannot map|ended with -13|ended with -6", seconds=40)

fault("threads that do not start end the program",
      "lib/hftrain/data/encode_pool.cpp", "} catch (const std::system_error& error) {\n    if (!threads_.empty()) return;",
      "} catch (const std::system_error& error) {\n    std::terminate();",
      tests=["data: tokenising goes on with the threads that the system gives",
             "data: a system that gives no thread is told, and nothing is terminated"],
      says=r"SIGABRT|ended with -6")

fault("a child that nobody can watch is started all the same",
      "launcher/process/child_process.cpp", "} catch (...) {  // nobody would notice its end\n    ::kill(pid_, SIGKILL);\n    ::waitpid(pid_, nullptr, 0);\n    throw;",
      "} catch (...) {  // nobody would notice its end",
      tests=["launcher: a child whose end nobody could notice is not started"],
      says=r"_test\.cpp:\d+: FAILED:\s+CHECK\([^\n]*status")

fault("a parent outside the container is a reason not to start",
      "launcher/environments/parent_watch.cpp", "if (parent == 0) return;", "",
      tests=["launcher: a parent outside the container is not watched, and is no reason not to start"],
      says=r"_test\.cpp:\d+: FAILED:\s+CHECK\([^\n]*status")

fault("nobody notices that the process which started this one was killed",
      "launcher/environments/parent_watch.cpp", "thread_ = std::thread([this] { watch(); });", "thread_ = std::thread([] {});",
      tests=["launcher: a process is asked to stop when the one that started it is killed"],
      says=r"heard\(ends\[0\]\) == 't'")

fault("a place that the system cannot look at is an exception",
      "lib/hftrain/base/file.cpp", "std::error_code ignored;\n  return fs::exists(path, ignored);", "return fs::exists(path);",
      tests=["arguments: a deepspeed file that the system cannot look at is a mistake and no surprise"],
      says=r"filesystem error|unexpected exception|File name too long|Too many levels")

fault("an atomic write goes through a name that anybody can foresee",
      "lib/hftrain/base/growing_file.cpp", 'name = path_ + ".tmp-" + random_name();\n    file_.reset(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,',
      'name = path_ + ".tmp-" + std::to_string(::getpid());\n    file_.reset(::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,',
      tests=["base: an atomic write follows no link that waits for it, and two at once do not meet"],
      says=r'folder / "victim"|No such file|cannot rename to')

fault("a name in the host file may be an option of ssh",
      "launcher/ssh/host_file.cpp", "return name.front() == '-' || name.find(\"@-\") != std::string::npos;", "return name.empty();",
      tests=["launcher: a name that the remote shell would take for an option starts nothing"],
      says=r"begins with '-'|nothing was refused|FAIL")

fault("slots that a filter chose are no GPUs of a machine that was started by hand",
      "launcher/ssh/machine_start.cpp", "return here.chosen ? std::optional(mask_of(here)) : std::nullopt;", "return std::nullopt;",
      tests=["launcher: no_ssh takes the numbers of machines and ranks from the host file"],
      says=r"0,2")

fault("secrets stand in plans, files and printed forms",
      "lib/hftrain/base/secrets.cpp", "return names_secret(variable) ? placeholder(variable) : without_password(value);",
      "return names_secret(variable) ? value : without_password(value);",
      tests=["base: a secret is shown as its name, and a password in a URL not at all",
             "arguments: secrets of env and of flags are masked in every printed form, and reading one back sets none",
             "runs: secrets that a file exports stand in no plan and in no file of the run"],
      says=r"masked\(|contains\(text, secret\)|verysecret")

fault("a file with a secret in it is readable for all",
      "launcher/front/run_record.cpp", "secret ? FileAccess::kPrivate : FileAccess::kShared);", "secret ? FileAccess::kShared : FileAccess::kShared);",
      tests=["runs: secrets that a file exports stand in no plan and in no file of the run"],
      says=r"mode ==")

fault("a line of a data file may be of any length",
      "lib/hftrain/data/line_reader.cpp", "if (line.size() - before + length > longest_) {", "if (longest_ == 0 && line.size() - before + length > longest_) {",
      tests=["data: a row beyond the limit is refused in words, however few bytes it has in the file"],
      says=r"said\.empty\(\) == |longer than 4\.0 KiB")

fault("a record may have any number of fields",
      "lib/hftrain/data/delimited_records.cpp", "if (field_count_ == kMostFields) {", "if (field_count_ > kMostFields + kMostFields) {",
      tests=["data: a row beyond the limit is refused in words, however few bytes it has in the file"],
      says=r"100,000 fields")

fault("a header of safetensors may be of any length",
      "lib/hftrain/storage/safetensors_file.cpp", "if (length > kLargestHeader) {", "if (length > kLargestHeader + (uint64_t{1} << 62)) {",
      tests=["storage: every violation of the format is refused with its reason"],
      says=r"limit|100,000,000")

fault("stacks are forgotten when a rank is seen again without one",
      "launcher/control/job_worker_set.cpp", "kept.status.stack = std::move(stack);", "",
      tests=["launcher: a stack stays known while its rank is seen again without it"],
      says=r'stack == "frame"')

fault("every step is told, however many there are in a second",
      "lib/hftrain/trainer/event_channel.cpp", "if (now - last_step_ < 0.1 && done != total) return;", "if (now - last_step_ < 0 && done != total) return;",
      tests=["trainer: of many steps the first and the last are told, and of the others at most ten a second"],
      says=r"told\.size\(\)\) <= 2 \+ 10")

fault("workers and what they start know the secret of the job",
      "apps/hftrain/commands/train_job.cpp", "inputs.environment.unset(launcher::kSecretVariable);", "",
      tests=["runs: only who knows the secret of a job takes part in it"],
      says=r"no worker has the secret")

fault("what is no error of this program's own ends a follower as a lost worker",
      "lib/hftrain/base/caught_error.cpp", "return out_of_host_memory(", "return Error(ExitCode::kWorkerLost, ",
      tests=["base: whatever was thrown becomes an error with an exit code of its own"],
      says=r"kHostMemory")

fault("files that a killed run was writing stay in its output folder",
      "lib/hftrain/storage/run_directory.cpp", "for (const std::string& folder : {output_dir, output_dir + '/' + kOwnFolder}) {", "for (const std::string& folder : std::vector<std::string>()) {",
      tests=["storage: what a killed write left is removed from an output folder, and nothing else",
             "runs: question answering: answers of a killed evaluation are gone at the next start"],
      says=r"lines\.size\(\) == 2|FAILED: the next start says what it removes")

fault("who looks whether a folder is in use holds a run off",
      "lib/hftrain/storage/run_directory.cpp", "if (late || !others_only_look(file)) throw", "if (late || file) throw",
      tests=["storage: who looks whether a folder is in use holds no run off"],
      says=r"refused == 0")

fault("a lock on a folder that was moved aside counts",
      "lib/hftrain/storage/run_directory.cpp", "if (late || is_still_at(file, path)) return file;", "return file;",
      tests=["storage: a lock on a folder that was moved aside in between is none"],
      says=r"RunLock")

fault("a folder that another start takes back while it is made ends a run",
      "lib/hftrain/storage/run_directory.cpp", "if (!may_pass || tried == kTries)", "if (!may_pass || tried >= 1)",
      tests=["storage: a run that takes its folders back hinders no start beside it"],
      says=r"cannot create folder|WNOHANG")

fault("a lock that cannot be had leaves the folders that were made for it",
      "lib/hftrain/storage/run_directory.cpp", "    remove_empty_folders(made_, path_);\n", "    remove_empty_folders({}, path_);\n",
      tests=["storage: a lock that cannot be had leaves no empty folders"],
      says=r"names_below\(folder\.path\(\)\)")

fault("what a run reads is moved aside with the old one",
      "launcher/front/moved_inputs.cpp", "if (!path.empty() && lies_in(path, inputs.output_dir)) moved", "if (path.size() > 99999 && lies_in(path, inputs.output_dir)) moved",
      tests=["front: what a run reads is not moved aside with the old one",
             "runs: before a run: the folder is looked at before the data are prepared"],
      says=r"what the run reads lies|\(--model_name_or_path\)")

fault("the token cache that a run reads is moved aside with the old one",
      "launcher/front/moved_inputs.cpp", "  paths.emplace_back(token_cache(inputs), kTokenCache);\n", "  static_cast<void>(token_cache(inputs));\n",
      tests=["front: what a run reads is not moved aside with the old one"],
      says=r"the token cache")

fault("a run that was to go on begins anew without a word",
      "launcher/front/output_stage.cpp", "if (!asked || storage::list_checkpoints(inputs.output_dir).empty()) return {};", "if (!asked || asked) return {};",
      tests=["front: that a run begins anew although it was to go on is told"],
      says=r"notices\.size\(\) == 1")

fault("what a run reads through a link that is moved is missed",
      "launcher/front/moved_inputs.cpp", "if (link && inside(next)) return true;", "if (link && inside(next) && !link) return true;",
      tests=["front: a checkpoint in the folder that is moved aside is refused, by whatever links it is named"],
      says=r"lies in the folder that is moved aside")

fault("an old run stays aside when no new one begins",
      "launcher/front/output_stage.cpp", "  if (!moved_.empty()) move_back();\n", "",
      tests=["front: an old run that was moved aside comes back unless ranks begin",
             "runs: machines: an old run comes back when no new one begins"],
      says=r"moved the old run back|the old run is where it was")

fault("a stop signal leaves the old run aside",
      "apps/hftrain/commands/train_run.cpp", "if (job.alone()) stop.emplace();", "static_cast<void>(stop);",
      tests=["runs: before a run: a stop before ranks begin moves the old run back"],
      says=r"moved the old run back")

fault("images that rows name are moved aside with the old run",
      "launcher/front/output_stage.cpp", "refuse_what_moves_aside(inputs_, prepared);", "refuse_what_moves_aside(inputs_);",
      tests=["front: images that rows name are not moved aside with the old run",
             "runs: image classification: images in the old run are not moved aside"],
      says=r"an image of the data|ended with")

fault("an old run stays aside where ranks find no port to meet at",
      "apps/hftrain/commands/train_run.cpp", "  launcher::Rendezvous rendezvous = job.bind_store(plan);\n  if (stop", "  output.keep();\n  launcher::Rendezvous rendezvous = job.bind_store(plan);\n  if (stop",
      tests=["runs: before a run: a port that is not there moves the old run back"],
      says=r"moved the old run back")

fault("the second signal of one wish ends a front program that tidies up",
      "launcher/front/stop_flag.cpp", "const bool same_wish = launcher::is_same_wish(", "const bool same_wish = !launcher::is_same_wish(",
      tests=["front: two signals of one wish end no front program at once, a second Ctrl-C does"],
      says=r"status_after")

fault("an old run stays aside where the new folder cannot be locked",
      "lib/hftrain/storage/run_directory.cpp", "if (!rename_folder(target, folder)) error.context(", "error.context(",
      tests=["storage: an old run is not left aside where the new folder cannot be locked"],
      says=r"old-1")

fault("no old run steps aside on a file system that only renames",
      "lib/hftrain/storage/run_directory.cpp", "return errno == EINVAL && rename_to_taken_name(from, to);", "return errno == EXDEV && rename_to_taken_name(from, to);",
      tests=["storage: an old run steps aside and comes back where a file system only renames"],
      says=r"told == 'y'")

fault("an old run stays aside, unsaid, where its folder cannot be synced",
      "lib/hftrain/storage/run_directory.cpp", "    try {\n      sync_name(target);\n", "    sync_name(target);\n    try {\n",
      tests=["storage: a folder that cannot be synced keeps no old run aside"],
      says=r"old-1")

fault("what another run has begun goes with the start of a run that never did",
      "lib/hftrain/storage/run_directory.cpp", "if (lock.is_in_place() && holds_only_a_start(folder)) remove_start", "if (holds_only_a_start(folder)) remove_start",
      tests=["storage: what another run has begun in the place of this one's folder stays"],
      says=r"plan\.json")

fault("a run that never began takes another one's lock with it",
      "lib/hftrain/storage/run_directory.cpp", "if (!made_.empty() && !is_in_place()) made_.clear();", "",
      tests=["storage: what has the place of a run that never began is not taken back with it"],
      says=r"names_below\(output\)|RunLock")

fault("a run that never began leaves its lock",
      "launcher/front/output_stage.cpp", "if (!begun_) lock_.take_back();", "",
      tests=["runs: before a run: a run that never began leaves nothing"],
      says=r"no folder is left")

fault("nodes go on from different checkpoints",
      "launcher/front/job.cpp", "if (there != own) throw another_checkpoint(", "if (agent < 0) throw another_checkpoint(",
      tests=["runs: machines: all nodes go on from one checkpoint"],
      says=r"end it with 4")

fault("what a node says of itself makes its checkpoint of the Trainer's another one",
      "launcher/front/output_stage.cpp", "hash_bytes(trainers_course(folder))", 'hash_file(folder + "/trainer_state.json")',
      tests=["front: a checkpoint of the Trainer's is the same on every node that it was saved on, another run's is not"],
      says=r"== first")

fault("a checkpoint that moves aside is known by its plain path alone",
      "launcher/front/moved_inputs.cpp", "fs::is_symlink(next, error) && ++links <= kMostLinks;", "fs::is_symlink(next, error) && ++links > kMostLinks;",
      tests=["front: a checkpoint in the folder that is moved aside is refused, by whatever links it is named"],
      says=r"lies in the folder")

fault("empty training data of labels are told without their file",
      "lib/hftrain/data/split_builder.cpp", "    throw error.where(paths.front() +\n", "    throw error.where(\"the column of the labels\" +\n",
      tests=["runs: bad data: texts with labels"],
      says=r"FAILED: 'where: .*t\.csv")

fault("what a peer says of its machine is planned with as it is",
      "launcher/control/gathering.cpp", "if (const auto error = unfit_introduction(*introduction, hub_->name_of(said.agent))) throw *error;", "",
      tests=["launcher: an agent that says of itself what cannot be ends the job by name, whatever it says"],
      says=r"finish\(\) == 2|says of itself cannot be", seconds=60)

fault("any rank of any machine names the checkpoint that is gone on from, wherever it lies",
      "launcher/front/attempts.cpp", "return own ? std::optional(path) : std::nullopt;", "return own || !own ? std::optional(path) : std::nullopt;",
      tests=["front: a checkpoint is one of rank 0 at its place in the run's folder, whoever names another"],
      says=r"/home/user/thesis|CHECK_FALSE\( told")

fault("a variable of env: that is warned of as idle is set all the same",
      "lib/hftrain/arguments/parse.cpp", "if (!say_idle(name, path)) outcome_", "say_idle(name, path);\n        outcome_",
      tests=["arguments: a variable of env: that stands for a flag is warned of, and what counts from there is not"],
      says=r"exported_environment")

fault("agent 0 hears nobody while the file system of the output folder hangs",
      "apps/hftrain/commands/train_run.cpp", 'job.run_in_background([&] { plan = resolve_plan(inputs, estimate, ""); });',
      'plan = resolve_plan(inputs, estimate, "");',
      tests=["runs: machines: a file system that hangs before training loses no machine"],
      says=r"both machines end with 0")

fault("the port at which an agent answers is open at every address",
      "launcher/control/reach.cpp", "listeners_(listen_at_one_port(addresses,", "listeners_(listen_at_one_port(std::vector<std::string>(addresses.size() * 0),",
      tests=["launcher: an answer port is open at its addresses and at no other one",
             "runs: machines: without a secret no port is open everywhere"],
      says=r"reasons\.size\(\) == 1|listens at its own address alone")

fault("ranks that are told several addresses meet at any",
      "launcher/supervision/rendezvous.cpp", ": listen_by_one_socket(only, 0,", ": listen_by_one_socket({}, 0,",
      tests=["launcher: ranks that are told several addresses meet at those and at no other one",
             "runs: machines: ranks that meet at two addresses leave a third closed"],
      says=r"127\.0\.0\.1|the store is closed at")

fault("ranks of several machines meet at every address",
      "launcher/supervision/rendezvous.cpp", "only.size() == 1 ? std::move(listen_at(only, 0,", "only.size() == 1 ? std::move(listen_at({}, 0,",
      tests=["launcher: the rendezvous of an address that all are told is bound there",
             "runs: machines: without a secret no port is open everywhere"],
      says=r'"127\.0\.0\.2"|listens at its own address alone')

fault("what all agents are told is encoded for each",
      HUB, "member.link.send_line(line);", "member.link.send_line(encoded(message));",
      tests=["launcher: what all of many agents are told is encoded and held once, not once an agent"],
      says=r"more < ")

fault("whoever knocks fast enough keeps the hub from everything else",
      HUB, "accepted < kAcceptedAtOnce; ++accepted", "accepted < 1000 * kAcceptedAtOnce; ++accepted",
      tests=["launcher: who knocks faster than anybody can answer leaves the hub time for the others"],
      says=r"at_once <= 100")

fault("a follower tells every update of every rank",
      "launcher/control/follower.cpp", "if (event.kind == plan::WorkerEvent::Kind::kStep && event.rank != 0) {", "if (event.kind == plan::WorkerEvent::Kind::kStep && event.rank < 0) {",
      tests=["launcher: a follower tells the newest update of a rank once a second, and a stack when it has changed"],
      says=r"heard\.updates <= ")

fault("a follower tells every stack every second",
      "launcher/control/follower.cpp", "if (stack != stacks_[rank]) changed", "if (stack != stacks_[rank] || stack.empty() || !stack.empty()) changed",
      tests=["launcher: a follower tells the newest update of a rank once a second, and a stack when it has changed"],
      says=r"heard\.stacks <= 2")

fault("all that a login shell writes before the front program is there is kept",
      "launcher/ssh/host_job.cpp", "machine.greeting.erase(0, machine.greeting.size() - kept);", "static_cast<void>(kept);",
      tests=["launcher: what a login shell writes before the front program is there takes no room"],
      says=r"more < int64_t", seconds=60)

fault("what the system refuses to the leader alone is told to no other node",
      "apps/hftrain/commands/train_job.cpp",
      "  } catch (...) {\n    if (membership.agents == 1) throw;\n    return abort_job(context, inputs, membership, error_of(std::current_exception()));",
      "  } catch (const Error& error) {\n    if (membership.agents == 1) throw;\n    return abort_job(context, inputs, membership, error);",
      tests=["runs: two front programs on one machine train as one"],
      says=r"FAILED  a surprise on node 0 is told to both", seconds=300)

fault("only whole words of a variable's name make it a secret",
      "lib/hftrain/base/secrets.cpp", "return word.ends_with(ending);", "return word == ending;",
      tests=["base: names of secrets are known by their words"],
      says=r"PGPASSWORD")

fault("of several URLs only the first loses its password",
      "lib/hftrain/base/secrets.cpp", "scheme = value.find(kScheme, scheme)) {", "scheme = std::string::npos) {",
      tests=["base: a secret is shown as its name, and a password in a URL not at all"],
      says=r"b:two@y")

fault("a follower reads what its ranks say however much of it the leader has not taken",
      "launcher/control/follower.cpp", "group_.hold_output(follower_.link_.waiting() >= kMostWaiting);", "group_.hold_output(follower_.link_.waiting() > SIZE_MAX - kMostWaiting);",
      tests=["launcher: a follower whose leader takes nothing leaves its ranks' output in their pipes"],
      says=r"stderr\.log.*32'000'000")

fault("what ranks say waits for its log however much it becomes",
      "launcher/supervision/worker_group.cpp", "holds_output_ = router.is_behind();", "holds_output_ = router.is_behind() && workers_.empty();",
      tests=["launcher: a log folder that takes nothing leaves the ranks' output in their pipes"],
      says=r"lines == taken", seconds=120)

fault("a thread that verifies and has no memory ends the process",
      "lib/hftrain/storage/manifest.cpp", "helpers.emplace_back(help);", "helpers.emplace_back(work);",
      tests=["storage: a thread of a verification that has no memory ends it with that reason"],
      says=r"SIGABRT")

fault("a checkpoint that is not there is refused without a reason",
      "apps/hftrain/commands/checkpoint.cpp", '        .why("a checkpoint is verified by the manifest in its folder")\n', "",
      tests=["runs: every error of the sources has its parts"],
      says=r"checkpoint\.cpp:\d+ has where, why and hint")

fault("every batch ahead has a thread of its own",
      "lib/hftrain/trainer/loader_threads.cpp", "if (threads_.size() < std::min(wanted, most_))", "if (threads_.size() < std::max(wanted, most_))",
      tests=["trainer: as many threads as there are workers make all batches that are ahead, in their order"],
      says=r"threads\(\)\.size\(\) == 2|most\(\) == 2")

fault("a search for a micro-batch deletes what an earlier one has given up",
      "launcher/front/batch_search.cpp", "for (int n = 2; path_exists(folder); ++n) folder = wanted + '.' + std::to_string(n);", "std::filesystem::remove_all(folder);",
      tests=["front: checkpoints that an earlier search gave up stay where they are"],
      says=r"places == ")

fault("a node that has another checkpoint than node 0 writes its plan into that run",
      "launcher/front/follow_stage.cpp", "if (checkpoint != CheckpointMark{message.step, message.files}) {", "if (checkpoint.step < 0) {",
      tests=["runs: machines: all nodes go on from one checkpoint"],
      says=r"before anything of that run is replaced")

fault("a name of node 0 whose last address is the loopback one passes for one that nobody else can come to",
      "launcher/control/addresses.cpp", "return !std::all_of(addresses.begin(), addresses.end(), is_loopback);",
      "return !addresses.empty() && !is_loopback(addresses.back());",
      tests=["launcher: node 0 is open to others by any of its addresses, in whatever order its name has them"],
      says=r"any_from_outside")

fault("an event of a failure does not say after which update",
      "launcher/front/event_log.cpp", '{"what", "why", "step"}', '{"what", "why"}',
      tests=["front: a failure is told with the last update of its rank, where that had finished one"],
      says=r"parse_json\(lines")

fault("a rank that fails does not say how far it came since it last told of an update",
      "apps/hftrain-worker/run_rank.cpp", 'if (const int64_t step = status_.read().step; step >= 0) failure["step"] = step;', "static_cast<void>(status_);",
      tests=["runs: endings: limit on the size of files"],
      says=r"after which update")

fault("a number of another node that does not fit ends the job unsaved",
      "lib/hftrain/plan/worker_protocol.cpp", "if (!is_whole<int>(rank) ||", "if (!rank.is_number_integer() ||",
      tests=["plan: a number that does not fit where it is read makes a line no event",
             "fuzz: control_message answers each input with a value or an error"],
      says=r"decode_event\(line\)|out_of_range")

fault("a number of updates that does not fit ends the job unsaved",
      "lib/hftrain/plan/worker_protocol.cpp", "all(kCounts, is_whole<int64_t>)", "all(kCounts, [](const Json&) { return true; })",
      tests=["plan: a number that does not fit where it is read makes a line no event"],
      says=r"CHECK_FALSE\( with\(\"0\", member")

fault("a thread that the system does not start is a mistake of this program's",
      "lib/hftrain/base/caught_error.cpp", "if (error.code() != std::errc::resource_unavailable_try_again)", "if (error.code().value() != 0)",
      tests=["base: a thread that the system does not start is no mistake of this program's"],
      says=r"kEnvironment")

fault("the report of a rank is lost where no thread is left to write with",
      "launcher/supervision/supervisor.cpp", "  } catch (...) {\n    observer_.on_notice(hftrain::error_of(std::current_exception()).render());",
      "  } catch (const Error& error) {\n    observer_.on_notice(error.render());",
      tests=["launcher: a rank's report survives that no thread is left to write with"],
      says=r"unexpected exception")

fault("batches are not made where one thread fewer can be had than is wanted",
      "lib/hftrain/trainer/loader_threads.cpp", "    if (!threads_.empty()) return;\n", "",
      tests=["trainer: where the system starts no more threads, those that there are make the batches"],
      says=r"unexpected exception")

fault("a save in the background that gets no thread is waited for ever after",
      "lib/hftrain/checkpoint/background_task.cpp", "  } catch (...) {\n    running_ = false;\n    throw;", "  } catch (...) {\n    throw;",
      tests=["checkpoint: a task that gets no thread is not taken for one that runs"],
      says=r"task\.running")

fault("what goes wrong on a follower is told only if it is an error of this program's own",
      "launcher/front/follow_stage.cpp", "} catch (...) {\n      const Error error = error_of(std::current_exception());\n", "} catch (const Error& error) {\n",
      tests=["front: what goes wrong on a follower is told to the leader, an error of this program's own or not"],
      says=r"SIGABRT")

fault("a link in a circle in a tokenizer's folder is a surprise",
      "lib/hftrain/chat/template_folder.cpp", 'throw system_error(failed.value(), "cannot open", path.string(), ExitCode::kData);', 'throw fs::filesystem_error("status", path, failed);',
      tests=["chat: a link in a circle in a tokenizer's folder is a file that cannot be read, whatever its name"],
      says=r"filesystem error|unexpected exception")

fault("what goes wrong before a command is looked for ends the program by an abort",
      "apps/hftrain/main.cpp", "  } catch (...) {\n    const Error error = hftrain::error_of(std::current_exception());\n", "  } catch (const Error& error) {\n",
      tests=["runs: endings: system that shows no processes"],
      says=r"terminate called|FAILED")

fault("a replaced checkpoint that could not be moved to the trash comes back when its successor is gone",
      "lib/hftrain/storage/checkpoint_folder.cpp", "folder.name.role == kReplaced && path_exists(checkpoint_path(output_dir, step))", "folder.name.role == kReplaced && step < 0",
      tests=["storage: a replaced checkpoint that cannot be moved to the trash is told of, and goes there later"],
      says=r"warnings\.size\(\) == 1")

fault("a replaced checkpoint whose successor never came is removed",
      "lib/hftrain/storage/checkpoint_folder.cpp", "folder.name.role == kReplaced && path_exists(checkpoint_path(output_dir, step))", "folder.name.role == kReplaced",
      tests=["storage: a replaced checkpoint whose successor is not there is no trash"],
      says=r"names_in")

fault("a link in a circle among images is not named",
      "lib/hftrain/data/image_folder.cpp", '"cannot list the images of " + folder, place.string(),', '"cannot list the images of " + folder, folder,',
      tests=["data: a link in a circle among images is named, and ends as a file that cannot be read"],
      says=r"where == link")

fault("a file of the token cache that is gone is called damaged",
      "lib/hftrain/data/token_cache.cpp", "if (!path_exists(prefix + suffix)) return prefix + suffix;", "if (!path_exists(prefix + suffix)) return std::nullopt;",
      tests=["data: A damaged entry is not found, and is made again with a notice"],
      says=r"has\s+lost")

fault("what a leader finds when it looks at itself is told to no other node",
      "apps/hftrain/commands/train.cpp", "    return refuse_job(context, parsed, error_of(std::current_exception()));\n  }\n  return lead_or_show(",
      "    throw;\n  }\n  return lead_or_show(",
      tests=["runs: two front programs on one machine train as one"],
      says=r"FAILED  a surprise on node 0 when it looks at itself", seconds=300)

fault("what a process alone has wrong is said by nobody",
      "launcher/front/job_answer.cpp", "if (!launcher::first_process_says_otherwise(context.environment, kPatience)) return error.code();",
      "if (kPatience.count() == 1) return error.code();",
      tests=["runs: a plan says what the run would do"],
      says=r"what only rank 1 was given is said by it")

fault("what a process alone has wrong is said by nobody where the first one ends soon",
      "launcher/environments/first_process.cpp", "return was_told_otherwise(*first) || stays(*first, patience);",
      "return (was_told_otherwise(*first) && patience.count() == 1) || stays(*first, patience);",
      tests=["runs: a plan says what the run would do"],
      says=r"what only rank 1 was given is said by it also where rank 0 ends soon")

fault("the first process of any job on the machine is asked",
      "launcher/environments/first_process.cpp", "process->local_rank == 0 && job_words(there) == job", "process->local_rank == 0",
      tests=["runs: a plan says what the run would do"],
      says=r"the first process of another job is not asked")

fault("prepare says its notes from every process",
      "apps/hftrain/commands/prepare.cpp", "console(speaks ? context.err : nowhere,", "console(context.err,",
      tests=["runs: a plan says what the run would do"],
      says=r"rank 1 says nothing of what it notes and does")

# With the moment between two looks made longer, in which a busy machine may take the processor away.
fault("a rank that has passed the last barrier and ended is missed by one that has not looked yet", "lib/hftrain/comm/shm_group.cpp",
      "  const std::optional<std::string> trouble = trouble_of_peers();\n  if (reached(rank, event)) return;", "  ::usleep(300'000);\n  const std::optional<std::string> trouble = trouble_of_peers();\n  if (false) return;",
      tests=["runs: a resumed run gives the same bits"], says=r"is gone|no word from|ended with 9")

fault("a stranger whose greeting is too long is not logged",
      HUB, "if (!finishing_ && newcomer.socket.open() && newcomer.socket.overlong())", "if (finishing_ && newcomer.socket.open() && newcomer.socket.overlong())",
      tests=["launcher: more than 4 KiB without a greeting, or anything else, is logged, ends a connection and nothing more"],
      says=r"contains\(job\[0\]\.out")

fault("RANK:N of --redirects is the number in the job", "launcher/front/rank_words.cpp", "  filter.count_on_machines(std::move(local_ranks));\n", "  local_ranks.clear();\n",
      tests=["front: words of all ranks are shown, or of those whose stderr a flag leaves on the terminal"], says=r"two_machines")

fault("runs that begin at once write into the same logs", "launcher/front/run_record.cpp", "!fs::create_directory(folder.ranks() + '/' + std::to_string(attempt), error) && !error", "attempt < 0",
      tests=["front: runs that begin at once with the same folder of logs get attempts of their own"], says=r"reserved.size|next_attempt")

fault("the summary of the run before lies beside the plan of the next", "launcher/front/run_record.cpp", "  fs::rename(folder.summary(), folder.summary_before(), none);\n", "  none = std::make_error_code(folder.path.empty() ? std::errc::io_error : std::errc());\n",
      tests=["front: a summary of the run before is set aside when a plan is written"], says=r"summary\(\)")

fault("a pod gives node 0 nine seconds", "launcher/environments/find_membership.cpp", "    membership_.by_scheduler = origins_.of(\"master_addr\").starts_with(arguments::kEnvironmentOrigin);\n", "",
      tests=["launcher: nnodes, node_rank and master_addr make one agent per machine"], says=r"by_scheduler")

fault("who evaluates is promised a save when it is stopped", "launcher/supervision/supervisor.cpp", "                        (spec_.trains\n                             ? \": stopping after", "                        (spec_.trains || !spec_.trains\n                             ? \": stopping after",
      tests=["launcher: who stops a job that does not train is promised no save"], says=r"stopping after this batch")

fault("goodput counts the last attempt alone", "launcher/front/run_record.cpp", 'phases.value("train", 0.0) + facts.inherited_seconds', 'phases.value("train", 0.0)',
      tests=["front: the summary joins the phases of the front program and of rank 0, and lists every rank"], says=r"0.75")

fault("an empty path is a path", "apps/hftrain/command_options.cpp", "std::ranges::count(words, std::string()) == 0) return;", "!words.empty()) return;",
      tests=["apps: an empty path is refused by the small commands"], says=r"FAILED")

fault("updates whose losses nobody knows count in the final loss", "lib/hftrain/trainer/finishing.cpp", "state_.global_step - state_.unknown_losses", "state_.global_step",
      tests=["runs: going on: the final loss is of the updates whose losses are known"], says=r"the mean of those 8")

fault("a follower of a scheduler gives up as one that was typed", "launcher/control/joining.cpp", "spec_.membership.by_scheduler && spec_.exchange == nullptr", "spec_.membership.by_scheduler && spec_.exchange != nullptr",
      tests=["runs: flags of runs: a follower waits as long as who started it may need"], says=r"minutes that are left")
