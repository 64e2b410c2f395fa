# Folders that transformers opens, which were refused or opened as another model.

A = "lib/hftrain/architectures/"

fault("norms that add nothing and weights that are not spread are refused",
      A + "config_values.cpp", "if (!(value >= 0) || !std::isfinite(value))", "if (!(value > 0) || !std::isfinite(value))",
      tests=["architectures: weights that all begin alike and norms that add nothing are of models, too"],
      says=r"must be 0 or more")
