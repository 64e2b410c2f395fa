# Folders of other trainers: what a run takes of them, and what it refuses.

fault("parameters of which another's optimizer has no state are not told of",
      "lib/hftrain/checkpoint/trainer_checkpoint.cpp", "if (!saved.has_state(name)) names.push_back(name);", "if (!saved.has_state(name) && name.empty()) names.push_back(name);",
      tests=["checkpoint: parameters of which others have no state are named, and theirs stays as it began"],
      says=r'== std::vector<std::string>\{"b"\}')

fault("an optimizer of another's that is empty is gone on from",
      "lib/hftrain/checkpoint/trainer_checkpoint.cpp", "  if (!saved.all().empty()) return;\n", "  if (!saved.path().empty()) return;\n",
      tests=["checkpoint: an optimizer without any state is refused where this run's keeps some"],
      says=r"the optimizer's state is empty")

fault("the last of two tensors with one name counts in a file of FSDP's",
      "lib/hftrain/interchange/fsdp_folder.cpp", 'if (!seen.insert(name.text("the name of a parameter")).second)',
      'if (name.text("the name of a parameter").empty())',
      tests=["interchange: files of FULL_STATE_DICT that hold something else are refused by what it is"],
      says=r"'w' occurs twice")

fault("weights that DeepSpeed rounded are taken before those that it goes on from",
      "lib/hftrain/interchange/deepspeed_folder.cpp", "  if (!parameter.weights) return false;\n", "  if (!parameter.weights || saved.whole()) return false;\n",
      tests=["interchange: what was not updated comes from the model's own file, and a tied one's second name is left out"],
      says=r"numbers_of\(weights, \"weight\"\) != zeros")

fault("latest_universal leads out of its checkpoint",
      "lib/hftrain/interchange/deepspeed_state.cpp", " && name.find('/') == std::string::npos;", ";",
      tests=["interchange: latest_universal names a folder beside it and nothing else"],
      says=r"it names no folder beside it")

fault("a file of a rank of DeepSpeed's may be missing",
      "lib/hftrain/interchange/zero_parts.cpp", "if (saved_ranks != ranks && saved_ranks != 0)", "if (saved_ranks < ranks && saved_ranks != 0)",
      tests=["interchange: parts of DeepSpeed's ranks that are not all there are refused, with what converts them"],
      says=r"the run had 2 ranks")

fault("the last parameters of a group have the numbers of its first",
      "lib/hftrain/interchange/zero_parts.cpp", "add_range(file, name, share, static_cast<uint64_t>(from), ", "add_range(file, name, share, static_cast<uint64_t>(from) * 0, ",
      tests=["interchange: several parameters of a group are told apart, a tied one's second name and a frozen one among them"],
      says=r"several2 inner.weight")

fault("a tied parameter's second name is taken from the model's own file, rounded",
      "lib/hftrain/interchange/deepspeed_folder.cpp", "if (found.tensors.count(name) == 0 && !second_names.has(name))", "if (found.tensors.count(name) == 0)",
      tests=["interchange: several parameters of a group are told apart, a tied one's second name and a frozen one among them"],
      says=r'weights.find\("head.weight"\) == nullptr')

fault("a run with round_robin_gradients has its parameters mixed up",
      "lib/hftrain/interchange/zero_parts.cpp", "  return in_order_;\n}", "  return false;\n}",
      tests=["interchange: several parameters of a group are told apart, a tied one's second name and a frozen one among them"],
      says=r"round_robin")

fault("numbers of round_robin_gradients are taken for those of a smaller model",
      "lib/hftrain/interchange/zero_parts.cpp", "(due + step - 1) / step * step) refuse", "due * step + count) refuse",
      tests=["interchange: with round_robin_gradients parameters lie in the order of their shapes, but for BF16_Optimizer's"],
      says=r"and its parameters have fewer")

fault("a universal folder of a run with round_robin_gradients has its parameters mixed up",
      "lib/hftrain/interchange/deepspeed_folder.cpp", "  if (saved->in_order()) return saved;\n", "  if (saved->in_order() || saved->whole()) return saved;\n",
      tests=["interchange: a real run with round_robin_gradients is refused in the universal form, which has it mixed up"],
      says=r"numbers of others")

