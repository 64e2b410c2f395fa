# Folders that prepare wrote, checkpoints that do not verify, runs that had ended.
EVERY_TASK = "runs: prepared folders: samples of every task are taken as they are"
OTHERS = "runs: prepared folders: other samples than a run would make are refused"
ENDED = "runs: going on: a run that early stopping has ended stays ended"
ASIDE = "runs: before a run: checkpoints that do not verify are moved aside"

fault("a prepared folder is taken whatever it was prepared with",
      "lib/hftrain/data/prepared_folder.cpp", "  if (!different.empty()) {\n", "  if (different.size() > 99) {\n",
      tests=[OTHERS], says=r"max_length|ended with")

fault("samples of a prepared folder count as made for another run",
      "lib/hftrain/data/prepared_folder.cpp", "key.is_string()) taken.training_key = key;", "key.is_string()) taken.training_key = \"\";",
      tests=["runs: prepared folders: a run goes on with the files or with the folder"], says=r"ended with 2|the same run")

fault("a limit is passed over where a prepared folder has more",
      "lib/hftrain/data/prepared_folder.cpp", "  if (fits) return;\n", "  if (fits || limit) return;\n",
      tests=[OTHERS], says=r"max_train_samples")

fault("ids of another vocabulary are taken",
      "lib/hftrain/data/prepared_folder.cpp", "json_member(made, \"vocabulary\") != vocabulary_of(*load_tokenizer());", "json_member(made, \"vocabulary\") == vocabulary_of(*load_tokenizer());",
      tests=["runs: prepared folders: ids of another vocabulary are refused"], says=r"ended with|expected")

fault("a tokenizer that was written again is another one",
      "lib/hftrain/data/prepared_folder.cpp", "json_member(made, \"vocabulary\") != vocabulary_of(*load_tokenizer());", "!vocabulary_of(*load_tokenizer()).empty();",
      tests=["runs: prepared folders: ids of another vocabulary are refused"], says=r"ended with 4")

fault("validation samples of a prepared folder are those of training",
      "lib/hftrain/data/prepared_folder.cpp", "    taken.*asked.member = whole.*asked.member;\n", "    taken.*asked.member = whole.train;\n",
      tests=[EVERY_TASK, OTHERS], says=r"computes the same|test data|ended with")

fault("a pipe is waited for", "lib/hftrain/data/data_files.cpp", "  refuse_no_file(path);\n", "  if (path.empty()) refuse_no_file(path);\n",
      tests=["runs: prepared folders: what is no file is refused"], says=r"TimeoutExpired|does not wait")

fault("no samples are called empty data", "lib/hftrain/data/split_request.cpp", "if (split.max_samples && *split.max_samples <= 0)", "if (split.max_samples && *split.max_samples < 0)",
      tests=["runs: prepared folders: no samples are no empty data"], says=r"names the flag")

fault("prepare cuts a length in silence", "apps/hftrain/commands/prepare.cpp", "  if (answers) show(plan::notes_of_length(inputs.parsed, request.block_size), console);\n", "",
      tests=["runs: prepared folders: prepare says that a length is cut"], says=r"prepare says it")

fault("a damaged checkpoint is replaced", "apps/hftrain/commands/train_run.cpp", "output.move_aside(decision.skipped, \"which does not verify\");", "output.begin(paths_of(prepared));",
      tests=[ASIDE], says=r"it is told")

fault("a run of which no checkpoint verifies is begun anew over them", "launcher/front/output_stage.cpp", "  if (asked == \"auto\") refuse_damaged(inputs, state);\n", "",
      tests=[ASIDE], says=r"ended with 0, expected 4")

fault("a run that early stopping ended goes on", "lib/hftrain/trainer/early_stopping.cpp", "if (stays_ended_ && counter_ >= patience_)", "if (stays_ended_ && counter_ > patience_)",
      tests=[ENDED], says=r"adds nothing")

fault("a run that goes on by itself counts anew", "launcher/front/output_stage.cpp", "if (anew || decision.from.empty()) return false;", "if (!anew || decision.from.empty()) return false;",
      tests=[ENDED], says=r"adds nothing")

fault("a count that shall begin anew goes on", "launcher/front/output_stage.cpp", "if (anew || decision.from.empty()) return false;", "if ((anew && decision.from.empty()) || decision.from.empty()) return false;",
      tests=[ENDED], says=r"begins anew")

fault("a torn line stays in the log", "lib/hftrain/reporting/jsonl_sink.cpp", "path_(without_torn_record(path))", "path_(path.empty() ? without_torn_record(path) : path)",
      tests=["reporting: jsonl: a record torn by a kill or a full disk goes, however long it is"], says=r"before")

fault("an index's lengths are believed", "lib/hftrain/data/column_file.cpp", "tokens_.bytes().size() / static_cast<uint64_t>(reader_.bytes))\n", "tokens_.bytes().size() + (uint64_t{1} << 33))\n",
      tests=["data: A sequence of a length that no file has is refused before there is room for it"], says=r"lies outside")

fault("rows without a prediction are told to nobody", "lib/hftrain/plan/resolve_data.cpp", "    if (left_out <= 0) return;\n", "    if (left_out <= 99) return;\n",
      tests=["plan: rows that the last incomplete batch takes along are told where they are judged or predicted"], says=r"1 of 7")

