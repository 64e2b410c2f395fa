# Commands that pages and blogs have, as they stand.

fault("a task of GLUE without data has none",
      "lib/hftrain/arguments/derive.cpp", "    data_of_glue();\n", "",
      tests=["arguments: a task of GLUE names its data where nothing else does", "runs: data sets by name: a glue task without data names its own"],
      says=r"there is no training data")

fault("a refusal of GLUE's data names a flag that nobody gave",
      "lib/hftrain/plan/run_files.cpp", 'parsed.origins.filled_in_by("dataset_name").empty() ?', 'parsed.origins.filled_in_by("dataset_name") != "x" ?',
      tests=["runs: data sets by name: a glue task without data names its own"],
      says=r"what is not in the cache")
