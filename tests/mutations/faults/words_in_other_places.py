# Words that stand in another place than the one that knows them: keys of other sections, files of other flags, tokens of other names.
CHECK = "lib/hftrain/arguments/import/section_check.cpp"
SECTIONS = "lib/hftrain/arguments/import/accelerate_sections.cpp"
OF_DEEPSPEED = "arguments: a key of another section is refused with the section that has it"
OF_ACCELERATE = "arguments: a key of another section of an Accelerate file is refused with the section that has it"

fault("a key of another section of a DeepSpeed file is told by names that are like it", CHECK, "std::string hint = belongs_in(name, sections);", "std::string hint;",
      tests=[OF_DEEPSPEED], says=r"initial_scale_power")

fault("params of another schedule are sent to where they stand", CHECK, "  std::erase(sections, dotted(", "  if (sections.empty()) std::erase(sections, dotted(",
      tests=[OF_DEEPSPEED], says=r"total_num_steps")

fault("a key is sent to a section that refuses it", CHECK, "    if (key.support.status == Support::kRefused) continue;\n    if (spelled", "    if (spelled",
      tests=[OF_DEEPSPEED], says=r"zero_quantized_weights")

fault("params of an optimizer or a schedule are known where they stand alone", CHECK, "key.possible == nullptr ? key.keys : key.possible()", "key.keys",
      tests=[OF_DEEPSPEED], says=r"lr belongs|warmup_num_steps")

fault("a key of another section of an Accelerate file is to be left out", "lib/hftrain/arguments/import/accelerate_document.cpp",
      "std::string hint = belongs_in(name, sections_with(name));", "std::string hint;",
      tests=[OF_ACCELERATE], says=r"fsdp_sharding_strategy")

fault("the name of a section is taken for one of its keys", SECTIONS, " && !is_of_top(name))", ")",
      tests=[OF_ACCELERATE], says=r"config belongs")

fault("an Accelerate file in the place of fsdp_config is a mistake for each of its keys", "lib/hftrain/arguments/import/fsdp.cpp",
      'if (section && refuse_other_kind(*section, "fsdp_config", problems_)) return std::nullopt;', "",
      tests=["arguments: a configuration that another flag takes is one mistake in the place of fsdp_config, which names that flag"],
      says=r"this is a configuration of")

TOKENS = "lib/hftrain/tokenizer/named_tokens.cpp"
SEEN = "chat: a template sees every token that the folder's files name, as in transformers"

fault("a template sees the seven roles of tokens alone", "lib/hftrain/chat/template_folder.cpp",
      "for (const auto& [name, token] : others.items()) add(name, token);", "", tests=[SEEN], says=r"image_token=<i>")

fault("a token that an object names is hidden by its role", "lib/hftrain/chat/template_folder.cpp",
      "if (!others.contains(role)) add(", "add(", tests=[SEEN], says=r"eos_token=<e>")

fault("special_tokens_map.json wins over tokens of other names", TOKENS, "  tokens.update(named);\n", "  named.update(tokens);\n  tokens = named;\n",
      tests=[SEEN], says=r"image_token=<s>")

fault("special_tokens_map.json counts beside added_tokens_decoder for a template", TOKENS,
      'if (!config.contains("added_tokens_decoder")) {\n    const Json map', 'if (config.is_object()) {\n    const Json map', tests=[SEEN], says=r"added_tokens_decoder")

fault("what transformers saved of a model's tokens wins over the keys beside it", TOKENS, "if (tokens.empty()) take_named(", "take_named(",
      tests=[SEEN], says=r"video_token=<v>")

OF_SEARCH = "report: a pipe in the place of a search's file is refused, and not waited for"

fault("a report waits for the writer of a search.json", "lib/hftrain/report/search_runs.cpp", 'if (!has_regular_file(list, "the search")) return {};', "if (!path_exists(list)) return {};",
      tests=[OF_SEARCH], says=r"lasts longer than", seconds=30)

fault("a report waits for the writer of a trial's log", "lib/hftrain/report/search_runs.cpp", 'if (!has_regular_file(log, "the search")) return "";', 'if (!path_exists(log)) return "";',
      tests=[OF_SEARCH], says=r"lasts longer than", seconds=30)

fault("a search waits for the writer of a trial's log.jsonl", "lib/hftrain/report/log_follower.cpp", '  has_regular_file(path_, "the run");', "  ",
      tests=["report: a log that is a pipe is refused, and not waited for"], says=r"lasts longer than", seconds=30)

fault("a search waits for the writer of its search.json", "lib/hftrain/search/study.cpp", 'if (!has_regular_file(path, "the search")) return;', "if (!path_exists(path)) return;",
      tests=["search: a pipe in the place of search.json is refused, and not waited for"], says=r"lasts longer than", seconds=30)

fault("a search waits for the reader of a trial's log", "launcher/front/trial_runner.cpp", '  has_regular_file(path, "the search");', "  ",
      tests=["runs: search: pipes in the place of its files are refused"], says=r"lasts longer than|TimeoutExpired", seconds=120)

OF_AUTO = "arguments: auto in amp is off, as up to 4.57, and in comms_logger and timers as if the key were absent"
KEYS = "lib/hftrain/arguments/import/deepspeed_keys.cpp"

fault("auto in amp asks for Apex", KEYS, '     .switched_by = "enabled",  // up to 4.57', "     // up to 4.57", tests=[OF_AUTO], says=r"opt_level")

fault("auto in comms_logger is no value", KEYS, "     .keys = deepspeed_tables::comms_logger(),\n     .drops_auto = true,", "     .keys = deepspeed_tables::comms_logger(),",
      tests=[OF_AUTO], says=r"prof_ops")

fault("auto in timers is no value", "lib/hftrain/arguments/import/deepspeed_other_keys.cpp", ".keys = kThroughput, .drops_auto = true}", ".keys = kThroughput}",
      tests=[OF_AUTO], says=r"synchronized")
