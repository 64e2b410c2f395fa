# Plans for other machines, the cache of tokens, the rehearsal.

fault("a GPU of the table is planned without its capability",
      "lib/hftrain/plan/machine_spec.cpp", "spec_.capability = {model->compute_major, model->compute_minor};", "",
      tests=["plan: machines x GPUs x name, with the memory, capability and cores of the table"],
      says=r"capability|compute_major")

fault("the cores of a GPU of the table are those of the whole machine",
      "lib/hftrain/plan/machine_spec.cpp", "spec_.cores = model->cores * spec_.gpus;", "spec_.cores = model->cores;",
      tests=["plan: machines x GPUs x name, with the memory, capability and cores of the table"],
      says=r"cores")

fault("the plan expects nothing of a program beside its tensors",
      "lib/hftrain/plan/rank_memory.cpp", "const int64_t host = kWorkingProgramBytes + (gpu", "const int64_t host = 0 * kWorkingProgramBytes + (gpu",
      tests=["plan: what a rank takes of host memory beside its tensors is expected, too",
             "plan: ranks on CPUs that are expected to take far more than a machine has are a mistake of the plan"],
      says=r"expected to need|kUsage")

fault("the plan counts the gradients of one unit on their way",
      "lib/hftrain/plan/rank_memory.cpp", "before += order[i - back].gradients;", "before += 0 * order[i - back].gradients;",
      tests=["plan: gradients of three units are there at once, each in the type that it has by then"],
      says=r"embeddings")

fault("the plan counts whole gradients in stage 1 that sync_each_batch does not keep",
      "lib/hftrain/plan/rank_memory.cpp", "plan.batch.reduces_last_alone()", "plan.batch.accumulation_steps > 1",
      tests=["plan: stage 1 holds parts of gradients alone where those of every micro-batch are reduced"],
      says=r"first\.gradients")

fault("the plan counts one set of offloaded gradients where two are there",
      "lib/hftrain/plan/rank_memory.cpp", "plan.batch.accumulation_steps > 1 ? 2 * parts : parts", "parts",
      tests=["plan: offloaded gradients arrive beside those of the micro-batch before; whole ones stay on the GPU"],
      says=r"2 \* kPart")

fault("the plan takes whole gradients on a GPU for offloaded ones",
      "lib/hftrain/plan/rank_memory.cpp", "return {whole * kMasterBytes, to_host ? parts : 0};", "return {whole * kMasterBytes - parts, to_host ? parts : 0};",
      tests=["plan: offloaded gradients arrive beside those of the micro-batch before; whole ones stay on the GPU"],
      says=r"first\.gradients")

fault("a plan takes files of ids for a task that wants rows",
      "lib/hftrain/data/split_request.cpp", "if (!files.tokenized() || recipe.takes_token_files) return;", "if (!files.tokenized() || !recipe.task.empty()) return;",
      tests=["data: Files of ids are refused where a task wants rows, by an estimate as by the preparation"],
      says=r"token files are no data")

fault("prune removes entries that a run uses",
      "lib/hftrain/data/cache_entries.cpp", "if (removal.answer() == CacheRemoval::Answer::kInUse) {", "if (entry.key.empty()) {",
      tests=["data: an entry in use is never removed, and goes when its user is gone",
             "runs: the cache entry of a run is in use from its start to its end"],
      says=r"kept_in_use|in_use|removed")

fault("prune removes the entries that were used last first",
      "lib/hftrain/data/cache_entries.cpp", "std::reverse(entries.begin(), entries.end());  // the least recently used first", "",
      tests=["data: prune removes what was not used for long, then the least recently used until the size fits"],
      says=r"removed\.front\(\)\.folder == folders\[1\]")

fault("a rehearsal draws from the run's random numbers",
      "lib/hftrain/trainer/rehearsal.cpp", "runtime::restore_random_state(random, *context_.device_runtime, context_.device);", "static_cast<void>(random);\n  runtime::seed_generators(1, *context_.device_runtime, context_.device);",
      tests=["runs: rehearsal: a rehearsed run gives the same bits under every strategy"],
      says=r"differ")

fault("the rehearsal of a save writes nothing",
      "lib/hftrain/trainer/rehearsal.cpp", "[&] { checkpointer_->rehearse(checkpoint_contents()); }", "[] {}",
      tests=["runs: rehearsal: a save that cannot be written ends the run before it begins"],
      says=r"trained: True|expected 7")

fault("the rehearsal of the last model writes nothing",
      "lib/hftrain/trainer/rehearsal.cpp", "[&] { exporter_->rehearse(plan_.output_dir); }", "[] {}",
      tests=["runs: rehearsal: a model that only the end would write is tried too"],
      says=r"trained: True|expected 7")

