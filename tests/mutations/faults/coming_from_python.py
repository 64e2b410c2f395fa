# What people bring: pipes, old folders, tokens, folders of the Trainer.

fault("a pipe is read to its end before the first prompt is answered",
      "apps/hftrain/commands/generate.cpp", "while (batch.size() < size && (batch.empty() || source.has_one())) {", "while (batch.size() < size) {",
      tests=["runs: generation: a pipe that stays open gets its answers"],
      says=r"an answer before the next line")

fault("a signal waits until the reader of texts has taken them",
      "launcher/front/stoppable_output.cpp", "if (const int signal = stops_.next(); signal != 0)", "if (const int signal = 0; signal != 0)",
      tests=["runs: generation: a signal is heard while nobody reads"],
      says=r"TimeoutExpired|ended with")

fault("a folder without generation_config.json has no settings",
      "lib/hftrain/generation/folder_settings.cpp", "found.values = settings_of_model_config(found.values);", "found.values = Json::object();",
      tests=["generation: a folder's settings are those of its generation config, else of its config",
             "runs: generation: old folders keep settings in config json"],
      says=r"num_beams|beams of config\.json")

fault("rows of tokens that were prepared for other completions are taken again",
      "lib/hftrain/tasks/instruction_tuning.cpp", '{"completions_asked", asked.completion_only_loss.value_or(false)},', '{"completions_asked", false},',
      tests=["runs: instruction tuning: every flag acts by flag and by file"],
      says=r"completion_only_loss True changes")

fault("a checkpoint of the Trainer is replaced by one of the same step",
      "launcher/front/output_stage.cpp", "return begin_anew(inputs);\n  refuse_others_checkpoints(inputs);\n", "return begin_anew(inputs);\n",
      tests=["runs: migration: checkpoints of the trainer are left alone"],
      says=r"ended with")

fault("a decoder that sees all that comes is trained as a causal one",
      "lib/hftrain/architectures/config_values.cpp", 'if (config_.value("is_causal", Json(true)) == true) return;', 'return;',
      tests=["architectures: what is not implemented is refused by name"], says=r"is_causal is false|No exception")

fault("an encoder that sees the tokens before alone is trained as one that sees all",
      "lib/hftrain/architectures/config_values.cpp", "if (value.is_null() || value == false) return;", "return;",
      tests=["architectures: an attention that sees other tokens than its family's is refused"], says=r"is_causal is true")

fault("a model with quantised weights is taken for one without",
      "lib/hftrain/architectures/architecture.cpp", "if (value.empty() || value == other.of_this)", "if (value.size() < 9 || value == other.of_this)",
      tests=["architectures: keys that make another model of any folder are refused"], says=r"quantised weights|no error")

fault("a head of tokens has a bias that its config leaves out",
      "lib/hftrain/architectures/llama.cpp", "if (head.head == Head::kTokenClassification) head.bias = config.token_bias;", "",
      tests=["architectures: a config may leave the bias of a head of tokens out"], says=r"score\.bias")

fault("a model gets token types that its tokenizer does not give",
      "lib/hftrain/tasks/padded_sequences.cpp", "return input.names_types && types", "return types",
      tests=["tasks: a tokenizer that names its inputs says whether a model gets token types"], says=r"has_types\(\)")

fault("an evaluation of instructions divides as the Trainer's",
      "lib/hftrain/trainer/evaluator.cpp", "return generates || tasks::row_of(plan_.data.task).judges_batches_alone ||", "return generates || (tasks::row_of(plan_.data.task).judges_batches_alone && plan_.batch.per_device_eval == 0) ||",
      tests=["parity: instructions, single and packed: losses are the Trainer's on TRL's masks"],
      says=r"evaluated-gpt2: eval_loss")

fault("evaluations of before 4.57 divide by labels that nothing is predicted for",
      "lib/hftrain/plan/release_habits.h", "bool evaluates_batch_means() const { return release < 45700; }", "bool evaluates_batch_means() const { return release < 0; }",
      tests=["runs: loop options: an older release has its defaults and habits"], says=r"FAILED: evaluations had no count of labels")

fault("the last update of an epoch is saved before its evaluation beside an older release",
      "lib/hftrain/plan/release_habits.h", 'return strategy == "steps" || (strategy == "best" && release < 44700);', 'return strategy == "steps" || (strategy != "no" && release < 44700) || (strategy == "epoch" && release < 45700);',
      tests=["trainer: older releases evaluate and save the last step in their own ways"], says=r"at_the_end")
