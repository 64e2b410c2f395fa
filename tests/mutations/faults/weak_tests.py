# Faults that earlier tests could not see: what reaches the disk, narrow numbers, offload, resuming, whole runs by single flags.

fault("files of a checkpoint are not given to fsync",
      "lib/hftrain/storage/file_system.cpp", 'if (::fsync(file_.get()) != 0) throw', "if (!file_) throw",
      tests=["storage: every file and folder of a checkpoint is given to fsync before the rename, the parent after",
             "storage: an fsync that fails fails the save and leaves the earlier checkpoint"],
      says=r"synced >= 0|manifest|nothing failed")

fault("a file is renamed before it is given to fsync",
      "lib/hftrain/base/growing_file.cpp", 'if (::fsync(file_.get()) != 0) throw system_error(errno, "cannot sync", temporary_', 'if (!file_) throw system_error(errno, "cannot sync", temporary_',
      tests=["storage: a file that is written atomically is given to fsync before its name, and the folder after"],
      says=r'name == "fsync"|renamed > 0')

fault("folders are not given to fsync",
      "lib/hftrain/base/file.cpp", "if (::fsync(file.get()) != 0 && errno != EINVAL) {", "if (!file) {",
      tests=["storage: every file and folder of a checkpoint is given to fsync before the rename, the parent after",
             "storage: a file that is written atomically is given to fsync before its name, and the folder after"],
      says=r"synced >= 0|names|> renamed")

fault("master weights of sharded parameters are as narrow as what is computed with",
      "lib/hftrain/parallel/sharded_parameter.cpp", "const at::TensorOptions on_master = on_device.device(placement.master_device);",
      "const at::TensorOptions on_master = on_device.device(placement.master_device).dtype(placement.compute_dtype);",
      tests=["parallel: bfloat16 computes on narrow copies of float32 masters"],
      says=r"bfloat16|rank")

fault("gradients of accumulated micro-batches add up in bfloat16",
      "lib/hftrain/parallel/sharded_parameter.cpp", "if (!gradient.defined() || gradient.scalar_type() == at::kFloat) return;", "if (gradient.defined() || !gradient.defined()) return;",
      tests=["parallel: gradients of bfloat16 add up in float32, however small a micro-batch's are"],
      says=r"norm_after")

fault("offloaded master weights are the leaf's memory",
      "lib/hftrain/parallel/sharded_parameter.cpp", "aliased_ = placement.resident && placement.compute_dtype == master && !placement.apart();",
      "aliased_ = placement.resident && placement.compute_dtype == master;",
      tests=["parallel: offloaded master weights are memory of their own; without offload they are the leaf's"],
      says=r"same_memory\(apart\.local_shard")

fault("a run that goes on draws other random numbers",
      "lib/hftrain/trainer/resuming.cpp", "if (saved) {", "if (state.cpu.empty()) {",
      tests=["runs: a resumed run gives the same bits"],
      says=r"other losses were logged|differs|ended with")

fault("the data of a resumed epoch begin again",
      "lib/hftrain/trainer/training.cpp", "  loader.seek(state_.position, drawn_order());", "  loader.seek({state_.position.epoch}, drawn_order());",
      tests=["runs: a resumed run gives the same bits", "trainer: a resumed run has the updates, losses and bytes of one that never stopped"],
      says=r"other losses were logged|differs|CHECK|ended with")

fault("bytes are counted that nobody sent",
      "lib/hftrain/comm/observed_backend.h", "return passes * bytes * (getSize() - 1) / getSize();", "return passes * bytes;",
      tests=["comm: the bytes that are counted are those that the kernel sent, but for Gloo's reduce-scatter",
             "comm: the bytes a rank sends are those of ring algorithms"],
      says=r"rank|bytes")

fault("an agent that says nothing is waited for for ever",
      "launcher/control/link.cpp", "return open() && now >= socket_.last_heard() + silence_seconds(agents_);", "return open() && now >= socket_.last_heard() + 1e9 * silence_seconds(agents_);",
      tests=["launcher: a link is silent for too long only after eight seconds without a word, and beats every second"],
      says=r"left\.open\(\)")

fault("label smoothing is taken and does nothing",
      "lib/hftrain/trainer/update.cpp", ".label_smoothing = plan_.optimizer.label_smoothing,", ".label_smoothing = 0,",
      tests=["parity: label smoothing gives the Trainer's losses"],
      says=r"loss", seconds=400)

