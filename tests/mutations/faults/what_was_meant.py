# What a run goes on from, and what files beside others say.
IDENTITY = "plan: weights that begin elsewhere are another run, but beside a checkpoint that does not say where its own began"
WEIGHTS = "storage: The mark of weights is that of a copy and not that of others of the same shape"
U = "lib/hftrain/tokenizer/unheeded_settings.cpp"
SAID = "tokenizer: What transformers builds of tokenizer_config.json and the pipeline does not have is said"
TOKENS = "tokenizer: Tokens that only tokenizer_config.json names are told as other text"

fault("a run goes on from a checkpoint whose weights began elsewhere", "lib/hftrain/plan/identity.cpp",
      'identity["weights"] = plan.model.weights_mark;', 'identity["weight"] = plan.model.weights_mark;', tests=[IDENTITY], says=r"identity_differences")

fault("checkpoints of before are another run", "lib/hftrain/plan/identity.cpp", 'if (name == "weights" && !saved.contains(name)) continue;', "",
      tests=[IDENTITY], says=r"identity_differences")

fault("a run that begins with another adapter of the same base goes on with the first one's", "launcher/front/inputs.cpp",
      "hash_bytes(model.weights_mark + storage::adapter_mark(model.adapter_folder))", "hash_bytes(model.weights_mark)",
      tests=["runs: before a run: what a run goes on from is what was meant"], says=r"expected 2|weights: ")

fault("weights of the same shape have one mark", "lib/hftrain/storage/weights_mark.cpp", "constexpr size_t kSample = 256;", "constexpr size_t kSample = 0;",
      tests=[WEIGHTS], says=r"weights_mark")

fault("a cased text is taken for what a tokenizer's config says", U, 'settings.truth("do_lower_case").value_or(true)', 'settings.truth("do_lower").value_or(true)',
      tests=[SAID], says=r"do_lower_case")

fault("a token that only the config names is passed over", U, 'if (key != "additional_special_tokens" && key', 'if (key',
      tests=[TOKENS], says=r"said_of")

fault("a search that was begun with older names of its flags is another one",
      "lib/hftrain/search/study.cpp", "const std::string name = name_in_space(written);", "const std::string& name = written;",
      tests=["search: a search whose space was kept by older names of its flags goes on"],
      says=r"another search|parameters")

fault("a search of a share of warmup that was kept as warmup_steps is another one",
      "lib/hftrain/search/study.cpp", "match.flag->replaced_by.flag == name)", "match.flag->replaced_by.flag.empty())",
      tests=["search: a search of a share of warmup that was kept as warmup_steps goes on"],
      says=r"another search|parameters")

fault("a group of flags with a slip in its name is looked for among the flags",
      "lib/hftrain/arguments/config_file.cpp", "hint = value.IsMap() ? hint_for_group(name) : hint_for_unknown(name, \"\");", "hint = hint_for_unknown(name, \"\");",
      tests=["arguments: a group of flags with a slip in its name is named"],
      says=r"mean launch")

fault("explain takes all words of a refused flag for implemented",
      "lib/hftrain/arguments/help.cpp", "describe(refused ? Support::kRefused : support.status);", "describe(refused ? support.status : support.status);",
      tests=["arguments: explain tells everything about a flag by any spelling"],
      says=r"refused")

fault("who names no task is told to leave its flags out",
      "lib/hftrain/plan/task_flags.cpp", 'return task_was_named ? "leave it out"', 'return task_was_named || own == own ? "leave it out"',
      tests=["plan: flags of another task are refused by name"],
      says=r"or leave it out")

fault("load_best_model_at_end without saves is no multiple",
      "lib/hftrain/arguments/rules/interval_rules.cpp", "if (save == 0) return false;", "if (save == 0) return true;",
      tests=["arguments: what will be no best model is told, and the run goes on, as the Trainer's does"],
      says=r"multiple of eval_steps")

fault("a choice of a search's space is read without its flag",
      "lib/hftrain/search/specification.cpp", "flag != nullptr ? values_of(*flag, name, values) : values", "flag != nullptr && name.empty() ? values_of(*flag, name, values) : values",
      tests=["search: choices mean what their flag's value means in a file"],
      says=r"choices\(")

fault("accelerate's own flags take no on and off",
      "lib/hftrain/arguments/command_line.cpp", "if (is_text_of_launchers(flag)) written", "if (is_text_of_launchers(flag) && raw_.size() > 999) written",
      tests=["arguments: truth values that accelerate launch takes as texts may be on and off"],
      says=r"truth value")