fault("a universal folder without a parameter's weights is gone on from in rounded ones",
      "lib/hftrain/interchange/universal_folder.cpp", "    if (!parameter.weights) throw missing_file", "    if (!parameter.weights && !shapes_.whole()) throw missing_file",
      tests=["interchange: a universal folder that lacks a file or a parameter is not gone on from in its rounded weights"],
      says=r"the file is missing")

fault("files of two saves are taken for one",
      "lib/hftrain/interchange/zero_parts.cpp", "  if (*updates != first)\n", "  if (*updates < first)\n",
      tests=["interchange: ranks' files of two saves are not taken for one"],
      says=r"it is of 999 updates")

fault("shares are larger than the parameters, and what is left over is left out",
      "lib/hftrain/interchange/zero_parts.cpp", "    if (entry.elements() == due) continue;\n", "    if (entry.elements() >= due) continue;\n",
      tests=["interchange: shares that are larger than the parameters are refused, and those cut among some ranks"],
      says=r"group 0 has 8 numbers of 'fp32'")

fault("a new run takes what DeepSpeed left beside a model's own file",
      "lib/hftrain/interchange/trainer_folder.cpp", "return storage::has_model_weights(folder) ? storage::StoredWeights(folder) : open_saved_weights(folder);",
      "return open_saved_weights(folder);",
      tests=["interchange: a new run begins with a model's own file, whatever of DeepSpeed lies beside it"],
      says=r"open_weights|cannot list")

fault("updates that DeepSpeed skipped count for its schedule",
      "lib/hftrain/interchange/deepspeed_folder.cpp", "return updates - skipped;", "return updates;",
      tests=["interchange: a schedule that DeepSpeed kept has done the updates that it did not skip, and one that is lost is missed"],
      says=r"== 5")

fault("a lost scheduler.pt is taken for a schedule that DeepSpeed kept",
      "lib/hftrain/interchange/deepspeed_folder.cpp", "if (!kept || kept->kind() == TorchValue::Kind::kNone)", "if (!kept)",
      tests=["interchange: a schedule that DeepSpeed kept has done the updates that it did not skip, and one that is lost is missed"],
      says=r"scheduler\.pt is missing|nothing was refused|refus")

fault("a name in latest may be anything that a terminal or a shell would obey",
      "lib/hftrain/interchange/deepspeed_state.cpp", "shell_quoted(name) == name &&", "!name.empty() &&",
      tests=["interchange: latest_universal names a folder beside it and nothing else"],
      says=r"it names no folder beside it")

fault("frozen parameters of a folder without a model's own file are left out in silence",
      "lib/hftrain/interchange/deepspeed_folder.cpp", "    add_frozen(saved, checksums, found);\n", "    if (saved->path().empty()) add_frozen(saved, checksums, found);\n",
      tests=["interchange: frozen parameters of a folder without a model's own file come from DeepSpeed's files of the model"],
      says=r'weights.find\("fixed.weight"\) != nullptr')

fault("a share of a frozen parameter that is missing is told by nobody",
      "lib/hftrain/interchange/frozen_parameters.cpp", "elements() != each)", "elements() > all)",
      tests=["interchange: frozen parameters of a folder without a model's own file come from DeepSpeed's files of the model"],
      says=r"is not that of one of 1 ranks")

fault("of stage 0 a converter is named that makes nothing of it",
      "lib/hftrain/interchange/zero_parts.cpp", "if (names.empty() && is_of_stage_0(folder))", "if (names.size() > 1 && is_of_stage_0(folder))",
      tests=["interchange: of stage 0 and expert parallelism it is said what a run starts from, and no converter is named"],
      says=r"stage 0")