fault("evaluation gives the model's own loss where labels are smoothed",
      "lib/hftrain/trainer/evaluator.cpp", ".label_smoothing = plan_.optimizer.label_smoothing,", ".label_smoothing = 0,",
      tests=["parity: label smoothing gives the Trainer's losses",
             "parity: labels of summaries and of classes are smoothed in training and in evaluation as by the Trainer"],
      says=r"eval_loss \S+ .*apart [0-9.]+e-0[0-3]", seconds=400)

fault("the accuracy of a language model compares each place with its own token",
      "lib/hftrain/tasks/token_scorer.cpp", "predicts == Predicts::kNextToken ? 1 : 0", "predicts == Predicts::kNextToken ? 0 : 0",
      tests=["parity: losses of 50 steps are the Trainer's to 1e-6 when it sums its norm in float64"],
      says=r"[0-9.]+e-0[0-3] of an accuracy", seconds=400)

fault("NEFTune is taken and does nothing",
      "lib/hftrain/trainer/components.cpp", "options.neftune_alpha = plan.model.neftune_noise_alpha;", "",
      tests=["parity: NEFTune draws the Trainer's noise", "values: every option acts"],
      says=r"loss|neftune", seconds=400)

fault("save_only_model saves the optimizer too",
      "lib/hftrain/checkpoint/checkpointer.cpp", "    if (!run_.plan.saving.only_model) {", "    if (contents.step > 0) {",
      tests=["runs: a run keeps: only the model is saved when so asked"],
      says=r"a model without training state")

fault("report_to brings no tracker",
      "lib/hftrain/trainer/run_log.cpp", 'if (name == "jsonl") continue;', 'if (!name.empty()) continue;',
      tests=["runs: a run keeps: trackers get every record"],
      says=r"one event file|log\.csv")

fault("replicas of shard groups are not averaged",
      "lib/hftrain/parallel/shard_unit.cpp", "if (groups_.replicate->world_size() > 1 && reduction_->parts.defined()) {", "if (groups_.replicate->world_size() > 1000 && reduction_->parts.defined()) {",
      tests=["parallel: shard groups with replicas train as one group", "runs: two groups of two ranks give the losses of DDP"],
      says=r"hybrid|rank")

fault("gradient_checkpointing is taken and does nothing",
      "lib/hftrain/trainer/components.cpp", "if (!plan.model.gradient_checkpointing) return nullptr;", "if (!plan.model.gradient_checkpointing || plan.model.gradient_checkpointing) return nullptr;",
      tests=["runs: a run keeps: recomputed activations give the same losses in less memory"],
      says=r"less memory")

fault("gradients are read on the host before they have come there",
      "lib/hftrain/parallel/shard_unit.cpp", "  parameters_.front()->placement().copies->wait(*arriving_);\n", "",
      tests=["parallel: gradients that come to the host late are waited for before they are read"],
      says=r"late copies|nan|rank")

fault("the deadline of an operation on a device begins with the one before it",
      "lib/hftrain/comm/work_watch.cpp", "    front_since_.reset();\n    if (status_ != nullptr) status_->end_wait();", "    if (status_ != nullptr) status_->end_wait();",
      tests=["comm: a deadline begins when the operation before is over"],
      says=r"broadcast|timeout")

fault("what a test forks may outlive it",
      "tests/support/fork.h", "  end_with_parent();\n  if", "  if",
      tests=["support: what a test forks goes with it, however that ends"],
      says=r"poll\(&closed")

fault("survivors on GPUs do not look whether another rank has given up",
      "lib/hftrain/comm/failure.cpp", "return store->check({kGivenUpKey});", "return false;",
      tests=["comm: a survivor that waits for a survivor is not named with the rank that is gone"],
      says=r"no word from ranks? 1|nothing")

fault("a store that is gone is asked again and again",
      "lib/hftrain/comm/failure.cpp", "    given_up_->store_gone = true;\n", "",
      tests=["comm: a store that is gone is asked once whether another rank has given up"],
      says=r"questions == 1")

fault("a watch never asks whether another rank has given up",
      "lib/hftrain/comm/work_watch.cpp", "if (!fault) fault = ask(lock);", "",
      tests=["comm: a watch hears that another rank has given up, and asks only while an operation lasts"],
      says=r"told\.wait_for")

