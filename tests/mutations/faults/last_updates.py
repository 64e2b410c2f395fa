# Faults of what counts in a loss, of the ends of runs, and of keys and numbers that others wrote.

fault("keys of a section without effect are not looked at",
      "lib/hftrain/arguments/import/section_check.cpp", "if (!key.keys.empty() && !is_off) check_mapping", "if (!key.keys.empty() && acts) check_mapping",
      tests=["arguments: keys of sections without effect are those that DeepSpeed knows, and so are words"],
      says=r"did you mean verbose|unknown key|prof_all|not a mapping")
