# Faults of tasks that plug-ins describe.

RUNS = "runs: tasks of plug-ins do what their page says"

fault("a worker reads a plan before it knows the task that the plan's plug-in describes",
      "apps/hftrain-worker/run_rank.cpp", "if (const auto plugin = plan::plugin_of_plan(plan)) trainer::learn_task(*plugin);", "",
      tests=[RUNS],
      says=r"a_task_is_learned|ended with|FAILED", seconds=900)

fault("a stream of described labels has nothing to pad by, since nothing was prepared",
      "launcher/front/data_stage.cpp",
      "if (prepared) add_stream(request, stream_of(request), *prepared);", "if (prepared) prepared->stream = stream_of(request);",
      tests=[RUNS],
      says=r"ended with|FAILED|the losses of the rows in their order", seconds=900)

fault("beside a plug-in every flag takes every word",
      "lib/hftrain/arguments/merge.cpp", "given_.count(raw.flag->words_of_file) > 0", 'given_.count("plugin") > 0',
      tests=["arguments: beside a plug-in, which may describe a task, every name of a task is taken"],
      says=r"'poetry' is not one of")

fault("labels of another kind than the described one are trained on",
      "lib/hftrain/tasks/described_recipe.cpp", "if (found.kind() == kind_of(task.labels)) return found;", "return found;",
      tests=["tasks: rows that are not as described are refused with the name of what is missing or wrong"],
      says=r"the labels are not those that the plug-in describes|other")

fault("labels that a description names are looked for in the rows",
      "lib/hftrain/tasks/described_recipe.cpp", "if (!recipe.facts.is_null()) {", "if (false) {",
      tests=["tasks: rows whose labels are described can be streamed, by a recipe that is made again of its settings"],
      says=r"recipe\.settings\.is_null")

fault("what follows a text is learned together with the text",
      "lib/hftrain/tasks/continuation_encoder.cpp", "std::fill_n(labels.begin(), std::min(given, labels.size()), kOfTheText);", "",
      tests=["tasks: of a text and what is to follow it only what follows has labels"],
      says=r"labels\.at\(i\) == ")

fault("a class of kept scores is the first one",
      "lib/hftrain/tasks/class_scorer.cpp", "best.push_back(std::max_element(row.begin(), row.end()) - row.begin());",
      "best.push_back(row.begin() - row.begin());",
      tests=["tasks: kept scores of classes are judged by the largest, and several numbers one by one"],
      says=r'"accuracy", 0\.5')

fault("a plug-in reports what its description does not name",
      "lib/hftrain/trainer/plugin_metrics.cpp", "if (std::ranges::find(described, name) == described.end())", "if (name.empty())",
      tests=["trainer: metrics come in the described order, and what is not described ends the run in words"],
      says=r"it gives 'c'")

fault("a model is judged by labels whose numbers it has otherwise",
      "lib/hftrain/tasks/described_recipe.cpp", "if (named->names() == task.names) return;", "return;",
      tests=["tasks: a model that is only judged has the labels that the description names, number by number"],
      says=r"its label 0|trained for other labels")

fault("a metric of two classes waits for the first evaluation of three",
      "lib/hftrain/tasks/described_task.cpp", "if (!of_two || labels.kind()", "if (of_two || !of_two || labels.kind()",
      tests=["tasks: a metric of two classes is refused for three before anything is trained"],
      says=r"is of two classes")

fault("what follows a text stands behind its end",
      "lib/hftrain/tasks/continuation_encoder.cpp", "if (ends_behind(ids, *end) > ends_behind(alone, *end)) ids.pop_back();", "",
      tests=["tasks: what follows a text stands before the end that the tokenizer puts behind every text"],
      says=r"count\(ids, end\) == 1")

fault("a metric that a plug-in gives twice is used once",
      "lib/hftrain/trainer/plugin_metrics.cpp", "given.size() != described.size()", "given.size() < described.size()",
      tests=["trainer: metrics come in the described order, and what is not described ends the run in words"],
      says=r"it gives a metric twice")

fault("a model without the head of a described task is judged by one that knows nothing",
      "lib/hftrain/tasks/described_recipe.cpp", "  require_trained_head(input);\n", "",
      tests=["tasks: a model that is only judged has the head of a described task, with as many labels where it names none"],
      says=r"the model has no labels")

fault("a model with another number of labels than are described is judged",
      "lib/hftrain/tasks/described_recipe.cpp", "if (!named) return check_count_of_model(task, input, config);", "if (!named) return;",
      tests=["tasks: a model that is only judged has the head of a described task, with as many labels where it names none"],
      says=r"its labels are 3, without names")

fault("what a key of a description says reaches the terminal as it is",
      "lib/hftrain/tasks/description_keys.cpp", "is \" + printable(is), hint);", "is \" + is, hint);",
      tests=["tasks: each key of a description is refused in words when it says what cannot be"],
      says=r"x9b2J|u202e")

fault("a tab in the name of a label is taken",
      "lib/hftrain/tasks/description_keys.cpp", " && read.find('\\t') == read.npos", "",
      tests=["tasks: each key of a description is refused in words when it says what cannot be"],
      says=r"/labels/names")

fault("a task is described under the name that stands for none",
      "lib/hftrain/tasks/described_task.cpp", 'name == "null";', "name.empty();",
      tests=["tasks: a described task is one of the table, once, and takes nobody's name"],
      says=r"it is called 'null'")

fault("what follows a long text is cut off without a word",
      "lib/hftrain/tasks/continuation_encoder.cpp", "if (continues && given >= ids.size()) ++uncounted_;", "",
      tests=["tasks: rows whose text leaves no room for what follows are told of, and the tokenizer says where they are cut"],
      says=r"has no token that counts")

fault("a text and what follows are cut at their end, wherever the tokenizer cuts",
      "lib/hftrain/tasks/continuation_encoder.cpp", "tokenizer_->truncates_from_left() ? ids.size() - limit : 0;", "0;",
      tests=["tasks: rows whose text leaves no room for what follows are told of, and the tokenizer says where they are cut"],
      says=r"last\.first|cut at its beginning")

fault("a library for another kind of machine is taken for a plug-in",
      "lib/hftrain/base/elf_section.cpp", "header->e_type == ET_DYN && of_machine;", "header->e_type == ET_DYN && (of_machine || true);",
      tests=["base: a library for another kind of machine is none here", "plan: what is no plug-in is a mistake of the command line"],
      says=r"is_shared_library|no shared library for this machine|no_library")

fault("a configuration is printed with a task that nobody knows",
      "launcher/front/inputs.cpp", "if (plugin) open_plugin(*plugin);\n  plan::task_row(parsed);", "if (plugin) open_plugin(*plugin);",
      tests=["runs: tasks of plug-ins have labels of every kind, are planned and checked, or refused in words"],
      says=r"topic-tag|expected 2")