fault("a step that is not DeepSpeed's goes on without a word",
      "lib/hftrain/interchange/trainer_folder.cpp", "  if (!updates || *updates == found.step) return;\n", "  if (!updates || *updates <= found.step) return;\n",
      tests=["interchange: a step of trainer_state.json that is not DeepSpeed's number of updates is told, and counts"],
      says=r"found.warnings.size\(\) == 1")

fault("the optimizer's state is dropped in silence where this run keeps none",
      "lib/hftrain/checkpoint/trainer_checkpoint.cpp", "  check_states(kept, saved);\n", "  if (!kept.empty()) check_states(kept, saved);\n",
      tests=["checkpoint: state of another model or another optimizer is refused by its name"],
      says=r"keeps nothing")

fault("what no optimizer takes of its own checkpoint is lost without a word",
      "lib/hftrain/checkpoint/optimizer_state.cpp", "    if (std::any_of(kept.begin(), kept.end(), is_of)) continue;\n",
      "    if (std::any_of(kept.begin(), kept.end(), is_of) || !kept.empty()) continue;\n",
      tests=["checkpoint: optimizer state that does not fit is refused by name", "checkpoint: a rank that holds no part of what is saved leaves it to the others"],
      says=r"accepted|load_optimizer")

fault("a rank of an optimizer without state reads none of what was kept",
      "lib/hftrain/checkpoint/optimizer_state.cpp", "  check_kept(saved, kept, checkpoint);\n", "  if (!kept.empty()) check_kept(saved, kept, checkpoint);\n",
      tests=["checkpoint: optimizer state that does not fit is refused by name"],
      says=r"accepted")

fault("an adapter that SGD without momentum trained is none",
      "lib/hftrain/interchange/deepspeed_folder.cpp", "|| saved.shapes().trains(parameter.name));", "|| saved.path().empty());",
      tests=["interchange: what was trained without a state of it is known by the file of the model"],
      says=r"open_deepspeed_trained|unexpected exception")

fault("a rank that holds no part of the state knows of no optimizer's",
      "lib/hftrain/checkpoint/run_loader.cpp", "const std::vector<std::string> kept = kept_by_all();\n  const std::optional<Error> failure = attempt([&] {\n    resume", "const std::vector<std::string> kept = kept_states(run_.strategy);\n  const std::optional<Error> failure = attempt([&] {\n    resume",
      tests=["checkpoint: every rank names what the optimizer's state lacks, also one that holds no part of it"],
      says=r"without_state|of another optimizer")

fault("an adapter goes on from its rounded weights beside those of DeepSpeed",
      "lib/hftrain/checkpoint/trainer_checkpoint.cpp", "  if (interchange::has_deepspeed(folder))\n", "  if (folder.empty())\n",
      tests=["checkpoint: an adapter goes on from the float32 that DeepSpeed left, and else from its own file"],
      says=r"== storage::DType::kF32")

fault("a run of many ranks may have no more than one rank",
      "lib/hftrain/interchange/zero_parts.cpp", "  tensors_.allow_parts(names.size());\n", "  tensors_.allow_parts(1);\n",
      tests=["interchange: what a run has is bounded for each of its ranks"],
      says=r"refused\(kOfARank\).empty\(\)")

fault("the best model of another trainer is never loaded",
      "lib/hftrain/trainer/finishing.cpp", "keeps_folder() && interchange::is_of_trainer(state_.best_checkpoint)",
      "keeps_folder() && interchange::is_of_trainer(plan_.output_dir)",
      tests=["runs: a run keeps: the best model of another trainer is loaded"],
      says=r"Loading best model from")

fault("a damaged best model of another trainer ends the run",
      "lib/hftrain/trainer/finishing.cpp", "  if (!failure) return \"\";\n", "  if (!failure || failure->code() == ExitCode::kData) return \"\";\n",
      tests=["runs: a run keeps: the best model of another trainer is loaded"],
      says=r"ended with 4")

fault("the best model is what DeepSpeed rounded",
      "lib/hftrain/checkpoint/run_loader.cpp", "  load_weights_of(interchange::open_saved_weights, folder, {});\n", "  load_model(folder);\n",
      tests=["checkpoint: the best model is the float32 that DeepSpeed left, of an adapter too, and a new run's its own file"],
      says=r"load_saved")

