# Faults of what counts in a loss, of the ends of runs, and of keys and numbers that others wrote.

fault("micro-batches of answers count by their rows",
      "lib/hftrain/models/objective.cpp", "return give(sum / (2.0 * static_cast<double>(request.micro_batches)), logits, request);",
      "return give(sum / 2.0, logits, request);",
      tests=["models: Micro-batches of answers count alike, whatever their rows; without a place of an answer as 0"],
      says=r"mean_of_first")

fault("a micro-batch of answers does not know how many there are",
      "lib/hftrain/trainer/update.cpp", "const Divisors divisors{divisor, static_cast<int64_t>(micro_batches.size())};", "const Divisors divisors{divisor, 1};",
      tests=["trainer: micro-batches whose labels do not weigh them add up to the mean of their means"],
      says=r"loss\(\{answers")

fault("samples without a loss push those that fill the last round into the mean",
      "lib/hftrain/trainer/evaluation_loss.cpp", "    left_ -= entries;\n    if (!loss) continue;", "    if (!loss) continue;\n    left_ -= entries;",
      tests=["trainer: samples without a loss do not count, and those behind them stay what they are",
             "trainer: batches without labels have no part in the loss, whichever ranks have them"],
      says=r"mean\(\)|of_seven|rank")

fault("a rank without labels has a loss of 0",
      "lib/hftrain/trainer/evaluator.cpp", "all[rank][round][0] * share : sum / weights;", "all[rank][round][0] * share : 0;",
      tests=["trainer: batches without labels have no part in the loss, whichever ranks have them"],
      says=r"of_seven|rank")

fault("a run whose epochs end early leaves its last update as it is",
      "lib/hftrain/trainer/training.cpp", "  if (has_work) end_before_last_step();", "  if (has_work && !finished()) end_before_last_step();",
      tests=["trainer: where epochs end before the updates that were counted on, the last update evaluates and saves"],
      says=r"evaluated|saved")

fault("an infinite loss is none on its way to the terminal",
      "lib/hftrain/plan/worker_protocol.cpp", "return dump_json(line, -1) + '\\n';", "return line.dump() + '\\n';",
      tests=["plan: numbers that are not finite survive the pipe as what they are"],
      says=r"infinity|is_number")

fault("a trial does not know that it is one",
      "lib/hftrain/trainer/state_file.cpp", "    file.is_hyper_param_search = true;", "    file.is_hyper_param_search = false;",
      tests=["trainer: trainer_state.json of a search's trial says which one it is, and of any other run nothing"],
      says=r"is_hyper_param_search")

fault("lost random numbers are passed over in silence",
      "lib/hftrain/interchange/trainer_folder.cpp", "if (ranks == 0) return kRandom;", 'if (ranks == 0) return "";',
      tests=["interchange: random numbers that are gone are told by the name of their file"],
      says=r"warnings\(\)")

fault("keys of a section without effect are not looked at",
      "lib/hftrain/arguments/import/section_check.cpp", "if (!key.keys.empty() && !is_off) check_mapping", "if (!key.keys.empty() && acts && !is_off) check_mapping",
      tests=["arguments: keys of sections without effect are those that DeepSpeed knows, and so are words"],
      says=r"did you mean verbose|unknown key|prof_all|not a mapping")

fault("a later peft's switch is taken for nothing",
      "lib/hftrain/architectures/adapter_config.cpp", "return !is_off(value) && (value.is_boolean() || value.is_structured());", "return value.is_binary();",
      tests=["architectures: An adapter that is not one of ours is refused with the reason that belongs to it"],
      says=r"use_nora")

fault("an adapter's base model is always the newest one",
      "lib/hftrain/plan/adapter_folder.cpp", "  if (own.is_string()) return own.get<std::string>();", "  if (own.is_string()) return asked;",
      tests=["plan: an adapter's base model is of the revision that it was made beside, unless another one is said"],
      says=r"c2|v3")
