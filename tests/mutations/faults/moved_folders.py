# A run that writes on under the name of a folder that has moved away, or stops because of one that has not.

PLACE = "lib/hftrain/storage/output_place.cpp"
CHECKPOINTER = "lib/hftrain/checkpoint/checkpointer.cpp"

fault("a folder that was moved away is in place as long as something has its name",
      PLACE, "text == begun_with || text == lock_text(own) ? LockThere::kOwn", "text == begun_with || text != lock_text(own) ? LockThere::kOwn",
      tests=["storage: a folder that was moved away is found where it is, and who has its name is told"],
      says=r"FAILED|another run")

fault("a lock that somebody removed stops the run",
      PLACE, "(there == LockThere::kNone && is_still_at(own_folder_, own_folder_of(output_dir_)))", "(there == LockThere::kNone && !is_still_at(own_folder_, own_folder_of(output_dir_)))",
      tests=["storage: neither a lock that was removed nor one with another number is an alarm"],
      says=r"place\.in_place\(\)")

fault("a save begins under the name of a folder that has moved away",
      CHECKPOINTER, "    if (!commits()) return;\n    place_.check();", "    if (!commits()) return;",
      tests=["runs: moved folders: a run whose folder is moved away stops and says where it is"],
      says=r"FAILED")

fault("the last model makes a folder anew that was removed",
      "lib/hftrain/checkpoint/model_exporter.cpp", "      place_.check();\n      files_.make_directory(folder);", "      files_.make_directory(folder);",
      tests=["runs: moved folders: a folder that is removed is not made again for the last model"],
      says=r"FAILED")

fault("half a launcher's variables are passed over in a notice",
      "launcher/environments/rank_variables.cpp", "std::string(kWarningNotice) + listed(seen)", "listed(seen)",
      tests=["launcher: half a set of variables that names no job is named and not used"],
      says=r"warning: ")

fault("a run of the same process number and machine is taken for one's own",
      "lib/hftrain/storage/run_directory.cpp", '+ host + "\\nbegun " +\n         std::to_string(', '+ host + "\\nbegun " +\n         std::to_string(0 * ',
      tests=["storage: a folder that was removed is not in place, made anew or not"],
      says=r"place\.in_place\(\)")

fault("signs of Chinese that a tokenizer's config keeps together are passed over",
      "lib/hftrain/tokenizer/unheeded_settings.cpp", 'settings.truth("tokenize_chinese_chars").value_or(true)', 'settings.truth("tokenise_chinese_chars").value_or(true)',
      tests=["tokenizer: What transformers builds of tokenizer_config.json and the pipeline does not have is said"],
      says=r"tokenize_chinese_chars is false")
