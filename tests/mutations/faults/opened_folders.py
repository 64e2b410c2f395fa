# Folders that transformers opens, which were refused or opened as another model.

A = "lib/hftrain/architectures/"

fault("norms that add nothing and weights that are not spread are refused",
      A + "config_values.cpp", "if (!(value >= 0) || !std::isfinite(value))", "if (!(value > 0) || !std::isfinite(value))",
      tests=["architectures: weights that all begin alike and norms that add nothing are of models, too"],
      says=r"must be 0 or more")

fault("labels whose numbers have gaps are refused",
      A + "labels.cpp", "if (!number || !name.is_string())", "if (!number || *number != static_cast<int64_t>(by_number.size()) || !name.is_string())",
      tests=["architectures: labels have the whole numbers that somebody gave them, and each counts"],
      says=r"by whole numbers")

fault("a number of a label is one only as JSON writes it",
      A + "labels.cpp", "std::string digits = trim(key);", "std::string digits = trim(key).size() < key.size() ? std::string() : key;",
      tests=["architectures: labels have the whole numbers that somebody gave them, and each counts"],
      says=r"by whole numbers")