fault("the rehearsal of the last model leaves further nodes out",
      "lib/hftrain/checkpoint/model_exporter.cpp", "failure = attempt([&] { spread_files(run_.communicator, nodes_, records, staging, files_); });\n    check_collective_status(run_.communicator, failure, \"write the model\");",
      "",
      tests=["runs: machines: a model that a further node cannot write is found by the rehearsal"],
      says=r"before it trains")

fault("the rehearsal of an evaluation evaluates nothing",
      "lib/hftrain/trainer/rehearsal.cpp", "[&] { evaluator_->rehearse(evaluation_request({data::Split::kValidation}, /*writes=*/false)); }", "[] {}",
      tests=["runs: rehearsal: an evaluation without memory ends the run before it begins"],
      says=r"trained: True|expected 6|lasts longer", seconds=120)

fault("runs are rehearsed only when that is asked for",
      "lib/hftrain/plan/resolve.cpp", "input.parsed.arguments.saving.rehearse.value_or(plan.steps.expected_seconds > kWorthIt);",
      "input.parsed.arguments.saving.rehearse.value_or(plan.steps.expected_seconds > 1e30 * kWorthIt);",
      tests=["runs: rehearsal: without a word only long runs are rehearsed"],
      says=r"ended with 1")

fault("a smoke run makes no rows to predict on",
      "launcher/front/smoke_sample.cpp", "if (asked.run.do_predict && asked.data.test_file.empty())", "if (asked.run.do_predict && rows.empty())",
      tests=["front: who predicts on rows that are made gets test rows, few of them, unless they are named"],
      says=r'--test_file')

fault("an adapter of a smoke run stands beside no weights",
      "launcher/front/smoke_flags.cpp", "setting_.makes_weights = arguments_.adapter.use_peft;", "setting_.makes_weights = false;",
      tests=["front: an adapter without a named model stands beside one that is written, with weights of its task",
             "runs: smoke: an adapter and predictions without a model and data"],
      says=r"makes_weights|an adapter needs a model", seconds=120)

fault("accumulation makes a smoke run long",
      "launcher/front/smoke_flags.cpp", "whole.first_save / (accumulated * longer);", "whole.first_save / (std::min<int64_t>(accumulated, 1) * longer);",
      tests=["front: updates that accumulate are fewer and accumulate less, with a word"],
      says=r'"30"|"15"')

fault("a smoke run contradicts accumulation that a DeepSpeed file states",
      "launcher/front/smoke_flags.cpp", "if (accumulated > kMostAccumulated && !stands_elsewhere) {", "if (accumulated > kMostAccumulated && (!stands_elsewhere || accumulated > 0)) {",
      tests=["front: accumulation that another place states as well stays, and the updates are fewer still"],
      says=r"gradient_accumulation_steps|accumulation_steps == 16")

fault("machines with any number of ranks are planned for",
      "lib/hftrain/plan/machine_spec.cpp", "gpus > kMostRanks)", "gpus > kMostRanks * kMostRanks)",
      tests=["plan: machines with more ranks than a plan can hold are refused before any of them is made"],
      says=r"102,400,000")

fault("files that the kernel can drop are taken from what a container has left",
      "lib/hftrain/machine/host_resources.cpp", " - reclaimable(folder, files.cache)", " - 0 * reclaimable(folder, files.cache)",
      tests=["machine: files that the kernel can drop from its memory are not taken from what a group has left",
             "machine: of cgroup v1 the droppable files of a group with all below it count"],
      says=r"available_bytes")

fault("of cgroup v1 the files of the group alone count",
      "lib/hftrain/machine/host_resources.cpp", '"total_inactive_file"', '"inactive_file"',
      tests=["machine: of cgroup v1 the droppable files of a group with all below it count"],
      says=r"available_bytes")

fault("sample rows of a GLUE task of pairs have other columns than it reads",
      "launcher/front/smoke_rows.cpp", '{{"sentence1", glue.first}, {"sentence2", glue.second}}', '{{"first", glue.first}, {"second", glue.second}}',
      tests=["front: rows that are made have the columns that are asked for"],
      says=r"premise")

fault("sample rows of translations are in languages of their own",
      "launcher/front/smoke_rows.cpp", 'tasks::language_key(asked.source_lang.value_or("plain"))', '"plain"',
      tests=["front: rows that are made have the columns that are asked for"],
      says=r'contains\("en"\)')

fault("a folder of pictures stands where rows with columns are asked for",
      "launcher/front/smoke_rows.cpp", "  return asked.data.label_column_name ||\n", "  return asked.data.image_column_name.empty() && asked.data.label_column_name &&\n",
      tests=["front: rows that are made have the columns that are asked for"],
      says=r"error|exception|directory")
