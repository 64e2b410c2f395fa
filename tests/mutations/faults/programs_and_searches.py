# Programs with a Trainer of their own, searches, and what is told of conversations.

OF_PROGRAMS = "runs: programs with a Trainer of their own, built against the installed tree, do what their page says"

fault("a plug-in of a file is replaced by that of the command line without a word",
      "lib/hftrain/arguments/merge.cpp", "if (flag.given_once) tell_replaced(", "if (flag.given_once && winner.value.is_null()) tell_replaced(",
      tests=["arguments: a plug-in of a file that another one replaces is told, with both places"],
      says=r"has no effect")

fault("an answer that begins a conversation is refused where a template has no marks",
      "lib/hftrain/chat/answers.cpp", "opening.empty() ? std::string::npos : before_words.rfind(opening)", "before_words.empty() ? before_words.rfind(opening) : std::string::npos",
      tests=["tasks: instruction data: a template without marks counts what it writes behind its opening of an answer"],
      says=r"does not stand before one that begins")

fault("what was remarked of rows is told by the run alone that prepares them",
      "lib/hftrain/data/token_cache.cpp", 'if (record.contains("remarks"))', 'if (record.contains("remark"))',
      tests=["tasks: instruction data: what was remarked of rows is told again where they were prepared before"],
      says=r"told\(\) ==")
