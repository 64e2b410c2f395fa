# What the contract says of files to the letter.

fault("keys of a section that is off are not looked at",
      "lib/hftrain/arguments/import/deepspeed_keys.cpp", "     .keys = deepspeed_tables::tensor_parallel(),\n", "",
      tests=["arguments: keys that DeepSpeed does not know are refused in sections that are off, too"],
      says=r"tp_size")

fault("a key is sent to a section that is refused as a whole",
      "lib/hftrain/arguments/import/section_check.cpp",
      "    if (key.support.status == Support::kRefused) continue;\n    const std::string inner", "    const std::string inner",
      tests=["arguments: keys that DeepSpeed does not know are refused in sections that are off, too"],
      says=r"belongs in tensor_parallel")

fault("an empty section of a key that is gone is no truth value",
      "lib/hftrain/arguments/import/deepspeed_keys.cpp", """{.name = "sparse_gradients",
     .type = Type::kMapping,""", """{.name = "sparse_gradients",
     .type = Type::kBool,""",
      tests=["arguments: every form of off is taken of keys that are gone"],
      says=r"sparse_gradients")

fault("false in JSON is no word of a flag that has one for it",
      "lib/hftrain/arguments/yaml_meaning.cpp", "return is_truth ? Json(text == \"true\") : written;", "return is_truth ? Json(text) : written;",
      tests=["arguments: false in JSON is the no of a flag that has one, as it is behind a reader of YAML"],
      says=r"eval_strategy|false")

fault("a file that does not say how many ranks there are is taken without a question",
      "lib/hftrain/arguments/import/accelerate_layers.cpp", "if (ranks_are_started || std::any_of(", "if (ranks_are_started || left_open.written.is_null() || std::any_of(",
      tests=["arguments: num_processes -1, or none, asks for it on the command line, as for accelerate launch"],
      says=r"no num_processes|num_processes N")

fault("a wrong key in the file of a mapping is laid to the command line",
      "lib/hftrain/arguments/merge.cpp", 'part ? file_of_mapping(raw.written) : ""', 'part ? file_of_mapping(Json()) : ""',
      tests=["arguments: a wrong key in a file that stands for a mapping is reported at its own place"],
      says=r"2:16")
