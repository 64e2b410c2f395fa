# Commands that pages and blogs have, as they stand.

fault("a task of GLUE without data has none",
      "lib/hftrain/arguments/derive.cpp", "    data_of_glue();\n", "",
      tests=["arguments: a task of GLUE names its data where nothing else does", "runs: data sets by name: a glue task without data names its own"],
      says=r"there is no training data")

fault("a refusal of GLUE's data names a flag that nobody gave",
      "lib/hftrain/plan/run_files.cpp", 'parsed.origins.filled_in_by("dataset_name").empty() ?', 'parsed.origins.filled_in_by("dataset_name") != "x" ?',
      tests=["runs: data sets by name: a glue task without data names its own"],
      says=r"what is not in the cache")

fault("deepspeed beside deepspeed_config needs a value",
      "lib/hftrain/arguments/command_line.cpp", "    if (read_switch(flag)) return;\n", "",
      tests=["arguments: deepspeed without a value stands beside deepspeed_config"],
      says=r"mistakes\(words\)\.empty")

fault("a flag where a value is missing is taken for one that begins with a dash",
      "lib/hftrain/arguments/command_line.cpp", "const bool dash = at_ < words_.size() && !look_up(words_[at_].substr(0, words_[at_].find('=')));", "const bool dash = at_ < words_.size();",
      tests=["arguments: a flag is no value that begins with a dash"],
      says=r"begins with a dash")

fault("one node needs a host file",
      "lib/hftrain/arguments/import/launch.cpp", "if (launch_.num_nodes > 1 && !named)", "if (launch_.num_nodes > 0 && !named)",
      tests=["arguments: L10: filters choose from a host file, one way at a time"],
      says=r'"--num_nodes", "1", "--num_gpus"')

fault("an abbreviation of published commands is unknown",
      "lib/hftrain/arguments/flags/launch_flags.cpp", '       .aliases = {"nnode"},\n', "",
      tests=["arguments: abbreviations of published commands are names of their flags"],
      says=r"unknown flag --nnode")

fault("underscores in numbers of the command line are refused",
      "lib/hftrain/arguments/command_line.cpp", ".written = with_plain_numbers(flag, std::move(written)),", ".written = std::move(written),",
      tests=["arguments: numbers may have an underscore between digits"],
      says=r"'1_000' is not a whole number")

fault("underscores in numbers of JSON are taken",
      "lib/hftrain/arguments/config_file.cpp", "is_json(path_) ? meant_in_json : meant_in_yaml", "path_.empty() ? meant_in_json : meant_in_yaml",
      tests=["arguments: numbers of YAML may have an underscore between digits, and those of JSON none"],
      says=r"is not a whole number")

fault("pairs of lines by name need languages",
      "lib/hftrain/tasks/sequence_to_sequence.cpp", "if (asked.data_dir || (!columns && names_line_pairs(asked)))", "if (asked.data_dir || (columns && names_line_pairs(asked)))",
      tests=["runs: task flags: pairs of files are rows"],
      says=r"translation needs --source_lang")

fault("flags of other tasks are told behind what data lack",
      "launcher/front/inputs.cpp", "  plan::require_flags_of_task(inputs.parsed);\n", "",
      tests=["runs: bad data: summaries and translations"],
      says=r"exit code 2")

fault("a flag of a script without a task is led astray",
      "lib/hftrain/arguments/suggestions.cpp", "if (const std::string of_script = hint_for_script_flag(written); !of_script.empty()) return of_script;", "if (const std::string of_script = hint_for_script_flag(written); of_script == prefix) return of_script;",
      tests=["arguments: flags of example scripts lead to what stands for them here, or to none"],
      says=r"--task mlm")

fault("a classification of images is not told which model its script takes",
      "lib/hftrain/arguments/rules/data_rules.cpp", "return names_no_model(o) && classifies_images(o);", "return names_no_model(o) && classifies_images(o) && training(o) && evaluating(o);",
      also=[("lib/hftrain/arguments/rules/data_rules.cpp", "return names_no_model(o) && !classifies_images(o);", "return names_no_model(o);")],
      tests=["arguments: a classification of images without a model is told which one its script takes"],
      says=r"vit-base-patch16")

fault("a script's name is an unknown command and nothing more",
      "apps/hftrain/main.cpp", "  if (!instead.empty()) hint = instead;\n", "",
      tests=["apps: words of a command line from Python are told what stands for them"],
      says=r"run_ner.py")