fault("every operation on a device asks the store",
      "lib/hftrain/comm/work_watch.cpp", "  if (watched_.size() > 1) return;\n  asked_ = Clock::now();\n", "  if (watched_.size() > 1) return;\n",
      tests=["comm: a watch hears that another rank has given up, and asks only while an operation lasts"],
      says=r"steady_clock", also=[("lib/hftrain/comm/work_watch.cpp", "    watched_.pop_front();\n    asked_ = Clock::now();\n", "    watched_.pop_front();\n")])

fault("a rank that waits in vain in another group is named as gone",
      "lib/hftrain/comm/failure.cpp", 'missing_at(given_up_->store, "failed",', 'missing_at(given_up_->store, "failed/" + name_,',
      tests=["comm: a survivor that waits for a survivor is not named with the rank that is gone"],
      says=r"all ranks are alive")

fault("a watch waits for a store that is frozen",
      "lib/hftrain/comm/failure.cpp", "    if (question_.wait_for(kWatchWaits) != std::future_status::ready) return false;\n", "",
      tests=["comm: a rank 0 that is frozen with its store holds no watch"],
      says=r"signal == 0")

fault("a thread that has answered may be the last to let go of a store",
      "lib/hftrain/comm/own_thread.h", "Call own = std::move(call);", "Call& own = call;",
      tests=["comm: what a call on a thread of its own holds is gone before its answer is there"],
      says=r"was_gone")

fault("a watch that gets no thread to ask the store on ends the process",
      "lib/hftrain/comm/failure.cpp", "    return false;  // no thread can be had now: it is asked again\n", "    throw;\n",
      tests=["comm: a watch that gets no thread to ask the store on goes on without"],
      says=r"signal == 0|SIGABRT")

fault("a rank 0 that freezes at the rendezvous is waited for without limit",
      "lib/hftrain/comm/store.cpp", "  return call_within((rank == 0 ? 2 : 1) * patience + kStoreAnswers,", "  return call_within(std::chrono::hours(1),",
      tests=["comm: a rank 0 that freezes while ranks wait for another at the rendezvous is named"],
      says=r"signal == 0")

fault("of offloaded gradients those of the fuller memory alone are counted",
      "lib/hftrain/parallel/sharded_parameter.cpp", "return placement_.apart() ? GradientBytes", "return rows_ < 0 ? GradientBytes",
      tests=["parallel: each stage holds what its formula says"],
      says=r"offloaded->state_bytes")

fault("a rank that divides its model first makes all of it",
      "lib/hftrain/models/model.cpp", "options.allocated ? at::empty(spec.shape, typed)", "true ? at::empty(spec.shape, typed)",
      tests=["models: a rank of a divided model of a billion numbers never holds more than its shards"],
      says=r"peak")

fault("what the host decides it reads back from the device",
      "lib/hftrain/trainer/loaded_batch.cpp", "  if (!device.is_cpu()) moved.host = std::make_shared<const models::Batch>(batch);\n", "",
      tests=["trainer: padding, labels that do not count and documents are looked at before they go to the device"],
      says=r"meta|Meta")

fault("variants of strategies are written down and nobody runs them",
      "tests/parallel/sharded_strategy_test.cpp", "  run_stages(\", one output for many, checkpointing\", 2);\n", "",
      tests=["parallel: every body of ranks that is registered is run by a test"],
      says=r"one output for many")

fault("--do_predict writes the results of another split",
      "lib/hftrain/trainer/finishing.cpp", 'write_results("predict", with_suffix', 'write_results("test", with_suffix',
      tests=["runs: a run keeps: results and readme say what was logged"],
      says=r"predict_results\.json")

fault("all_results.json forgets the splits before the last",
      "lib/hftrain/reporting/metrics_files.cpp", "path_exists(all_path) ? read_metrics(all_path) : Json::object();",
      "path_exists(all_path) && split.empty() ? read_metrics(all_path) : Json::object();",
      tests=["runs: a run keeps: results and readme say what was logged"],
      says=r"all of them merged")

fault("a loss that is no number is as near as the others",
      "tests/apps/runs.py", 'return max(differences) if all(each == each for each in differences) else float("inf")', "return max(differences)",
      tests=["can fail: a difference that is no number"],
      says=r"what is no number is seen")

fault("damaged JSON is refused without a way out",
      "lib/hftrain/base/json.cpp", "        .where(place(text, error.byte, origin))\n        .why(words_of(error))\n        .hint(kCorrectIt);",
      "        .where(place(text, error.byte, origin))\n        .why(words_of(error));",
      tests=["base: what the parser says of a broken text does not repeat all of it"],
      says=r"hint\.empty")