fault("folders that prepare has not written are pruned", "lib/hftrain/data/token_cache.cpp", "if (is_entry_name(name) && entry->is_directory(unreadable))", "if (!name.empty() && entry->is_directory(unreadable))",
      tests=["data: what prepare has not written is left alone, whatever is pruned"], says=r"entries|folders|path_exists")

fault("a hidden folder of somebody's is taken for an unfinished entry", "lib/hftrain/data/token_cache.cpp", "return std::regex_match(name, form);", "return std::regex_search(name, form) || name.starts_with(kStagingPrefix);",
      tests=["data: what prepare has not written is left alone, whatever is pruned"], says=r"unfinished|path_exists")

fault("samples of a file that changed meanwhile are kept under what it was", "lib/hftrain/data/prepare.cpp", "  sources.check();\n", "  if (splits.empty()) sources.check();\n",
      tests=["data: a file that changes while it is prepared makes no entry of what it was"], says=r"changed|nothing was thrown")

fault("blocks that lie elsewhere are not found", "lib/hftrain/data/data_files.cpp", "if (path_exists(own + \".idx\")) return own;", "if (!own.empty()) return own;",
      tests=["data: an entry whose blocks lie in a user's file is named for them"], says=r"has no train data")

fault("a file that the manifest names and that is gone is not missed by an export", "lib/hftrain/storage/model_export.cpp", "path.starts_with(std::string(kShardedModelFolder) + '/') ||", "path.starts_with(std::string(kShardedModelFolder) + \"s/\") ||",
      tests=["storage: an export misses a file that the manifest names and nobody finds"], says=r"is missing|half")

fault("an export of parts without a manifest is taken for whole", "lib/hftrain/storage/model_export.cpp", "    if (!weights.sharded()) return;\n", "    if (!weights.sharded() || true) return;\n",
      tests=["storage: an export misses a file that the manifest names and nobody finds"], says=r"has no manifest")

fault("a tokenizer is learnt into a model's folder", "apps/hftrain/commands/tokenizer.cpp", "  refuse_folder_of_model(flags.output);\n", "",
      tests=["apps: a tokenizer is not learnt into the folder of a model"], says=r"exit_code == 2|holds a model",
      also=[("apps/hftrain/commands/tokenizer.cpp", "void refuse_folder_of_model(const std::string& folder) {", "[[maybe_unused]] void refuse_folder_of_model(const std::string& folder) {")])

fault("a page is written over what is no page where it is named", "apps/hftrain/commands/report.cpp", "const bool a_file = fs::is_regular_file", "const bool a_file = request.output.empty() && fs::is_regular_file",
      tests=["runs: report: mistakes lose nothing"], says=r"ended with|not written over|expected 2")

fault("a summary does not miss what is gone", "lib/hftrain/storage/checkpoint_summary.cpp", "if (!path_exists(folder + '/' + file.path)) summary.missing", "if (file.path.empty()) summary.missing",
      tests=["storage: a summary says what of a checkpoint is gone"], says=r"missing")

fault("a model's labels are other samples than those of its folder", "lib/hftrain/data/prepared_folder.cpp", "compare(\"labels\", facts, known);", "compare(\"labels\", facts.empty() ? facts : json_member(made, \"facts\"), known);",
      tests=["runs: prepared folders: a model is judged on the folder that it learnt from"], says=r"labels")

fault("another share that is held out is taken", "lib/hftrain/data/prepared_folder.cpp", "held_out != *request.hold_out_percent) {", "held_out == *request.hold_out_percent + 99) {",
      tests=[OTHERS], says=r"holds out|ended with 0")

fault("a file that repeats a default has callbacks begin anew", "launcher/front/output_stage.cpp", "origins.is_chosen(\"restore_callback_states_from_checkpoint\")", "origins.is_given(\"restore_callback_states_from_checkpoint\")",
      tests=[ENDED], says=r"the record of the run")

fault("a run that a job script starts again with auto counts anew", "launcher/front/output_stage.cpp", "return saving.resume_from_checkpoint == \"auto\" &&", "return saving.resume_from_checkpoint == \"Auto\" &&",
      tests=[ENDED], says=r"job script's word")

fault("pictures of another seed are others though none was held out", "lib/hftrain/data/prepared_folder.cpp", "  if (!chooses) {\n", "  if (!chooses && names.empty()) {\n",
      tests=["runs: prepared folders: pictures of which none was held out are those of any seed"], says=r"seed")

fault("a folder of some rows is taken for all", "lib/hftrain/data/prepared_folder.cpp", "  if (fits) return;\n", "  if (fits || !limit) return;\n",
      tests=[OTHERS], says=r"this run wants all|ended with 0")

fault("a pattern that names a prepared folder lets ids of another vocabulary in", "lib/hftrain/data/prepared_folder.cpp", "    paths.insert(paths.end(), found.begin(), found.end());\n", "    paths.push_back(pattern);\n",
      tests=["runs: prepared folders: ids of another vocabulary are refused", "runs: prepared folders: other samples than a run would make are refused"], says=r"ended with 0|ended with 2")
