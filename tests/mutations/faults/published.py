# What would be wrong with files and folders as others have published them.
OPTIMIZER = "lib/hftrain/arguments/import/deepspeed_optimizer.cpp"
PIPELINES = "lib/hftrain/tokenizer/class_pipelines.cpp"
SCHEDULE = "arguments: a scheduler section overrules a schedule that flags name, which is told"
SPACES = "tokenizer: Spaces that a class of pieces makes other tokens of are said"
SETTINGS = "tokenizer: settings beside the file are read in both spellings"

fault("a schedule of a flag that does nothing is not told of", OPTIMIZER,
      '  if (other) warn_of_idle_flag(file, "scheduler", "lr_scheduler_type", type);\n', "", tests=[SCHEDULE], says=r"has no effect")

fault("options of a schedule that does nothing go to that of the file", OPTIMIZER,
      'if (other && file.flags.given("lr_scheduler_kwargs"))', 'if (false && file.flags.given("lr_scheduler_kwargs"))',
      tests=[SCHEDULE], says=r"mistakes\(flags\)\.empty\(\)|lr_scheduler_kwargs")

fault("a section of an optimizer leaves that of the flag", OPTIMIZER,
      '    file.flags.replace("optim", optim, file.keys.place("/optimizer/type"));\n', "",
      tests=["arguments: T12: an optimizer section refuses adafactor and overrules another --optim, which is told"], says=r"optimizer\.optim")

fault("a tokenizer that makes tokens of spaces which end a text is not told of", PIPELINES,
      "if (*row.cuts_at_spaces && !cuts && !strips)", "if (*row.cuts_at_spaces && !cuts && !strips && said.size() > 99)", tests=[SPACES], says=r"ending")

fault("a tokenizer that strips such spaces is told of", PIPELINES, "!cuts && !strips)", "!cuts && (!strips || said.size() < 99))", tests=[SPACES], says=r"stripped\(true\)")

fault("a Metaspace of another scheme is not told of", PIPELINES, 'if (scheme != "always")', "if (false)", tests=[SPACES], says=r"first")

fault("the old name of a tokenizer's length is not read", "lib/hftrain/tokenizer/tokenizer.cpp",
      '"model_max_length" : "max_len";', '"model_max_length" : "model_max_length";', tests=[SETTINGS], says=r"model_max_length\(\) == 32")

fault("templates by name are refused", "lib/hftrain/chat/template_folder.cpp", "  if (held->is_object()) {\n", "  if (false) {\n",
      tests=["chat: settings of another shape are refused"], says=r"chat_template cannot be read")

fault("the model of a smoke run has few positions, whatever is asked for", "launcher/front/smoke_sample.cpp",
      "  return std::clamp(asked_length(asked), kLeast, kMost);", "  return asked_length(asked) > 0 ? kLeast : kLeast + 0 * kMost;",
      tests=["front: the model that a smoke run makes has positions for the rows that are asked for"], says=r"max_position_embeddings=1024")
