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
      "lib/hftrain/trainer/evaluation_loss.cpp", "    left_ -= entries;\n    if (!loss || entries == 0) continue;", "    if (!loss) continue;\n    left_ -= entries;",
      tests=["trainer: samples without a loss do not count, and those behind them stay what they are",
             "trainer: batches without labels have no part in the loss, whichever ranks have them"],
      says=r"mean\(\)|of_seven|rank")

fault("a rank without labels has no part in its round",
      "lib/hftrain/trainer/evaluator.cpp", "if (all[rank][round][2] == 0) continue;", "if (all[rank][round][1] == 0) continue;",
      tests=["trainer: batches without labels have no part in the loss, whichever ranks have them",
             "trainer: in a last round that is cut a batch without labels has a loss of 0, not that of repeated samples"],
      says=r"of_seven|eval_loss|rank")

fault("ranks weigh by labels although they do not average them",
      "lib/hftrain/trainer/evaluator.cpp", " && plan_.batch.average_tokens_across_devices", "",
      tests=["trainer: ranks that do not average labels across devices evaluate by the means of their batches"],
      says=r"loss_over|eval_loss|rank")

fault("an infinite loss is none on its way to the terminal",
      "lib/hftrain/plan/worker_protocol.cpp", "return dump_json(line, -1) + '\\n';", "return line.dump() + '\\n';",
      tests=["plan: numbers that are not finite survive the pipe as what they are"],
      says=r"infinity|is_number")

fault("a trial does not know that it is one",
      "lib/hftrain/trainer/state_file.cpp", "    file.is_hyper_param_search = true;", "    file.is_hyper_param_search = false;",
      tests=["trainer: trainer_state.json of a search's trial says which one it is, and of any other run nothing"],
      says=r"is_hyper_param_search")

fault("ranks whose random numbers nobody saved begin them anew in silence",
      "lib/hftrain/trainer/resuming.cpp", "if (last < 0 || !speaks()) return;", "if (last < communicator_.world_size() || !speaks()) return;",
      tests=["trainer: ranks whose random numbers a checkpoint does not have are told"],
      says=r"speaks")

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

fault("a folder that a CPU's run left for a Trainer begins its random numbers anew",
      "lib/hftrain/runtime/random_state.cpp", "return drawn == 0;", "return drawn == 1;",
      tests=["runtime: what a run on the CPU leaves behind has no streams of a GPU",
             "trainer: ranks whose random numbers a checkpoint does not have are told"],
      says=r"has_streams_of|no random numbers of rank 2")

LATE = ["trainer: on a device that is behind an update is told with the next one, and trains as if it had been waited for"]

fault("a device that is behind keeps its loss scale whatever overflows",
      "lib/hftrain/trainer/update.cpp", "scaler_.update(bad)", "scaler_.update(bad.logical_and(norm < 0))",
      tests=[*LATE, "trainer: a loss scale leaves the update as it is, and an overflow skips it and halves the scale"],
      says=r"scaler")

fault("an overflow at the least loss scale of a device that is behind ends nothing",
      "lib/hftrain/trainer/update.cpp", "if (facts.numel() > 1 && numbers[1] != 0) scaler_.refuse_scale();", "if (facts.numel() > 1 && numbers[1] > 1) scaler_.refuse_scale();",
      tests=["trainer: gradients that overflow at the least loss scale end the run, one update later on a device that is behind"],
      says=r"THROWS|at its minimum")

fault("the loss scale stays in the norm",
      "lib/hftrain/optim/clipping.cpp", "(squares.sqrt() * inverse).to(at::kFloat)", "(squares.sqrt() * inverse.ceil()).to(at::kFloat)",
      tests=["optim: What the loss was multiplied by is divided out of the norm and, with the clipping, out of what an update sees"], says=r"== 5")

fault("an update without clipping sees gradients of the scaled loss",
      "lib/hftrain/optim/clipping.cpp", "max_norm > 0 ? factor * shrinking(norm, max_norm) : factor};", "max_norm > 0 ? factor * shrinking(norm, max_norm) : at::Tensor()};",
      tests=["optim: What the loss was multiplied by is divided out of the norm and, with the clipping, out of what an update sees",
             "trainer: a loss scale leaves the update as it is, and an overflow skips it and halves the scale"], says=r"factor|distance|undefined|exception")

fault("the tolerance of overflows is given back by good updates alone",
      "lib/hftrain/optim/gradient_scaler.cpp", "rule_.refill ? whole : tolerance_", "rule_.refill ? tolerance_ : whole",
      tests=["optim: Hysteresis tolerates overflows until the scale shrinks, and is whole again after growth", "optim: Consecutive hysteresis is whole again after every good update"],
      says=r"scale_of")
