# Faults that a user met on the first day: building, files and flags, what a run says and keeps, memory of long runs.

fault("the list of programs is kept by hand and lacks the plug-ins",
      "scripts/cmake/HftrainModule.cmake", "  if(ARG_SHARED)\n    add_dependencies(programs ${target})\n", "  if(ARG_SHARED)\n",
      tests=["runs: what scripts/hftrain builds trains by itself and under mpirun"],
      says=r"MPI plug-in|libhftrain_mpi|FAILED: two ranks of mpirun")

fault("scripts/hftrain builds programs and no plug-in",
      "scripts/environment.sh", "programs_target=programs ", "programs_target=hftrain ",
      tests=["runs: what scripts/hftrain builds trains by itself and under mpirun"],
      says=r"cannot start .*hftrain-worker")

fault("the quickstart fixes two ranks, which one GPU refuses",
      "configs/quickstart.yaml", "cpu_ranks: 2 ", "nproc_per_node: 2 ",
      tests=["plan: configs/quickstart.yaml has two CPU ranks without a GPU, and a rank on every GPU that is there"],
      says=r"world_size|more ranks than GPUs")

fault("CPU ranks count where there are GPUs, and nowhere else",
      "lib/hftrain/plan/resolve_ranks.cpp", "return gpus ? visible : static_cast<int>(input_.parsed.arguments.launch.cpu_ranks.value_or(1));",
      "return gpus ? visible : 1;",
      tests=["plan: cpu_ranks counts where no GPU is used and nproc_per_node is not given"],
      says=r'"--cpu_ranks", "3"\}, machine\(0\)\) == 3')

fault("words that people use lead nowhere",
      "lib/hftrain/base/suggest.cpp", "take_synonyms([&](std::string_view word) { return squeezed(word) == letters; });", "",
      tests=["arguments: the words that people use lead to the flag"],
      says=r"REQUIRE_FALSE\( names\.empty|names\.front\(\) == flag")

fault("parts of names lead nowhere",
      "lib/hftrain/base/suggest.cpp", "if (found_.empty()) take_longer_names();", "",
      tests=["arguments: the words that people use lead to the flag"],
      says=r"REQUIRE_FALSE\( names\.empty")

fault("a slip of the hand leads to a flag that is refused",
      "lib/hftrain/arguments/suggestions.cpp", "    if (flag.support.status == Support::kRefused) continue;\n", "",
      tests=["arguments: nobody is led to a flag that is refused, whatever was written of its name"],
      says=r"support\.status != Support::kRefused")

fault("a word whose letters are near to a flag's is taken for it",
      "lib/hftrain/base/suggest.cpp", "return is_near && are_slips_of_words(written_.words, name.words) ? distance : kNo;",
      "return is_near && (true || are_slips_of_words(written_.words, name.words)) ? distance : kNo;",
      tests=["arguments: a word that is near to a flag by its letters alone leads nowhere",
             "base: another letter in a short word is another word, and a lost or doubled one is a slip"],
      says=r"empty\(\)")

fault("a model without a position limit has no block size",
      "lib/hftrain/plan/resolve_data.cpp", "if (positions <= 0)  // no limit\n    return std::min(kLargestDefaultBlock, model.tokenizer_max_length.value_or(kLargestDefaultBlock));",
      "",
      tests=["plan: a model without a position limit takes the tokenizer's length, or 1024 tokens"],
      says=r"block_size == |block_size must be 2")

fault("the generation config of the folder is replaced by one of the model's config",
      "lib/hftrain/plan/special_tokens.cpp", "if (model.generation_config.empty()) {\n    Json made", "if (true) {\n    Json made",
      tests=["plan: a generation config stays as the model's folder has it, byte for byte",
             "runs: a run keeps: a generation config stays as it was"],
      says=r"generation_config == loaded|byte for byte")

fault("the generation config of the folder is written anew",
      "lib/hftrain/plan/special_tokens.cpp", "return changed ? dump_json(generation) + '\\n' : model.generation_config;",
      "return changed || !changed ? dump_json(generation) + '\\n' : model.generation_config;",
      tests=["plan: a generation config stays as the model's folder has it, byte for byte",
             "runs: a run keeps: a generation config stays as it was"],
      says=r"generation_config == loaded|byte for byte")