fault("of a key that a mapping's text has twice the last one wins",
      "lib/hftrain/arguments/value.cpp", 'if (!keys.back().insert(key).second && twice.empty()) twice = key;', 'keys.back().insert(key);',
      tests=["arguments: a key that the text of a mapping has twice is told"],
      says=r"holds_alternative")

fault("a list of GPUs in a file is no text",
      "lib/hftrain/arguments/value.cpp", "to_text(flag.commas ? joined(written) : written)", "to_text(flag.commas && written.is_null() ? joined(written) : written)",
      tests=["arguments: a list of a file is the text with commas that the flag wants"],
      says=r"gpu_ids|bad_variant|variant")

fault("every tracker is on without a word beside an older release",
      "lib/hftrain/arguments/derive.cpp", 'if (!outcome_.origins.is_given("report_to"))', 'if (logging.report_to.empty())',
      tests=["arguments: report_to null of a file is the default of the release"],
      says=r"every tracker is on")

fault("an option of an optimizer that is given twice counts at last",
      "lib/hftrain/arguments/option_keys.cpp", "} else if (options.contains(pairs[0].first)) {", "} else if (options.contains(pairs[0].first) && options.empty()) {",
      tests=["arguments: an option of an optimizer that is given twice is told"],
      says=r"given twice")

fault("an empty name of DeepSpeed's file takes deepspeed away",
      "lib/hftrain/arguments/command_line.cpp", "beside = inside ? equals + 1 < words_[i].size() : !last && !words_[i + 1].empty();", "beside = inside || !last;",
      tests=["arguments: deepspeed without a value stands beside deepspeed_config"],
      says=r"needs a value")

fault("a file that says which GLUE task was trained holds on to its data",
      "lib/hftrain/arguments/print_config.cpp", 'by == "output_dir" || by == "task_name";', 'by == "output_dir";',
      tests=["arguments: a task of GLUE names its data where nothing else does"],
      says=r"# dataset_name")

fault("text of a file that is long meets an expression that calls itself",
      "lib/hftrain/arguments/value.cpp", "constexpr size_t kLongest = 64;", "constexpr size_t kLongest = 64'000'000;",
      tests=["arguments: what is written to a file is read alike by YAML 1.1"],
      says=r"SIGSEGV|crash|signal")

fault("a dataset_config_name beside a GLUE task's name takes its place",
      "lib/hftrain/arguments/derive.cpp", "    data.dataset_config_name = task;\n", "    if (!data.dataset_config_name) data.dataset_config_name = task;\n",
      tests=["arguments: a task of GLUE names its data where nothing else does"],
      says=r"mrpc")

fault("words that people have for a task lead nowhere",
      "lib/hftrain/arguments/task_words.cpp", "return did_you_mean(suggest_names(word, tasks, synonyms), \"\");", "return did_you_mean(suggest_names(word, tasks), \"\");",
      tests=["arguments: words that people have for a task lead to it"],
      says=r"squad")

fault("a summarization that names its data is no task",
      "lib/hftrain/arguments/task_words.cpp", "word.starts_with(kSummarization) && word.size()", "word.starts_with(kSummarization) && word.empty() && word.size()",
      tests=["arguments: words that people have for a task lead to it"],
      says=r"summarization_xsum")

fault("run_classification is not told as run_glue's task",
      "apps/hftrain/python_words.cpp", 'if (stem == "run_classification")', 'if (stem == "run_classify")',
      tests=["apps: words of a command line from Python are told what stands for them"],
      says=r"run_classification.py")

fault("a column of labels is only left out",
      "lib/hftrain/plan/task_flags.cpp", 'if (flag == "label_column_name" &&', 'if (flag == "label_column" &&',
      tests=["plan: flags of another task are refused by name"],
      says=r"call the column of labels")

fault("a value with a blank in it that begins with a dash is taken for a flag",
      "lib/hftrain/arguments/command_line.cpp", "(!is_flag(words_[at_]) || is_spaced_value(words_[at_]))", "(!is_flag(words_[at_]) || (is_spaced_value(words_[at_]) && words_.empty()))",
      tests=["arguments: a value with a blank in it may begin with a dash, as argparse has it"],
      says=r"needs a value")
