# Programs with a Trainer of their own, searches, and what is told of conversations.

OF_PROGRAMS = "runs: programs with a Trainer of their own, built against the installed tree, do what their page says"

fault("flags beside an optimizer of a program's are passed over without a word",
      "apps/hftrain-worker/program/rank.cpp", "if (made) say_idle(", "if (!made) say_idle(",
      tests=[OF_PROGRAMS],
      says=r"that is told once")

fault("flags beside a schedule of a program's are told where nobody gave them",
      "apps/hftrain-worker/program/rank.cpp", "value == arguments::default_in(flag, plan.release)", "value.empty()",
      tests=[OF_PROGRAMS],
      says=r"what it is handed acts|that is told once")

fault("a program's optimizer under OneCycle keeps its momentum without a word",
      "apps/hftrain-worker/program/rank.cpp", "if (made && !own_schedule) say_still_momentum();", "if (made && own_schedule) say_still_momentum();",
      tests=[OF_PROGRAMS],
      says=r"OneCycle: the momentum does not cycle")

fault("who goes on without the program is told to name its schedule as a flag's",
      "lib/hftrain/plan/resume_notes.cpp", "(input.saved->schedule == kOwn ?", "(input.saved->schedule.empty() ?",
      tests=["plan: a run goes on with another schedule where both are functions of the step, and is refused otherwise"],
      says=r"the program that the checkpoint is from where")

fault("a method that hides one of Trainer compiles, and is never called",
      "lib/hftrain/program/trainer.h", "HFTRAIN_CHECK_METHOD(compute_loss);", "",
      tests=["runs: programs that do what they may not end in words"],
      says=r"the compiler says so")

fault("a program's loader goes on in the middle of an epoch of other ranks",
      "lib/hftrain/trainer/resuming.cpp", 'saved.value("world_size", communicator_.world_size()) != communicator_.world_size();', 'saved.value("world_size", communicator_.world_size()) < 0;',
      tests=[OF_PROGRAMS],
      says=r"ends with 2")

fault("a program logs its own number as a record's step",
      "apps/hftrain-worker/program/rank.cpp", "std::ranges::count(reporting::kRecordPlaces, name) > 0", "false",
      tests=["runs: programs that do what they may not end in words"],
      says=r"ends with 1")

fault("a loss without a gradient ends in the words of LibTorch",
      "lib/hftrain/trainer/plugin_loss.cpp", "if (!at::GradMode::is_enabled() || loss.requires_grad()) return;", "if (!at::GradMode::is_enabled() || loss.defined()) return;",
      tests=["trainer: a loss from which no gradient flows is refused in words, recomputed or not"],
      says=r"told\.what|told\.why|due to unexpected exception")

fault("the card of a program's model names the optimizer of the flags",
      "lib/hftrain/trainer/trainer.cpp", "if (made) makers_.optimizer = program;", "if (!made) makers_.optimizer = program;",
      tests=[OF_PROGRAMS],
      says=r"the card names it")

fault("the card of a program's model names the schedule of the flags",
      "lib/hftrain/trainer/trainer.cpp", "if (extensions.rate_factor) makers_", "if (!extensions.rate_factor) makers_",
      tests=[OF_PROGRAMS],
      says=r"the card names it")

fault("a plug-in of a file is replaced by that of the command line without a word",
      "lib/hftrain/arguments/merge.cpp", "if (flag.given_once) tell_replaced(", "if (flag.given_once && winner.value.is_null()) tell_replaced(",
      tests=["arguments: a plug-in of a file that another one replaces is told, with both places"],
      says=r"has no effect")

fault("an answer that begins a conversation is refused where a template has no marks",
      "lib/hftrain/chat/answers.cpp", "opening.empty() ? std::string::npos : before_words.rfind(opening)", "before_words.empty() ? before_words.rfind(opening) : std::string::npos",
      tests=["tasks: instruction data: a template without marks counts what it writes behind its opening of an answer"],
      says=r"does not mark what the assistant says")

fault("what was remarked of rows is told by the run alone that prepares them",
      "lib/hftrain/data/token_cache.cpp", 'if (record.contains("remarks"))', 'if (record.contains("remark"))',
      tests=["tasks: instruction data: what was remarked of rows is told again where they were prepared before"],
      says=r"told\(\) ==")

fault("a search whose trials evaluate nothing trains one before it says so",
      "apps/hftrain/commands/search_checks.cpp", "if (mistakes.none() && !measures)", "if (!mistakes.none() && !measures)",
      tests=["runs: search: a search that would measure nothing is refused before a trial"],
      says=r"eval_loss is of evaluations|ends with 2")

fault("a key of the file of --search among the flags is a flag that was misspelt",
      "apps/hftrain/commands/search_checks.cpp", "if (!search::is_search_key(key)) return mistake;", "if (search::is_search_key(key)) return mistake;",
      tests=["runs: search: mistakes of file and flags are told at once"],
      says=r"all of them")

fault("mistakes of a search's flags wait until its file has none",
      "apps/hftrain/commands/search_checks.cpp", "if (!problems.empty()) mistakes.add(", "if (problems.empty()) mistakes.add(",
      tests=["runs: search: mistakes of file and flags are told at once"],
      says=r"all of them")

fault("what a search refuses of its flags is told one at a time",
      "apps/hftrain/commands/search_checks.cpp", "  tell_overruled(context, request, specification, mistakes);\n", "  mistakes.finish();\n  tell_overruled(context, request, specification, mistakes);\n",
      tests=["runs: search: mistakes of file and flags are told at once"],
      says=r"all of those, each once")

fault("a number of trials at a time that is none is answered with twenty",
      "lib/hftrain/search/specification.cpp", 'reader.count(written, "parallel", 1, 1024, 1)', 'reader.count(written, "parallel", 1, 1024, 20)',
      tests=["runs: search: mistakes of file and flags are told at once"],
      says=r"all of them")

fault("of a metric that a program gives twice one number is lost",
      "apps/hftrain-worker/program/rank.cpp", "!names.insert(name).second || of_evaluation", "(names.insert(name).second && name.empty()) || of_evaluation",
      tests=["runs: programs that do what they may not end in words"],
      says=r"ends with 1")

fault("a search of before whose choices of texts were numbers is another one",
      "lib/hftrain/search/study.cpp", "  take_choices_of(search, specification_.space);\n", "  if (search.is_null()) take_choices_of(search, specification_.space);\n",
      tests=["search: a search of before whose choices of texts were numbers goes on with them"],
      says=r"another search")

fault("010 in a file is ten",
      "lib/hftrain/arguments/yaml_numbers.cpp", "of_base(text, 8)", "of_base(text, 10)",
      tests=["arguments: numbers of YAML are those of PyYAML, and no other scalar is taken for one",
             "arguments: numbers of YAML 1.1 count without quotes, in mappings and choices too, and not on a command line"],
      says=r"decimal|max_steps")

fault("1:30 in a file is no number",
      "lib/hftrain/arguments/yaml_numbers.cpp", "if (colon < text.size()) return of_base_60(text.substr(0, colon), text.substr(colon), \"\");",
      "if (colon < text.size()) return std::nullopt;",
      tests=["arguments: numbers of YAML are those of PyYAML, and no other scalar is taken for one"],
      says=r"decimal")
