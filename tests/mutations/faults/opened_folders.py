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

fault("bounds of RoPE that are one are refused",
      A + "rope_config.cpp", '  if (!(typed.factor > 0)) throw', '  if (typed.scaling == RopeScaling::kBanded && typed.high_freq_factor <= typed.low_freq_factor) throw refused(origin, "bounds", kTurnsBy);\n  if (!(typed.factor > 0)) throw',
      tests=["architectures: a RoPE whose two bounds are one, or turned round, has no angles between them"],
      says=r"bounds")

fault("a length is divided by a bound of RoPE that is 0",
      A + "rope_config.cpp", 'if (!(value > 0)) throw refused(origin, std::string(key)', 'if (!(value >= 0)) throw refused(origin, std::string(key)',
      tests=["architectures: a RoPE whose two bounds are one, or turned round, has no angles between them"],
      says=r"must be above 0")

fault("numbers that are not finite are written in words that are no JSON",
      A + "tagged_numbers.cpp", "value.is_number_float() && !std::isfinite", "value.is_number_integer() && !std::isfinite",
      tests=["architectures: a number that is not finite is read in both of its spellings, and written in one that is JSON"],
      says=r"__float__")

fault("an infinite number that transformers wrote is an object here",
      A + "tagged_numbers.cpp", "value.is_object() && value.size() == 1", "value.is_object() && value.size() == 2",
      tests=["architectures: a number that is not finite is read in both of its spellings, and written in one that is JSON"],
      says=r"it is Infinity")

fault("a decoder has the layers that an alias gives the encoder",
      A + "config_schema.cpp", "if (key.empty() || !config.value(key, Json()).is_null()) return;", "if (key.empty() || !config.empty()) return;",
      tests=["architectures: what transformers makes of a key counts before the other spelling of it"],
      says=r"std::pair\(2, 3\)")

fault("an output matrix that a T5's config calls untied is looked for in files that have none",
      "lib/hftrain/plan/stored_ties.cpp", "if (!architecture->ties_by_files() ||", "if (!architecture->ties_by_files() || config.size() > 1 ||",
      tests=["plan: a family whose output matrix transformers always ties is tied unless the files have another one"],
      says=r"opened\(tie, \"\"\)")

fault("an output matrix of its own that the config names is told as one that it ties",
      "lib/hftrain/plan/stored_ties.cpp", "return as_one == architecture ? with_own_matrix(*architecture, tied, weights, origin) : architecture;",
      "return with_own_matrix(*as_one, tied, weights, origin);",
      tests=["plan: a family whose output matrix transformers always ties is tied unless the files have another one"],
      says=r"has_own_matrix")

fault("answers of a decoder lose the names of its labels",
      A + "gpt2.cpp", ".fixed_answers = true,", ".fixed_answers = false,",
      tests=["architectures: the labels of another head do not become scores of answers"],
      says=r"label2id")

fault("a run goes on with the state of another optimizer",
      "lib/hftrain/plan/resolve.cpp", "  check_resumed_optimizer(input, plan, problems);\n", "",
      tests=["plan: a run that goes on with another optimizer is refused, or told where it takes the same moments"], says=r"refused|CHECK")

fault("AdamW by another of its names is another optimizer to a run that goes on",
      "lib/hftrain/plan/resume_notes.cpp", 'return optimizer == "adamw_torch" || optimizer == "adamw_hf" ? "adamw_torch_fused" : optimizer;', "return optimizer;",
      tests=["plan: a run that goes on with another optimizer is refused, or told where it takes the same moments"], says=r"outcome\(same")

fault("YaRN's temperature is left out", "lib/hftrain/nn/rotary.cpp", "(setting.attention_factor == 1 ? of_angles : of_angles * setting.attention_factor)", "(setting.attention_factor > 0 ? of_angles : of_angles * setting.attention_factor)",
      tests=["nn: YaRN keeps quick frequencies, divides slow ones by the factor, and scales both tables"], says=r"tables.cos")

fault("a model with dynamic RoPE takes any length", A + "llama.h", "bounded_positions() const override { return config_.rope.bounded; }", "bounded_positions() const override { return false; }",
      tests=["plan: a block beyond the position embeddings is refused, beyond a rotary model's positions it is not"], says=r"dynamic")
