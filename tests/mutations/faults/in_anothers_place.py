# Files and flags that stood where others are read.

fault("without FSDP a flag that says its default is passed over",
      "lib/hftrain/arguments/import/fsdp.cpp", "return value != flag.default_value() || !asks_for_nothing(value);", "return value != flag.default_value();",
      tests=["arguments: without FSDP its flags are told also where they say the default, unless they ask for nothing"],
      says=r"options of FSDP have no effect")

fault("what the Trainer writes of FSDP where nobody asked for it is a warning",
      "lib/hftrain/arguments/import/fsdp.cpp", "if (section && !config_asks_for_nothing(section->values))", "if (outcome_.unread.count(\"fsdp_config\") > 0)",
      tests=["arguments: what the Trainer writes of FSDP where nobody asked for it is no warning"],
      says=r"told_of\(")

fault("a file of DeepSpeed is read as flags",
      "lib/hftrain/arguments/config_file.cpp", "if (!sure && gives_away(", "if (!sure && name.empty() && gives_away(",
      tests=["arguments: a file of DeepSpeed in the place of flags is one mistake, which names its flag"],
      says=r"is a configuration of DeepSpeed")

fault("an Accelerate file is read as one of DeepSpeed",
      "lib/hftrain/arguments/import/deepspeed.cpp", 'if (refuse_other_kind(section, "deepspeed", problems)) return;', "",
      tests=["arguments: an Accelerate file in the place of DeepSpeed's is one mistake, which names its flag"],
      says=r"this is a configuration of")

fault("a tokenizer learns how records are written",
      "apps/hftrain/commands/tokenizer.cpp", "if (!format || format == data::RowFormat::kText", "if (format != data::RowFormat::kParquet || format == data::RowFormat::kText",
      tests=["apps: a tokenizer learns the column text of records, and nothing of how they are written"],
      says=r"learnt\(name\) == learnt\(\"plain\"\)")

fault("a template's file that is not there is looked for in the cache of the Hub",
      "launcher/front/chat_facts.cpp", "if (names_template_file(*path) && !path_exists(*path)) {", "if (names_template_file(*path) && path->empty()) {",
      tests=["runs: instruction tuning: what cannot be learned is refused"],
      says=r"absent\.jinja|no model of the hub")

fault("a full disk proposes a flag that the command does not have",
      "lib/hftrain/base/error.cpp", "free space on that file system, or name a folder on another one", "free space on that file system, or name another folder with --output_dir",
      tests=["base: a full disk and a write error are disk errors whoever asks; the rest is the caller's"],
      says=r'find\("--"\)')

fault("a setting of generation that is no number is called null",
      "lib/hftrain/generation/generation_config_json.cpp", "const bool infinite = value.is_number_float() && ", "const bool infinite = value.is_null() && ",
      tests=["generation: mistakes in a generation config are told together"],
      says=r"temperature is")

fault("a variable of FSDP stands against an argument in other words",
      "lib/hftrain/arguments/import/fsdp.cpp", "bool counts = overruled.count(variable) == 0;", "bool counts = overruled.count(variable) < 2;",
      tests=["arguments: an argument wins over a variable of FSDP that says the same in other words, and that is told"],
      says=r"given twice|no effect of the environment")

fault("a variable of accelerate launch stands against a key of the DeepSpeed file",
      "lib/hftrain/arguments/import/deepspeed.cpp", "if (!flags.is_of_environment(flag) || keys.is_auto(pointer)) continue;", "if (!flags.is_of_environment(flag) || !keys.has(pointer) || keys.is_auto(pointer)) continue;",
      tests=["arguments: a DeepSpeed file wins over a variable of the launch, but for its auto, and that is told"],
      says=r"given twice|OFFLOAD_OPTIMIZER_DEVICE")

fault("a variable that is a flag's value stands against the DeepSpeed file's",
      "lib/hftrain/arguments/import/flag_values.cpp", "if (!is_of_environment(flag)) return conflict(", "if (given(flag)) return conflict(",
      tests=["arguments: a DeepSpeed file wins over a variable of the launch, but for its auto, and that is told"],
      says=r"gradient_accumulation_steps differ")

fault("--use_fsdp false leaves the environment's FSDP on",
      "lib/hftrain/arguments/import/announced.cpp", 'environment.set(variable, "false");', 'environment.set(variable, "true");',
      tests=["arguments: a false --use_fsdp or --use_deepspeed takes back what the environment announces"],
      says=r"use_fsdp")

fault("the folder that state is offloaded to may be a file",
      "lib/hftrain/plan/nvme_check.cpp", "if (state.disk.folder_error != 0) {", "if (state.disk.folder_error < 0) {",
      tests=["plan: offloaded state must fit on the disks of its folders, two folders on one disk together"],
      says=r"no offloaded state can be kept there")

fault("ranks that a launcher has started are asked for again",
      "lib/hftrain/arguments/import/accelerate_layers.cpp", "if (ranks_are_started || std::any_of(", "if ((ranks_are_started && raw.empty()) || std::any_of(",
      tests=["arguments: where a launcher has started the ranks, an Accelerate file need not say how many there are"],
      says=r"num_processes")

fault("ignored_modules do not know a module whose weight is tied",
      "lib/hftrain/plan/resolve_strategy.cpp", "return tied.parameter == parameter.name && lies_in(tied.alias, pattern);", "return tied.alias == parameter.name && lies_in(tied.alias, pattern);",
      tests=["plan: a module whose weight is tied is ignored by its own name, too"],
      says=r"no module's name matches")

