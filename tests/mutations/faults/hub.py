# Pushes and fetches: what a server does, or does not do, and what a push holds, replaces and tells.

fault("a fetch waits for another one without a word",
      "lib/hftrain/hub/blob_download.cpp", "      waits();\n", "",
      tests=["runs: fetch: a fetch that waits for another says so"],
      says=r"FAILED: the second says what it waits for")

fault("a data set of pickles and a README is fetched without its rows",
      "lib/hftrain/hub/chosen_files.cpp", "std::none_of(chosen.taken.begin(), chosen.taken.end(), may_have_rows)", "chosen.taken.empty()",
      tests=["hub: chosen files: a data set whose rows are all pickles is refused, whatever tells of it"],
      says=r"no exception was thrown|CHECK_THROWS_AS")