fault("the best adapter is what DeepSpeed rounded",
      "lib/hftrain/checkpoint/run_loader.cpp", "return load_adapter_by(open_saved_adapter, folder);", "return load_adapter_of(folder);",
      tests=["checkpoint: the best model is the float32 that DeepSpeed left, of an adapter too, and a new run's its own file"],
      says=r"load_saved")

fault("an optimizer that keeps nothing is refused for it",
      "lib/hftrain/interchange/deepspeed_state.cpp", "  if (keeps_nothing_) return nullptr;\n", "",
      tests=["interchange: an optimizer that keeps nothing has state of no group, and state of other groups alone is refused"],
      says=r"folder.refusal\(\)")

fault("state that is missing of some groups is taken for that of an optimizer that keeps nothing",
      "lib/hftrain/interchange/deepspeed_state.cpp", "  if (keeps_nothing_) return nullptr;\n", "  return nullptr;\n",
      tests=["interchange: an optimizer that keeps nothing has state of no group, and state of other groups alone is refused"],
      says=r"folder.refusal\(\)")

fault("a folder beside experts is gone on from without them",
      "lib/hftrain/interchange/deepspeed_state.cpp", "  refuse_experts(checkpoint, folder_);\n", "  if (folder_.empty()) refuse_experts(checkpoint, folder_);\n",
      tests=["interchange: files of experts are never taken for those of the model, and neither form is read beside them"],
      says=r"folder.refusal\(\)")

fault("an expert's file is taken for that of the model",
      "lib/hftrain/interchange/deepspeed_state.cpp", "if (is_of_rank(name, kEndOfModelPart)) return", "if (name.ends_with(kEndOfModelPart)) return",
      tests=["interchange: what DeepSpeed leaves of the model is one file of all ranks, or the first one's"],
      says=r"deepspeed_model_file")

fault("of a mixed up universal folder a script is named that needs the ranks' files, which are gone",
      "lib/hftrain/interchange/deepspeed_folder.cpp", "  if (has_first_part(checkpoint)) error.hint(kTakeParts);\n", '  error.hint(has_first_part(checkpoint) ? kTakeParts : "zero_to_fp32.py");\n',
      tests=["interchange: a real run with round_robin_gradients is refused in the universal form, which has it mixed up"],
      says=r"starts a new run from its model")

fault("the files of ranks are named where latest alone is left of them",
      "lib/hftrain/interchange/zero_parts.cpp", "    first_part(checkpoint);\n    return true;\n", "    return true;\n",
      tests=["interchange: a real run with round_robin_gradients is refused in the universal form, which has it mixed up",
             "interchange: a universal folder of an optimizer that keeps nothing is empty, and the ranks' files are named"],
      says=r"starts a new run from its model|copy the checkpoint again")

fault("a rank without any state has its parameters begin theirs anew",
      "lib/hftrain/interchange/zero_parts.cpp", "  check_states();\n}\n", "}\n",
      tests=["interchange: a rank without the state that another has is refused, where its parameters are not begun anew"],
      says=r"none of 'b'")

fault("momentum of SGD begins anew in a run that goes on",
      "lib/hftrain/checkpoint/trainer_checkpoint.cpp", "      part.tensor.fill_(*updates_);\n", "      part.tensor.fill_(*updates_ * 0);\n",
      tests=["checkpoint: momentum of torch's SGD, which counts nothing, is gone on from with the updates of its run"],
      says=r"equals_wholes")

fault("of an empty universal folder the converter is named, which makes the same once more",
      "lib/hftrain/interchange/universal_folder.cpp", "  Error error = without_converter(\n      checkpoint, zero,\n", "  Error error = not_of_deepspeed(\n      zero,\n",
      tests=["interchange: a universal folder of an optimizer that keeps nothing is empty, and the ranks' files are named"],
      says=r"convert")