fault("the best checkpoint is looked for where it was written and nowhere else",
      "lib/hftrain/trainer/best_model.cpp", "{storage::checkpoint_path(output_dir, state.best_checkpoint_step), state.best_checkpoint,\n          storage::checkpoint_path(beside, state.best_checkpoint_step)}",
      "{state.best_checkpoint, output_dir.substr(0, 0), beside.substr(0, 0)}",
      tests=["trainer: the best checkpoint is found again where the output folder went, and forgotten where it is gone",
             "runs: a run keeps: the best model is found after a move and forgotten when gone"],
      says=r"find_best_checkpoint\(|'Loading best model from' is not there")

fault("a best checkpoint that is gone ends the run without a final model",
      "lib/hftrain/trainer/best_model.cpp", "    if (path_exists(places[i])) return i;\n  }\n  return std::nullopt;", "    if (path_exists(places[i])) return i;\n  }\n  return places.empty() ? std::nullopt : std::optional<size_t>(1);",
      tests=["trainer: the best checkpoint is found again where the output folder went, and forgotten where it is gone",
             "runs: a run keeps: the best model is found after a move and forgotten when gone"],
      says=r"find_best_checkpoint\(|is forgotten|the best checkpoint so far")

fault("the best checkpoint is looked for in the folder of each node, wherever the first has found it",
      "lib/hftrain/trainer/finishing.cpp", "state_.best_checkpoint = places.at(found[0].get<size_t>());", "state_.best_checkpoint = places.front();",
      tests=["runs: machines: the best model outside the output folders is loaded on all nodes"],
      says=r"is the best one")

fault("a smoke run with restarts waits for the end by a lost rank",
      "launcher/front/smoke.cpp", "const ExitCode wanted = setting_.restarts > 0 ? ExitCode::kDone : ExitCode::kWorkerLost;",
      "const ExitCode wanted = ExitCode::kWorkerLost;",
      tests=["runs: smoke: restarts and silence"],
      says=r"it ended with code 0, expected 9")

fault("a quiet smoke run looks for the killed rank on the terminal",
      "launcher/front/smoke.cpp", 'return first.value("what", "").find("SIGKILL") == std::string::npos', 'return run.err().find("starting again") == std::string::npos',
      tests=["runs: smoke: restarts and silence"],
      says=r"the report does not say what happened")

fault("a smoke run takes all data of the user",
      "launcher/front/smoke_data.cpp", "if (is_small(files, most_bytes)) return patterns;", "if (is_small(files, most_bytes) || most_bytes > 0) return patterns;",
      tests=["front: small data are taken as they are, and of large data the first rows"],
      says=r"cut ==")

fault("a smoke run does not cut the user's data",
      "launcher/front/smoke.cpp", 'add("--train_file", cut(data.train_file, data::Split::kTrain, kMostTrainingBytes));', 'add("--train_file", data.train_file);',
      tests=["runs: smoke: the users model data and folders"],
      says=r"ended with 4", seconds=300)

fault("a smoke run leaves runs where the user's trackers keep theirs",
      "launcher/front/smoke.cpp", "environment.set(std::string(place.variable), folder_ + '/' + std::string(place.tracker));", "static_cast<void>(place);",
      tests=["runs: smoke: the users model data and folders"],
      says=r"it wrote where real runs are", seconds=300)

fault("a tracker whose place a file exports is written to by a smoke run",
      "launcher/front/smoke_flags.cpp", "return place.tracker == tracker && parsed_", "return place.tracker.empty() && parsed_",
      tests=["front: a tracker whose place a file exports is left out, with a word; the others get a place of the check"],
      says=r"placed\.yaml")

fault("a smoke run puts its own number of ranks in the place of cpu_ranks, without a word",
      "launcher/front/smoke_flags.cpp", "if (asked.empty() && arguments_.launch.cpu_ranks)", "if (asked.empty() && arguments_.launch.cpu_ranks == 0)",
      tests=["front: cpu_ranks count in a smoke run as nproc_per_node does, and what is cut of them is said"],
      says=r'"--cpu_ranks", "6"|six\.yaml')

fault("what the file system throws in a smoke check is not told as that check's",
      "launcher/front/smoke.cpp", "    } catch (...) {  // the file system's among them\n      const Error error = error_of(std::current_exception());\n", "    } catch (const Error& error) {\n",
      tests=["runs: smoke: a planted defect is found"],
      says=r"planted: the resumed run equals the straight one", seconds=300)