fault("an error whose code is an expression has no way out",
      "launcher/control/leader_greeting.cpp", '\n      .hint("see to what it says, then start all nodes again");', ";",
      tests=["runs: every error of the sources has its parts", "launcher: an invalid agent that knows the secret is refused with a proof, whenever it comes"],
      says=r"leader_greeting\.cpp:\d+ has where, why and hint|try: see to what it says")

fault("a block of one token is trained on where the tokenizer takes no more",
      "lib/hftrain/plan/resolve_data.cpp", "if (block < 2)", "if (block < 1)",
      tests=["plan: a block beyond the position embeddings is refused, beyond a rotary model's positions it is not"],
      says=r"block_size must be 2 or more")

fault("a manifest whose step is a fraction is read",
      "lib/hftrain/storage/manifest.cpp", 'manifest.step = value.at("step").get<int64_t>();', 'manifest.step = static_cast<int64_t>(value.at("step").get<double>());',
      tests=["storage: a manifest whose numbers are no whole ones is refused"],
      says=r"not a valid checkpoint manifest|No exception was thrown")

fault("changed data of a stream are gone on from in silence",
      "lib/hftrain/plan/identity.cpp", '{"data", plan.data.stream  ? plan.data.stream->identity', '{"data", plan.data.stream  ? std::string("streamed")',
      tests=["runs: streaming: data that change between attempts are noticed"],
      says=r"ended with|the changed data are told")

fault("shared memory that cannot be made is told without a place",
      "lib/hftrain/comm/shm_segment.cpp", 'refused("shared memory cannot be made", where, errno)', 'refused("shared memory cannot be made", "", errno)',
      tests=["runs: every error of the sources has its parts", "comm: shared memory that the system refuses is told with its rank and its size"],
      says=r"no part of an error is handed over empty|its segment of")

fault("an answer to a plan leaves out what the checkpoint's files say",
      "launcher/control/message.cpp", "NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlanTaken, path, step, files)", "NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlanTaken, path, step)",
      tests=["launcher: a plan and the answer to it come with each of their members, under their names"],
      says=r"the hash of its files")

fault("an attempt that cannot be started leaves the run without a summary",
      "launcher/front/launch_stage.cpp", "    const Error error = error_of(std::current_exception());\n    console.clear();",
      "    const Error error = error_of(std::current_exception());\n    if (std::string(error.what()).starts_with(\"cannot start\")) throw;",
      tests=["runs: endings: attempt that cannot be started", "runs: endings: attempt of two nodes that cannot be started"],
      says=r"the run has a summary")

fault("a run that the system does not let start again has no summary",
      "launcher/front/launch_stage.cpp", "  } catch (...) {\n    // Of several nodes one", "  } catch (const Error&) {\n    // Of several nodes one",
      tests=["runs: endings: checkpoint that cannot be moved aside", "runs: endings: checkpoint of two nodes that cannot be moved aside"],
      says=r"the run has a summary")

fault("a starter takes output that nobody reads",
      "launcher/ssh/host_job.cpp", "machine.process->hold_output(behind);", "machine.process->hold_output(false);",
      tests=["launcher: a starter whose terminal takes no text leaves output in the pipes and still passes signals on"],
      says=r"size\(\) < 2'500'000")

fault("a trial of a search is read wherever it stands",
      "lib/hftrain/search/study.cpp", "if (trial.number != number || !trial.parameters.is_object())", "if (trial.number + number < 0 || !trial.parameters.is_object())",
      tests=["search: another search in the folder is refused, a damaged one named"],
      says=r"a trial is out of its place")

fault("hftrain explain leaves a flag's note out",
      "lib/hftrain/arguments/help.cpp", 'std::string(flag.help) + (flag.note.empty() ? "" : " " + std::string(flag.note))', "std::string(flag.help)",
      tests=["arguments: explain says no sentence twice about any flag"],
      says=r"times\(one_line, said\) == 1")

fault("a rank with a plug-in ends without the destructors of its static objects",
      "apps/hftrain-worker/main.cpp", "  if (!hftrain::trainer::has_loaded_plugin()) ::_exit(code);\n", "  ::_exit(code);\n",
      tests=["runs: plug-ins built against the installed tree do what their page says"],
      says=r"FAILED: its destructors run")