fault("an attempt of a restart leaves what a killed one began to save",
      "launcher/front/launch_stage.cpp", "notices = discard_unfinished_saves(plan.output_dir);", "static_cast<void>(discard_unfinished_saves);",
      tests=["runs: what comes in between of a save in the background"],
      says=r"left \[")

fault("an adapter in the parts of FSDP is none",
      "lib/hftrain/interchange/fsdp_folder.cpp", 'return entry.name.ends_with(".lora_A.weight");', 'return entry.name.empty();',
      tests=["parity: runs go on from checkpoints that others saved in parts with the losses that they would have had"],
      says=r"holds no adapter")

fault("a node with a folder of its own keeps what a killed rank began to save",
      "launcher/front/follow_stage.cpp", "lines = storage::clean_leftovers(files, plan_.output_dir);", "lines.clear();",
      tests=["runs: machines: a killed rank leaves no part of a save on any machine"],
      says=r"gone from both", seconds=200)

fault("an adapter in parts is halved where the run has fewer modules",
      "lib/hftrain/checkpoint/run_loader.cpp", "  if (unused.empty()) return;\n  throw Error(ExitCode::kData, \"the checkpoint's adapter", "  if (unused.size() < 99999) return;\n  throw Error(ExitCode::kData, \"the checkpoint's adapter",
      tests=["parity: runs go on from checkpoints that others saved in parts with the losses that they would have had"],
      says=r"fewer: exit code 0")

fault("an optimizer's state of the Trainer's is gone on from without its schedule",
      "lib/hftrain/interchange/trainer_folder.cpp", "const bool has_both = path_exists(folder + '/' + kScheduleFile) && has_optimizer_alone(folder);",
      "const bool has_both = has_optimizer_alone(folder);",
      tests=["interchange: an optimizer's state without a schedule's, or the other way round, is not used, which is told"],
      says=r"cannot open|whole")

fault("programs of one machine with folders of their own are one node",
      "lib/hftrain/plan/resolve_ranks.cpp", "const std::pair node(agent.machine, agent.output_folder);", "const std::pair node(agent.machine, agent.machine);",
      tests=["plan: agents of one machine that save into folders of their own are nodes, on the same cores"],
      says=r"ranks\.nodes == 2")

fault("nodes of one machine think that its memory is theirs alone",
      "lib/hftrain/plan/resolve_ranks.cpp", "plan.ranks_on_machine = std::max(plan.ranks_on_machine, rank.ranks_on_machine);",
      "plan.ranks_on_machine = std::max(plan.ranks_on_machine, rank.local_world_size);",
      tests=["plan: nodes of one machine share its memory, its cores and its loopback address"],
      says=r"ranks_on_machine == 2")

fault("two programs of one machine bind their ranks to the same cores",
      "launcher/front/cpu_binding_stage.cpp", "rank_of(workers.front(), ranks).ranks_on_machine", "rank_of(workers.front(), ranks).local_world_size",
      tests=["runs: machines: two programs of one machine are nodes by their folders"],
      says=r"FAILED|takes", seconds=200)

fault("nodes of one machine leave shared memory for the network",
      "lib/hftrain/plan/resolve_ranks.cpp", "if (plan.machines == 1 && see", "if (plan.nodes == 1 && see",
      tests=["plan: nodes of one machine share its memory, its cores and its loopback address"],
      says=r'plan\.ranks\.backend == "shm"')

fault("a starter that is stopped leaves machines on their way alone",
      "launcher/ssh/host_job.cpp", "if (last_signal_ == 0 || !machines_[0]", "if (last_signal_ != 99 || !machines_[0]",
      tests=["runs: machines: a starter that stops early stops machines on their way"],
      says=r"FAILED|does not look", seconds=200)

fault("a dry run under mpirun takes all processes to be bound to the cores of its own",
      "lib/hftrain/plan/job_agents.cpp", "facts.cores = cores[static_cast<size_t>(i % of_machine)];", "facts.cores = cores[static_cast<size_t>(i % of_machine) * 0];",
      tests=["plan: a dry run under mpirun takes processes that are bound to have cores of their own"],
      says=r"share")