fault("a smoke run takes a run from scratch for a resumed one",
      "launcher/front/smoke.cpp", 'return last.at("steps") == left ? ""', 'return last.at("steps") >= left ? ""',
      tests=["runs: smoke: a planted defect is found"],
      says=r"planted: starting again resumes|FAILED  the resumed run equals the straight one")

fault("--log_level changes nothing",
      "lib/hftrain/base/log_level.cpp", 'return log_level_named(asked == "passive" ? environment.get_or("TRANSFORMERS_VERBOSITY", "") : asked,\n                         otherwise);',
      'return log_level_named(environment.get_or("TRANSFORMERS_VERBOSITY", asked.substr(0, 0)), otherwise);',
      tests=["runs: a run says: log levels hide and show"],
      says=r"FAILED: '.*' is (not )?there")

fault("TRANSFORMERS_VERBOSITY changes nothing",
      "lib/hftrain/base/log_level.cpp", 'asked == "passive" ? environment.get_or("TRANSFORMERS_VERBOSITY", "") : asked', 'asked == environment.get_or("no such name", "") ? "" : asked',
      tests=["runs: a run says: log levels hide and show"],
      says=r"FAILED: ")

fault("--log_level_replica changes nothing",
      "launcher/front/rank_words.cpp", "log_level_named(plan.logging.level_of(*rank), LogLevel::kInfo);",
      "log_level_named(plan.logging.level, LogLevel::kInfo);",
      tests=["runs: a run says: log levels hide and show"],
      says=r"FAILED: ")

fault("the live line lacks tokens a second",
      "lib/hftrain/trainer/logging.cpp", 'if (const std::optional<double> rate = throughput_.tokens_per_second()) facts["tokens_per_second"] = *rate;', "",
      tests=["runs: a run says: the live line has speed and memory"],
      says=r"the live line has tokens/s")

fault("the live line lacks memory",
      "lib/hftrain/reporting/console_text.cpp", "if (state.memory_bytes) facts.push_back(format_bytes(*state.memory_bytes));", "",
      tests=["reporting: a step tells the live line the tokens a second and the memory",
             "runs: a run says: the live line has speed and memory"],
      says=r"MiB|GiB|the live line has memory")

fault("train_tokens_per_second never appears at the end",
      "lib/hftrain/trainer/finishing.cpp", 'if (plan_.logging.count_input_tokens != "no") metrics.update(tokens_per_second(seconds));', "",
      tests=["runs: a run keeps: tokens and memory are counted when asked"],
      says=r"train_tokens_per_second")

fault("train_mem_* never appear",
      "lib/hftrain/trainer/finishing.cpp", 'memory_.end("train", metrics);', "",
      tests=["runs: a run keeps: tokens and memory are counted when asked"],
      says=r"memory of init and train")

fault("a run that goes on has no header",
      "lib/hftrain/trainer/training.cpp", "if (!plan_.saving.resume_from.empty())\n    events_.message(LogLevel::kInfo, header_of_resume", "if (plan_.saving.resume_from.size() == 1)\n    events_.message(LogLevel::kInfo, header_of_resume",
      tests=["runs: a run says: headers stand where the trainer has them"],
      says=r"Resuming training from checkpoint")

fault("an evaluation has no header",
      "lib/hftrain/trainer/evaluator.cpp", "  if (communicator_.rank() == 0) {\n    events_.message(LogLevel::kInfo,\n                    reporting::evaluation_header(",
      "  if (communicator_.rank() < 0) {\n    events_.message(LogLevel::kInfo,\n                    reporting::evaluation_header(",
      tests=["runs: a run says: headers stand where the trainer has them"],
      says=r"Running Evaluation")

fault("small commands take texts in brackets apart",
      "apps/hftrain/command_options.cpp", "values_.push_back(word);\n    return '#' + std::to_string(values_.size() - 1);",
      "values_.push_back(word);\n    return word;",
      tests=["apps: words of small commands arrive as they were typed"],
      says=r"CLS|a,b|exit_code == 0|added_tokens")

fault("a default that says more than silence is printed as if it were given",
      "lib/hftrain/arguments/print_config.cpp", 'if ((flag.when_given && !given) || follows) lines += "# ";', "",
      tests=["plan: a default that says more than silence is printed as a comment until someone gives it",
             "plan: what print_config prints of every file in configs/ is read back as the same plan"],
      says=r"hostfile|second\.")

