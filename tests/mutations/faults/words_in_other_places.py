# Words that stand in another place than the one that knows them: keys of other sections, files of other flags, tokens of other names.
CHECK = "lib/hftrain/arguments/import/section_check.cpp"
SECTIONS = "lib/hftrain/arguments/import/accelerate_sections.cpp"
OF_DEEPSPEED = "arguments: a key of another section is refused with the section that has it"
OF_ACCELERATE = "arguments: a key of another section of an Accelerate file is refused with the section that has it"

fault("a key of another section of a DeepSpeed file is told by names that are like it", CHECK, "std::string hint = belongs_in(name, sections);", "std::string hint;",
      tests=[OF_DEEPSPEED], says=r"initial_scale_power")

fault("params of another schedule are sent to where they stand", CHECK, "  std::erase(sections, dotted(", "  if (sections.empty()) std::erase(sections, dotted(",
      tests=[OF_DEEPSPEED], says=r"total_num_steps")

fault("a key is sent to a section that refuses it", CHECK, "if (key.support.status == Support::kRefused) continue;", "",
      tests=[OF_DEEPSPEED], says=r"zero_quantized_weights")

fault("params of an optimizer or a schedule are known where they stand alone", CHECK, "key.possible == nullptr ? key.keys : key.possible()", "key.keys",
      tests=[OF_DEEPSPEED], says=r"lr belongs|warmup_num_steps")

fault("a key of another section of an Accelerate file is to be left out", "lib/hftrain/arguments/import/accelerate_document.cpp",
      "std::string hint = belongs_in(name, sections_with(name));", "std::string hint;",
      tests=[OF_ACCELERATE], says=r"fsdp_sharding_strategy")

fault("the name of a section is taken for one of its keys", SECTIONS, " && !is_of_top(name))", ")",
      tests=[OF_ACCELERATE], says=r"config belongs")

fault("an Accelerate file in the place of fsdp_config is a mistake for each of its keys", "lib/hftrain/arguments/import/fsdp.cpp",
      'if (section && refuse_other_kind(*section, "fsdp_config", problems_)) return std::nullopt;', "",
      tests=["arguments: a configuration that another flag takes is one mistake in the place of fsdp_config, which names that flag"],
      says=r"this is a configuration of")