fault("a deadline beyond all years overflows",
      "lib/hftrain/plan/resolve_ranks.cpp", "std::min(input_.parsed.arguments.parallel.ddp_timeout, kHundredYears)",
      "std::max(input_.parsed.arguments.parallel.ddp_timeout, int64_t{kHundredYears > 0})",
      tests=["plan: a deadline beyond all years is one of a hundred"],
      says=r"timeout_seconds == ")

fault("a machine that knows neither the first nor its number is told one of the two",
      "launcher/environments/find_membership.cpp", '.hint(number ? addresses : addresses + "; " + numbers);', ".hint(addresses);",
      tests=["launcher: L6 and L9: several machines need a master and a number"],
      says=r"1 to 1 on the others")

fault("brackets of an IPv6 address are taken for a part of it",
      "launcher/environments/find_membership.cpp", "return bracketed ? host.substr(1, host.size() - 2) : host;", "return bracketed ? host.substr(0, host.size()) : host;",
      tests=["launcher: an address of IPv6 may stand in brackets, as torchrun has it"],
      says=r"fd00::6")

fault("agents of one machine leave the port of the network's test open",
      "launcher/front/job.cpp", "try_peers(peers);\n  answer_port_.reset();", "try_peers(peers);\n  if (peers.size() > 1) answer_port_.reset();",
      tests=["runs: machines: agents of one machine leave no port of the test open"],
      says=r"and the store of the ranks are open", seconds=200)

fault("a blank in front of a signal's name makes another of it",
      "launcher/supervision/stop_signals.cpp", "return trim(padded) == name;", "return padded == name;",
      tests=["runs: the signals that stop a run can be named, and a quiet run says nothing"],
      says=r"143", seconds=200)

fault("WORLD_SIZE without a rank is passed over in silence",
      "launcher/environments/rank_variables.cpp", "if (seen.empty() && !(plain && names_others())) return", "if (seen.empty()) return",
      tests=["launcher: variables of one process among several without its rank are named in a warning"],
      says=r"WORLD_SIZE=2 of the environment")

PARTS = ["tokenizer: Parts that a class of transformers builds anew are said, by what the file has in their place"]

fault("a file's pattern is told as the class's own",
      "lib/hftrain/tokenizer/class_pipelines.cpp", "if (!lacks && !has_more) return;", "if (!lacks && (!has_more || !found.empty())) return;",
      tests=PARTS, says=r"no normalizer")

fault("tokens that a class puts around texts are not compared",
      "lib/hftrain/tokenizer/class_pipelines.cpp", "if (around.before.size() != before || around.behind.size() != behind) {", "if (false) {",
      tests=PARTS, says=r"puts tokens around")

fault("a class that opens the folder of another model is asked by the name in the file alone",
      "lib/hftrain/tokenizer/unheeded_settings.cpp", "class_that_opens(settings.tokenizer_class, settings.model_type);", "settings.tokenizer_class;",
      tests=PARTS, says=r"said_of")

fault("Llama's class beside a model of another kind is taken for none",
      "lib/hftrain/tokenizer/unheeded_settings.cpp", "return class_that_opens(\"\", settings.model_type) != class_that_opens(\"\", \"\") &&", "return settings.model_type.empty() &&",
      tests=["tokenizer: A class that is not that of the model beside it has nothing that is not heeded"], says=r"gemma|said_of")

fault("a dropout that a run goes on with is said by no adapter",
      "lib/hftrain/plan/resolve_adapter.cpp", "if (spec->dropout != input.model.adapter->dropout)", "if (spec->dropout > 1)",
      tests=["runs: adapters: an adapter goes on from its folder and merges"], says=r"lora_dropout 0.5")

fault("a file with as many rows as the model grows to is taken for one of those before",
      "lib/hftrain/plan/stored_shapes.cpp", "      if (found.shape != wanted)\n", "      if (found.shape != wanted && found.shape != spec.shape)\n",
      tests=["plan: a stored weight of another shape than the run's is refused by the plan"], says=r"wrong shape|no error|said")

