# What a program has from the one that started it, and what makes a check of long rows long.

fault("a parent that ignores the ends of its children keeps them from hftrain, too",
      "apps/hftrain/main.cpp", "::signal(SIGCHLD, SIG_DFL);", "::signal(SIGCHLD, SIG_IGN);",
      tests=["runs: endings: parent that ignores the ends of its children"],
      says=r"the run did not end|ended with", seconds=400)

fault("the first process of a container cannot be asked to stop",
      "apps/hftrain/main.cpp", "if (::getpid() == 1) {", "if (::getpid() == 0) {",
      tests=["runs: endings: first process of a container"],
      says=r"the run did not end|ended with 0, expected 130", seconds=400)

fault("a traced child is reaped when it seems to have ended",
      "launcher/process/child_process.cpp", "&info, WEXITED | WNOWAIT) != 0) {", "&info, WEXITED | WNOWAIT | WNOHANG) != 0) {",
      tests=["launcher: a traced child, which ends for its parent later than it seems, is waited for"],
      says=r"bad optional access")

fault("a run in a folder whose name is not UTF-8 writes into another one",
      "launcher/front/inputs.cpp", "  require_text_of_current_folder();\n", "",
      tests=["runs: before a run: a folder that is not utf8 is refused"],
      says=r"it is named, with 2|nothing is written there", seconds=300)

fault("names in a plan come to the ranks as others",
      "launcher/front/text_paths.cpp", "if (!first_invalid_utf8(text)) return;", "if (text.empty() || first_invalid_utf8(text)) return;",
      tests=["front: a plan with a name that is not UTF-8 is refused with the name, wherever it stands"],
      says=r"caf")

fault("rows that are asked to be long make a check of a made model long",
      "launcher/front/smoke_flags.cpp", "std::max<int64_t>(1, row_length / kUsualLength)", "std::max<int64_t>(1, row_length / (row_length + 1))",
      tests=["front: rows that are asked to be long are trained in fewer updates, where the model is a made one"],
      says=r"60 == 15")

fault("a named model is trained in fewer updates where its rows are long",
      "launcher/front/smoke_flags.cpp", "named_model ? 1 : std::max", "named_model && row_length == 0 ? 1 : std::max",
      tests=["front: rows that are asked to be long are trained in fewer updates, where the model is a made one"],
      says=r"3 == 6")