fault("what a rule has filled in stays so when somebody says it",
      "lib/hftrain/arguments/parse.cpp", "  filled_in_.erase(flag);\n", "",
      tests=["arguments: what a rule has filled in is known as such, not by the words of its origin"],
      says=r"filled_in_by|is_given")

fault("what was given at its default is left out of the short form",
      "lib/hftrain/arguments/print_config.cpp", "flag.when_given || entry.value != flag.default_value() ||",
      "entry.value != flag.default_value() ||",
      tests=["plan: what print_config prints of command lines is read back as the same plan"],
      says=r"second\.")

fault("keys of a mapping vanish from what is printed",
      "lib/hftrain/arguments/print_config.cpp", "if (given == outcome.mappings.end() || !given->second.is_object() || !value.is_object()) return value;",
      "if (given == outcome.mappings.end() || !given->second.is_object() || value.is_object()) return value;",
      tests=["plan: keys of a mapping do not vanish from what print_config prints"],
      says=r"non_blocking|adjust_scheduler|use_reentrant")

fault("a block of no tokens is taken",
      "lib/hftrain/arguments/flags/data_flags.cpp", ".range = at_least(2),\n       .common = true},\n      {.name = \"keep_linebreaks\"",
      ".range = at_least(0),\n       .common = true},\n      {.name = \"keep_linebreaks\"",
      tests=["arguments: a block has two tokens or more"],
      says=r"is not a whole number >= 2")

fault("an empty CUDA_VISIBLE_DEVICES counts as one GPU for gpu_ids",
      "lib/hftrain/arguments/import/visible_gpus.cpp", "return mask && (trim(*mask).empty() || trim(*mask).front() == '-');", "return mask && mask->size() > 99;",
      tests=["arguments: gpu_ids chooses nothing from a mask that hides every GPU, nor for ranks on the CPU"],
      says=r"exported_environment\.empty|there is no GPU")

fault("gpu_ids makes a mask for ranks on the CPU",
      "lib/hftrain/arguments/import/visible_gpus.cpp", "if (outcome.arguments.device.use_cpu) {", "if (outcome.arguments.device.use_cpu && outcome.notes.size() > 99) {",
      tests=["arguments: gpu_ids chooses nothing from a mask that hides every GPU, nor for ranks on the CPU"],
      says=r'"--gpu_ids", "0,1", "--use_cpu"')

fault("distributed_type MULTI_GPU of a file asks for no GPU",
      "lib/hftrain/arguments/import/accelerate.cpp", 'if (kind_ == "MULTI_GPU") file_.add("multi_gpu", "distributed_type", "true", where);', "",
      tests=["arguments: distributed_type MULTI_GPU asks for GPUs as --multi_gpu does, unless the run is on the CPU"],
      says=r"asks\(file\.outcome\(\)\)")

fault("a DeepSpeed file that is not there is told without the line that names it",
      "lib/hftrain/arguments/section.cpp", "  absent.where = outcome.origins.describe(flag);\n", "",
      tests=["arguments: a DeepSpeed file that is not there is told with the line of the Accelerate file that names it"],
      says=r"where: deepspeed|where: --deepspeed")

fault("--group_by_length orders nothing",
      "lib/hftrain/arguments/flags/data_flags.cpp", '.replaced_by = {.flag = "train_sampling_strategy", .value = "group_by_length"}', '.replaced_by = {.flag = "train_sampling_strategy", .value = "sequential"}',
      tests=["arguments: an old switch sets the word that stands for it now"],
      says=r'train_sampling_strategy == "group_by_length"')

fault("an added token may have any number for its id",
      "lib/hftrain/tokenizer/added_tokens.cpp", "number < 0 || number > std::numeric_limits<uint32_t>::max())", "number < std::numeric_limits<int64_t>::min() / 2)",
      tests=["tokenizer: an added token has a token id, as the package demands"],
      says=r"is not a token id")

fault("explain says a sentence twice",
      "lib/hftrain/arguments/flags/logging_flags.cpp", '.help = "False adds memory numbers to the metrics.",\n', '.help = "False adds memory numbers to the metrics.",\n       .note = "False adds memory numbers to the metrics.",\n',
      tests=["arguments: explain says no sentence twice about any flag"],
      says=r"one_line\.find\(said, first \+ 1\)")