fault("another max_steps than total_num_steps is told behind all other mistakes",
      "lib/hftrain/arguments/import/deepspeed_optimizer.cpp", "if (asked > 0 && asked != total &&", "if (asked < 0 && asked != total &&",
      tests=["arguments: D1: total_num_steps is held against max_steps, beside every other mismatch"],
      says=r"max_steps differ")

fault("words of a DeepSpeed file are known in three forms of letters",
      "lib/hftrain/arguments/import/section_check.cpp", "if (key.any_case && value.is_string())", "if (key.any_case && value.is_number())",
      tests=["arguments: words that DeepSpeed lowers are known in any case"],
      says=r"is not one of|MEAN")

fault("modules that are to stay in float32 are no text",
      "lib/hftrain/arguments/import/deepspeed_precision_keys.cpp", ".type = Type::kList,", ".type = Type::kText,",
      tests=["arguments: modules that are to stay in float32 are refused for what they ask"],
      says=r"norms and losses|empty\(\)")

fault("comments in JSON are passed over in silence",
      "lib/hftrain/arguments/section.cpp", "if (!section.has_comments) return;", "if (section.has_comments) return;",
      tests=["arguments: comments in JSON are taken, and that is told"],
      says=r"kTold")

fault("a key given twice in a flag's text has no place",
      "lib/hftrain/arguments/section.cpp", "problems[i].where = outcome.origins.describe(flag);", "if (!section) problems[i].where = outcome.origins.describe(flag);",
      tests=["arguments: an fsdp_config that cannot be read is one mistake"],
      says=r"given twice")

fault("a variable without effect is used, too",
      "lib/hftrain/arguments/import/environment.cpp", "each.flag->support.status == Support::kAccepted && !each.flag->imported;", "each.flag->support.status == Support::kRefused && !each.flag->imported;",
      tests=["arguments: accumulation, clipping, affinity and the compiler of an announced launch"],
      says=r"dynamo_backend")

fault("a backend of torch.compile that is off is told",
      "lib/hftrain/arguments/flags/precision_flags.cpp", '.also_fine = "\\"no\\"",', '.also_fine = "no",',
      tests=["arguments: what has no effect is told once, and not where it is off"],
      says=r"dynamo_backend")

fault("LOCAL_STATE_DICT is taken where nobody names a version of FSDP",
      "lib/hftrain/arguments/import/fsdp_rules.cpp", 'if (version_there() == 2 && settings_.state_dict.value_or("") == "local")', 'if (version2() && settings_.state_dict.value_or("") == "local")',
      tests=["arguments: rule F10: version 2 has no local state"],
      says=r"no version is given")

fault("an address where no other machine comes is passed over",
      "launcher/environments/find_membership.cpp", 'origins_.is_given("master_addr") && !names_loopback(', 'origins_.is_given("local_addr") && !names_loopback(',
      tests=["launcher: where machines would meet is told to have no use on one"],
      says=r"is not used")

fault("logs of ranks lie in a folder None",
      "lib/hftrain/arguments/flags/launchers_flags.cpp", '.slot = unread_optional(Type::kText, "None"),', '.slot = unread_optional(Type::kText, "none"),',
      tests=["arguments: folders and host files of a script's unset variable are none, as are rank logs in None"],
      says=r"log_dir")

fault("a host file of an unset variable is looked for",
      "lib/hftrain/arguments/parse.cpp", 'return each.flag->empty_is_unset && each.written == "";', "return each.flag->empty_is_unset && each.written == nullptr;",
      tests=["arguments: folders and host files of a script's unset variable are none, as are rank logs in None"],
      says=r"log_dir|hostfile")

fault("the mark at the start of a host file belongs to a machine's name",
      "launcher/ssh/host_file.cpp", "if (text.starts_with(kByteOrderMark)) text", "if (text.ends_with(kByteOrderMark)) text",
      tests=["launcher: a host file has a name and slots per line"],
      says=r"hosts\[0\]")

fault("a data loader of one's own goes on with other batches at another place",
      "lib/hftrain/trainer/own_batches.cpp", "(position.of_other_batches && position.inside())", "(position.of_other_batches && !position.inside())",
      tests=["runs: programs with a Trainer of their own, built against the installed tree, do what their page says"],
      says=r"ends with 2")

fault("--save_for_trainer beside an optimizer of one's own ends at its first save",
      "apps/hftrain-worker/program/rank.cpp", "if (optimizes && parts.plan.do_train && parts", "if (optimizes && !parts.plan.do_train && parts",
      tests=["runs: programs with a Trainer of their own, built against the installed tree, do what their page says"],
      says=r"ends with [02]")

fault("a second plug-in takes the place of the first without a word",
      "lib/hftrain/arguments/merge.cpp", "flag.given_once && named", "flag.given_once && renamed",
      tests=["arguments: a second plug-in does not take the place of the first"],
      says=r"say two different things")

fault("at the end of an epoch a program's loader is asked for a place within it",
      "lib/hftrain/trainer/resuming.cpp", "state_.epoch == std::floor(state_.epoch))", "state_.epoch < std::floor(state_.epoch))",
      tests=["runs: programs with a Trainer of their own, built against the installed tree, do what their page says"],
      says=r"ends with 0")
