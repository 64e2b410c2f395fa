# Documents of packed rows in one call of a device's kernel, and checkpoints that runs and nodes pass over.
TOLD = "nn: documents that attend in one call are told to the kernel as they lie"
fault("a window of documents in one call is one key too wide",
      "lib/hftrain/nn/document_attention.cpp", "std::optional(*options.window - 1)", "std::optional(*options.window)",
      tests=[TOLD], says=r"allclose")

fault("documents in one call have no window",
      "lib/hftrain/nn/document_attention.cpp", "options.window && *options.window < bounds.longest ?", "options.window && *options.window < 0 ?",
      tests=[TOLD], says=r"allclose")

fault("the last document of a batch has no end",
      "lib/hftrain/nn/document_bounds.cpp", "    *next++ = static_cast<int32_t>(end);\n", "    *next++ = static_cast<int32_t>(end - (bounds.longest > 8 ? 1 : 0));\n",
      tests=["nn: the bounds of documents end with the last one"], says=r"starts")

fault("each layer makes the bounds of documents anew",
      "lib/hftrain/nn/shared_masks.cpp", "  if (!bounds_) bounds_ = bounds_of(documents, device);\n", "  bounds_ = bounds_of(documents, device);\n",
      tests=["nn: the bounds of documents end with the last one"], says=r"is_same")

fault("a further node keeps a checkpoint that node 0 passes over, for its run to replace",
      "launcher/front/job.cpp", "own.step, own.files, aside}", "own.step, own.files, {}}",
      tests=["runs: machines: the run goes on in both folders"], says=r"both move it aside")

fault("the plan goes on with an optimizer that would lose its momentum",
      "lib/hftrain/plan/resume_notes.cpp", "  if (!has_other_optimizer(input, plan)) return check_kept_states(input, plan, problems);\n", "  if (!has_other_optimizer(input, plan)) return problems.empty() ? void() : check_kept_states(input, plan, problems);\n",
      tests=["plan: a run whose options keep other things of a gradient than its checkpoint has is refused"], says=r"keeps more")

fault("the plan knows nothing of what a centered RMSprop keeps",
      "lib/hftrain/plan/optimizer_memory.cpp", "name == \"rmsprop\" && is_on(optimizer, \"centered\")", "name == \"rmsprop\" && is_on(optimizer, \"centred\")",
      tests=["parallel: the plan knows what each optimizer keeps by its options"], says=r"rmsprop centered")

fault("a password of HF_ENDPOINT that a server repeats is shown",
      "lib/hftrain/hub/api.cpp", "  return http::without_password(std::move(text), http::credentials_in(access_.endpoint));\n", "  return text;\n",
      tests=["hub: a password of HF_ENDPOINT that a server repeats is not repeated"], says=r"password|pass%20word")

fault("a rank that drops all layers behind an encoder leaves out its backward pass",
      "lib/hftrain/parallel/sharding_runner.cpp", "  if (joined.size() > (learns ? 2 : 1))", "  if (joined.size() > (learns ? 99 : 1))",
      tests=["parallel: a rank that drops all layers behind an encoder gathers it backwards as the others do"], says=r"all-gather|finish|failed")

fault("a dropped layer's gradients are reduced when the pass is over, and those of others between its gathers",
      "lib/hftrain/parallel/sharding_runner.cpp", "    if (--progress_[unit].open_uses == 0) settle_missing(unit);\n", "    --progress_[unit].open_uses;\n",
      tests=["parallel: a rank that drops all layers behind an encoder gathers it backwards as the others do"], says=r"all-gather|reduce|failed")

fault("offloaded parameters are used before they are there",
      "lib/hftrain/parallel/shard_unit.cpp", "  if (fetched_) parameters_.front()->placement().copies->use(*fetched_);\n", "",
      tests=["parallel: gradients that come to the host late are waited for before they are read"], says=r"FAILED|losses")

fault("an adapter beside parts of bfloat16 weights is planned in their type",
      "lib/hftrain/plan/rank_memory.cpp", "const int64_t own = held_bytes(parameter, plan);", "const int64_t own = master;",
      tests=["plan: an adapter stays in float32 beside parts of weights that are not"], says=r"adapter")

fault("the plan casts a table of tokens whose rows alone are cast",
      "lib/hftrain/plan/rank_memory.cpp", "first.embedding && !multiplied ? first.numel() : 0", "first.embedding && !multiplied && multiplied ? first.numel() : 0",
      tests=["plan: a table of tokens is cast where a head multiplies by it"], says=r"100 \* 8")

fault("the plan knows nothing of what an update takes beside the state",
      "lib/hftrain/plan/optimizer_memory.cpp", "if (optimizer.name == \"lion_32bit\") return gated ? 2 : 1;", "if (optimizer.name == \"lion_32bit\") return 0;",
      tests=["parallel: the plan knows what an update on a device takes beside the state"], says=r"lion")

fault("Adafactor keeps a parameter's squares beside its step",
      "lib/hftrain/optim/adafactor.cpp", "  squares.reset();", "  ",
      tests=["parallel: the plan knows what an update on a device takes beside the state"], says=r"adafactor")

fault("a GPU that the driver does not open hides those behind it",
      "lib/hftrain/machine/nvml.cpp", "    if (!nvml.is_denied()) inventory.unopened.push_back(why);\n", "    if (!nvml.is_denied()) inventory.unopened.push_back(why);\n    break;\n",
      tests=["machine_nvml: GPUs behind one that the driver does not open are seen, and numbered without it"], says=r"size|devices")

fault("a GPU that the driver does not open is not told",
      "lib/hftrain/machine/detect_topology.cpp", "  for (const std::string& why : inventory.unopened)\n", "  for (const std::string& why : std::vector<std::string>())\n",
      tests=["machine: a GPU that the driver does not open is told, and leaves the others to runs"], says=r"notes")

fault("rows that are padded to one length are sorted by their tokens",
      "lib/hftrain/data/length_column.cpp", "length = padded > 0 ? padded : ids->length(sample);", "length = padded < 0 ? padded : ids->length(sample);",
      tests=["data: rows that are padded to one length are of that length, but where a column counts them"], says=r"LengthList")

fault("evaluations of an older release count the labels that are predicted alone",
      "lib/hftrain/trainer/evaluator.cpp", "  return counted_labels(plan_, model_.architecture(), host);", "  return models::label_count(model_.architecture(), host);",
      tests=["runs: loop options: an older release has its defaults and habits"], says=r"and in evaluations")

fault("a smoothed loss of an older release is divided by first labels",
      "lib/hftrain/trainer/label_counts.cpp", "plan.optimizer.label_smoothing > 0 && habits", "plan.optimizer.label_smoothing < 0 && habits",
      tests=["runs: loop options: an older release has its defaults and habits"], says=r"smoothed")

fault("a rank that drops the first layer that learns does not gather it backwards",
      "lib/hftrain/parallel/sharding_runner.cpp", "  if (!learns) std::ranges::copy_if(parameters,", "  if (learns) std::ranges::copy_if(parameters,",
      tests=["parallel: a rank that drops all layers behind an encoder gathers it backwards as the others do"], says=r"all-gather|reduce|failed")

fault("offloaded parts that are cast behind the bus are planned in one type",
      "lib/hftrain/plan/rank_memory.cpp", "if (to_host && compute != master) memory", "if (to_host && compute > master) memory",
      tests=["plan: parts that a GPU casts behind the bus are there in both types"], says=r"buffers")
