# What a run reports: TensorBoard's dashboards, trackers that are away, the page that asks nobody, and the folder for a GPU's day.

fault("TensorBoard is told no arguments of the run",
      "lib/hftrain/reporting/reporters.cpp", '  sink->hparams(parse_json(run.arguments, "the arguments of the run"), run.started);\n', "",
      tests=["reporting: TensorBoard's HPARAMS have the arguments and scalars of every run", "runs: a run keeps: trackers get every record"],
      says=r"AssertionError|what HPARAMS shows")

fault("a bool among the arguments is a number in HPARAMS",
      "lib/hftrain/reporting/tensorboard_summary.cpp", "  if (value.is_boolean()) return ProtobufMessage().varint(kBool, value.get<bool>() ? 1 : 0);",
      "  if (value.is_boolean()) return ProtobufMessage().float64(kNumber, value.get<bool>() ? 1 : 0);",
      tests=["reporting: TensorBoard's HPARAMS have the arguments and scalars of every run"],
      says=r"AssertionError")

fault("a run that was stopped is a success in HPARAMS",
      "lib/hftrain/reporting/tensorboard_summary.cpp", "how == RunEnd::kFinished ? kSuccess : kFailure;", "how != RunEnd::kFailed ? kSuccess : kFailure;",
      tests=["reporting: TensorBoard's HPARAMS have the arguments and scalars of every run"],
      says=r"AssertionError")

fault("a tracker that is away for a weekend is given up",
      "lib/hftrain/reporting/background_reporter.h", "kMostWaiting = 100'000;", "kMostWaiting = 10'000;",
      tests=["reporting: a server that is away for a weekend costs no record, and little memory"],
      says=r"warnings\.lines\(\)\.empty\(\)")

fault("the page of runs asks another host for a picture",
      "lib/hftrain/report/page.cpp", "\"'unsafe-inline'; script-src 'unsafe-inline'; connect-src \")", "\"'unsafe-inline'; img-src http:; script-src 'unsafe-inline'; connect-src \")",
      also=[("lib/hftrain/report/page.cpp", '"</h1><div id=controls></div></header>', '"</h1><img src=\\"http://elsewhere.example/a.png\\"/><div id=controls></div></header>')],
      tests=["runs: report: a browser draws it and asks nobody"],
      says=r"nobody is asked for anything")

fault("libraries of the build's machine are not packed",
      "scripts/gpu/pack", 'while read -r library; do cp -L "$library" "$out/lib/"; done', "while read -r library; do :; done",
      tests=["runs: the day of the GPU: a packed folder is carried and rehearses elsewhere"],
      says=r"finds all that it loads in the folder")

fault("the other side of a step is not packed",
      "scripts/gpu/pack", 'cp "$source_dir/scripts/bench/peer_trainer.py" "$out/scripts/bench/"\n', "",
      tests=["runs: the day of the GPU: a packed folder is carried and rehearses elsewhere"],
      says=r"the other side of the step peers is there")

fault("a day's call that is killed keeps nothing of its step",
      "scripts/gpu/trial.py", 'self.rows[-1]), flush=True)\n            self.save()\n', 'self.rows[-1]), flush=True)\n',
      tests=["runs: the day of the GPU: a matrix adds up over calls that are killed or run out of time"],
      says=r"families\.json")

fault("a day's step that was cut short counts as done",
      "scripts/gpu/day", "                return record.write(trial, time.monotonic() - begin, False)\n", "                return record.write(trial, time.monotonic() - begin, True)\n",
      tests=["runs: the day of the GPU: a matrix adds up over calls that are killed or run out of time"],
      says=r"what had no time is not done")

fault("a part of the families takes the place of the others' rows",
      "scripts/gpu/day", 'if self.asked and row["name"].split(",")[0] not in self.asked]', "if not self.asked]",
      tests=["runs: the day of the GPU: a matrix adds up over calls that are killed or run out of time"],
      says=r"one is run again and the others stay")

fault("the day's model that cannot fit is a small one",
      "scripts/gpu/fault_steps.py", "    flags = deep(math.ceil(", "    flags = deep(0 * math.ceil(",
      also=[("scripts/gpu/fault_steps.py", '["activations"] / 100)))\n', '["activations"] / 100)) + 2)\n')],
      tests=["runs: the day of the GPU: every step is rehearsed and a second call goes on"],
      says=r"the rehearsal holds")

fault("the day's kernels look for the driver in their own folders alone",
      "scripts/gpu/steps.py", ', os.environ.get("LD_LIBRARY_PATH")]', "]",
      tests=["runs: the day of the GPU: what only a gpu can show is told as it is"],
      says=r"where was looked")

fault("a card names no data sets of the Hub",
      "lib/hftrain/reporting/model_card.cpp", 'if (!card.datasets.empty()) head += "datasets:\\n";', "",
      tests=["reporting: the head names the library that opens the folder, and data sets of the Hub"],
      says=r"datasets:")

fault("a record behind an evaluation has the rate of an update that does not come",
      "lib/hftrain/trainer/logging.cpp", "habits.logs_next_rate() ? schedule_->rate()", "habits.logs_next_rate() || schedule_->watches_metric() ? schedule_->rate()",
      tests=["runs: loop options: a record behind an evaluation has the rate that was used"],
      says=r"the last evaluation lowered the rate")

fault("a card tells betas of optimizers that have none",
      "lib/hftrain/trainer/run_card.cpp", 'if (optimizer.name.find("adam") != std::string::npos) {', "if (!optimizer.name.empty()) {",
      tests=["runs: loop options: a record behind an evaluation has the rate that was used"],
      says=r"the card has its options and no betas")

fault("a card does not name the data set of --dataset_name",
      "lib/hftrain/plan/resolve_data.cpp", '  data.dataset_name = arguments.data.dataset_name.value_or("");\n', "",
      tests=["runs: adapters: an adapter of a model of the hub names it"],
      says=r"the card names the data set")

fault("an argument that nobody gave hides what the model's config says from trackers",
      "lib/hftrain/reporting/configuration.cpp", "if (!value.is_null() || !all.contains(key)) all[key] = value;", "all[key] = value;",
      tests=["reporting: an argument that nobody gave hides no key of the model from trackers"],
      says=r"model_type")

fault("a live page has no controls for runs that begin later",
      "lib/hftrain/report/page_script.cpp", "      regroup(before);\n", "",
      tests=["runs: report: a live page gives runs that begin later their controls"], says=r"a third one")

fault("a live page forgets which runs were hidden",
      "lib/hftrain/report/page_script.cpp", "checked: !view.hidden.has(run), onchange", "checked: true, onchange",
      tests=["runs: report: a live page gives runs that begin later their controls"], says=r"the first is still hidden")
