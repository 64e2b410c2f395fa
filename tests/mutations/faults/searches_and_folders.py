# Rungs of a search, what it says, its trials in reports, folders of searches and runs; completions and commands.
RUNGS = "search: asha judges every rung that a trial has passed since the last look, by the metric there"
LINES = "front: a search says which trial begins with what, and after ten seconds of silence what it waits for"
TRIALS = "report: of a search every trial is a run, with what became of it"

fault("a rung that was passed between two looks is not judged",
      "lib/hftrain/search/successive_halving.cpp", "if (rung > judged && ", "if (rung > judged && rung == metrics[own].size() && ",
      tests=[RUNGS], says=r"is_behind")

fault("a rung is judged by the newest metric", "lib/hftrain/search/successive_halving.cpp", "badness(metrics[own][rung - 1])", "badness(metrics[own].back())",
      tests=[RUNGS], says=r"is_behind")

fault("a trial is told when it ends alone", "launcher/front/trial_lines.cpp", "  console_.line(name_of_trial(trial) + (again", "  if (again) console_.line(name_of_trial(trial) + (again",
      tests=[LINES, "runs: search: every trial is told when it begins"], says=r"begins|before it ends")

fault("a search waits in silence", "launcher/front/trial_lines.cpp", "now < since_ + wait_) return;", "now < since_ + 1e6) return;",
      tests=[LINES], says=r"still waiting")

fault("a quiet search tells of each trial", "launcher/front/trial_lines.cpp", "  failed ? console_.result(text) : console_.line(text);", "  console_.result(failed ? text : text);",
      tests=["front: a quiet search says what failed and why it stops, and no more"], says=r"complete")

fault("a report leaves out trials that failed at once", "lib/hftrain/report/search_runs.cpp", "    if (!name.empty()) listed", "    if (!name.empty() && holds_run(fs::path(path) / name)) listed",
      tests=[TRIALS, "runs: search: a report shows trials that failed at once"], says=r"no such file|its reason")

fault("a report does not say that a trial was pruned", "lib/hftrain/report/search_runs.cpp", "  if (state == \"pruned\") return", "  if (state == \"pruned\" && own.empty()) return",
      tests=[TRIALS], says=r"pruned")

fault("arguments that a failed trial does not know are listed as different", "lib/hftrain/report/sections.cpp", "    if (!unknown) cells", "    if (!unknown || run.plan.empty()) cells",
      tests=[TRIALS], says=r"bf16")

fault("a live page does not see what becomes of a trial", "lib/hftrain/report/search_runs.cpp", "    text += dump_json(trial.written, -1) + ' ' + fingerprint", "    text += fingerprint",
      tests=["report: the state of a trial is part of what a live page watches"], says=r"before")

fault("a run begins in the folder of a search", "launcher/front/output_stage.cpp", "  if (!moves_aside) refuse_folder_of_search(inputs);", "  if (!moves_aside && plan.output_dir == \"none\") refuse_folder_of_search(inputs);",
      tests=["front: a run is refused in the folder of a search, with the ways out"], says=r"decide_resume")

fault("a search begins in the folder of a run", "apps/hftrain/commands/search.cpp", "  front::refuse_folder_of_run(inputs);\n", "",
      tests=["runs: search: a search and a run keep to folders of their own"], says=r"ends with 2")

fault("zsh offers files behind a flag that may stand alone", "lib/hftrain/arguments/completion.cpp", "    if (( $#values )); then", "    if (( $#values > 9 )); then",
      tests=["runs: completions: zsh completes with a sourced script"], says=r"--bf16")

fault("an unknown command is told those that nobody types", "apps/hftrain/main.cpp", "  std::string hint = hftrain::did_you_mean(", "  names.emplace_back(\"hosted\");\n  std::string hint = hftrain::did_you_mean(",
      tests=["apps: what no user types is named to none"], says=r"hosted")

fault("prepare names an output folder", "apps/hftrain/commands/prepare.cpp", "  std::erase_if(parsed.notes, arguments::is_about_output_folder);\n", "",
      tests=["apps: prepare says nothing of an output folder, which it does not write"], says=r"trainer_output")

fault("a search warns of trials that there are not", "apps/hftrain/commands/search.cpp", "std::min(slots, specification.trial_count());", "std::max<size_t>(slots, specification.trial_count() > 0);",
      tests=["runs: search: mistakes of file and flags are told at once"], says=r"there is one trial|too many")