fault("the hint of a wait that is over always says five minutes",
      "launcher/control/meeting.cpp", 'waits longer than " + format_duration(seconds);', 'waits longer than " + format_duration(seconds > 0 ? 300 : 0);',
      tests=["launcher: a node that does not come is named while it is waited for, and when the wait is over"],
      says=r"waits longer than 0:00:04")

fault("OneCycle leaves the momentum alone",
      "lib/hftrain/optim/deepspeed_schedules.cpp", "if (!cycles) return {};", "if (cycles || !cycles) return {};",
      tests=["optim: OneCycle moves the betas as deepspeed does, and no other schedule does", "optim: A resumed OneCycle goes on with its momentum"],
      says=r"has_value\(\) == moves|betas\(\)|SIG")

fault("large blocks come from the heap, which small objects that live on split",
      "lib/hftrain/runtime/tensor_memory.cpp", "const bool large = bytes >= kSmallestKept;",
      "static const int keeps = ::mallopt(M_MMAP_THRESHOLD, 1 << 30) + ::mallopt(M_TRIM_THRESHOLD, 1 << 30);\n  const bool large = keeps < 0;",
      tests=["runtime: small objects that live on do not make the process grow by large blocks",
             "runtime: a large block that was freed serves the next of its class, and only that"],
      says=r"growth < |memory\.kept\(\) >= 1 << 20")

fault("freed blocks are kept without a bound",
      "lib/hftrain/runtime/tensor_memory.cpp", "give_back_down_to(most_in_use_ + kAlwaysKept);", "give_back_down_to(SIZE_MAX);",
      tests=["runtime: what is kept is bounded by what was in use at one time"],
      says=r"memory\.kept\(\) <=")

fault("the history of the log is kept as it was written",
      "lib/hftrain/reporting/log_history.cpp", "if (open_.size() < kHistoryBlock) return;", "if (open_.size() < kHistoryBlock || !open_.empty()) return;",
      tests=["reporting: a logged record takes less memory than its text"],
      says=r"taken < history")

fault("a header includes all of LibTorch, which every source behind it reads",
      "lib/hftrain/cuda/nccl_backend.h", "#pragma once\n", "#pragma once\n\n#include <torch/torch.h>\n",
      tests=["architecture: no header includes torch/torch.h or torch/all.h"],
      says=r"nccl_backend\.h includes torch/torch\.h")

fault("the page of the architecture forgets a module",
      "docs/architecture.md", "| optim | optimizers, schedules, clipping, gradient scaler | base |\n", "",
      tests=["architecture: the page names every module, on its side of the line, with what the design lets it include"],
      says=r"told\.contains\(module\)")

fault("the page of the architecture lets a module include what the design does not",
      "docs/architecture.md", "its trials | base, arguments |", "its trials | base, arguments, storage |",
      tests=["architecture: the page names every module, on its side of the line, with what the design lets it include"],
      says=r"seen_from\(told, module\)")

fault("the page of the architecture names a file that is not there",
      "docs/architecture.md", "(`launcher/control/message.h`)", "(`launcher/control/messages.h`)",
      tests=["runs: documents: every file of the sources that is named is there"],
      says=r"names a file that is there")

fault("a family of a plug-in, which keeps nothing of a text, is given its newest token alone",
      "lib/hftrain/models/own_family.cpp", "bool remembers() const noexcept override { return false; }", "bool remembers() const noexcept override { return true; }",
      tests=["models: texts of a family that remembers nothing are read whole for each token"],
      says=r"scores\[")

fault("a text that is read whole is scored behind its padding",
      "lib/hftrain/models/objective.cpp", "const at::Tensor index = places.view({-1, 1, 1})", "const at::Tensor index = (places * 0 + (head.hidden.size(1) - 1)).view({-1, 1, 1})",
      tests=["models: texts of a family that remembers nothing are read whole for each token"],
      says=r"scores\[")

fault("hftrain generate takes a plug-in that does nothing for the model",
      "apps/hftrain/commands/generate_model.cpp", "if (model.plugin) require_family_of(*model.plugin, *model.architecture);", "if (model.plugin && flags.model.empty()) require_family_of(*model.plugin, *model.architecture);",
      tests=["runs: plug-ins built against the installed tree do what their page says"],
      says=r"--plugin does nothing here", seconds=600)