fault("rows of another task are cut into blocks",
      "lib/hftrain/data/data_files.cpp", "columns.size() == 1 && columns.front() == kInputIds", "columns.size() > 0 && columns.front() == kInputIds",
      tests=["data: A prepared folder is data of its own task alone"], says=r"another task")

fault("a stage of a file is taken where DeepSpeed is declined",
      "lib/hftrain/arguments/import/deepspeed.cpp", "  if (declines_deepspeed(outcome)) return false;\n", "  if (declines_deepspeed(outcome)) return is_given(outcome, \"zero_stage\");\n",
      tests=["arguments: a command line that says no to a kind of sharding wins over the file of a launch"], says=r"use_deepspeed|zero_stage")

fault("the record of a run without DeepSpeed asks for it",
      "lib/hftrain/arguments/import/deepspeed.cpp", "    outcome.unread[flag] = nullptr;\n", "    if (flag != \"zero_stage\") outcome.unread[flag] = nullptr;\n",
      tests=["arguments: a command line that says no to a kind of sharding wins over the file of a launch"], says=r"record")

fault("a launch by FSDP shards what --fsdp false does not",
      "lib/hftrain/arguments/import/fsdp.cpp", "announces_fsdp(environment)) && !declines_fsdp(outcome);", "announces_fsdp(environment)) && (!declines_fsdp(outcome) || outcome.notes.empty());",
      tests=["arguments: a command line that says no to a kind of sharding wins over the file of a launch"], says=r"fsdp")

fault("no to half precision is no word against a file",
      "lib/hftrain/arguments/import/launch_kind.cpp", "if (!origin.starts_with(\"--\")) return;", "if (!origin.starts_with(\"---\")) return;",
      tests=["arguments: a command line that says no to a kind of sharding wins over the file of a launch"], says=r"bf16 differ")

fault("a driver that is too old is found out by the ranks",
      "lib/hftrain/machine/detect_topology.cpp", "if (major_of(topology.cuda_version) >= major_of(torch_cuda)) return \"\";", "if (major_of(topology.cuda_version) + 9 >= major_of(torch_cuda)) return \"\";",
      tests=["machine: a driver that is too old for LibTorch leaves no GPU, and says which would do"], says=r"gpu_problem")

fault("bytes of a damaged file go to the terminal",
      "lib/hftrain/base/json_words.cpp", "return printable(words.size()", "return std::string(words.size()",
      tests=["base: what the parser says of a broken text does not repeat all of it"], says=r"npos")

fault("cuDNN's attention is taken without order",
      "lib/hftrain/nn/device_attention.cpp", "|| masked || !causal)", "|| masked || (masked && !causal))",
      tests=["nn: cuDNN's attention is not taken on a device beside dropout or a mask, or without order, where it is wrong"], says=r"needs_other_kernels")

fault("a device reads texts ahead, each token by itself",
      "lib/hftrain/models/text_model.cpp", "                     !model_.options().device.is_cpu();\n", "                     model_.options().device.is_cuda();\n",
      tests=["models: drafts are read by decoders that remember"], says=r"ahead")

fault("a gate's activation is in no plan of a GPU",
      "lib/hftrain/plan/activation_memory.cpp", "if (!cpu && !(kernels.own && kernels.swiglu))", "if (!cpu && !kernels.swiglu)",
      tests=["plan: a gate's activation is in the plan of a GPU that keeps it, and half types' logits are in float32"], says=r"use_liger_kernel")

fault("half types' logits of a GPU are planned without their gradient",
      "lib/hftrain/plan/head_memory.cpp", "(wide && gradient ? item : 0)", "(wide && !gradient ? item : 0)",
      tests=["plan: a vocabulary that products of a GPU are slow with counts as the next they are quick with, and its copy"],
      says=r"25152")

fault("a loss of one number in a row of one ends the run",
      "lib/hftrain/trainer/evaluator.cpp", "copy_(loss.mean.reshape({}));", "copy_(loss.mean);",
      tests=["trainer: a loss of somebody else's step may be one number of any shape, and a tensor that the next step writes into"], says=r"broadcast|exception")
