# Faults of jobs that were not run for a while, of stop signals of the kernel, and of starters inside each other.

fault("silence counts while the one that waits was not run itself",
      "launcher/control/link.cpp", "if (pauses_.take(now) > 0) socket_.count_as_heard(now);", "pauses_.take(now);",
      tests=["launcher: who was not run itself for a while has missed nobody, and counts silence from then on",
             "launcher: a job that is suspended as a whole for longer than silence is allowed goes on when it wakes"],
      says=r"left\.open|no word from it|finish\(\) == 0")

fault("a suspended job hangs when it wakes",
      "launcher/supervision/supervisor.cpp", "  hang_watch_->skip(seconds);\n", "",
      tests=["launcher: a job that is suspended as a whole for longer than silence is allowed goes on when it wakes"], says=r"finish\(\) == 0")

fault("the time in which a job was suspended is an update's",
      "launcher/supervision/hang_watch.cpp", "  if (last_of_first_) *last_of_first_ += seconds;\n", "",
      tests=["launcher: time in which a job was suspended is no silence, and no update's"], says=r"allowed_seconds")

fault("an update in which a job was suspended takes that much of its time at the end",
      "launcher/supervision/stop_budget.cpp", "  if (last_of_first_) *last_of_first_ += seconds;\n", "",
      also=[("launcher/supervision/stop_budget.cpp", "void StopBudget::skip(double seconds) {", "void StopBudget::skip(double) {")],
      tests=["launcher: time in which the job was suspended is no update's"], says=r"stop_at")

fault("a limit on processor time ends the front program without a word",
      "launcher/supervision/stop_signals.cpp", "number == SIGUSR1 || number == SIGUSR2 || number == SIGXCPU;", "number == SIGUSR1 || number == SIGUSR2;",
      tests=["launcher: each signal is passed on once, and workers that save make the code of an orderly stop",
             "runs: endings: processor time is over"], says=r"SIGXCPU|signal 24|CPU time|ended with (-24|152)")

fault("what the kernel says again costs a worker its save",
      "lib/hftrain/trainer/stop_request.cpp", "  if (number == SIGXCPU) return;\n", "",
      tests=["trainer: a limit on processor time asks a worker to save, however often the kernel says so"], says=r"finish\(true\)")

fault("what the kernel says again costs a run its save",
      "launcher/supervision/stop_wishes.h", "return signal == SIGXCPU || (signal != SIGINT && seconds < kRepeatedStopSeconds);", "return signal != SIGINT && seconds < kRepeatedStopSeconds;",
      tests=["launcher: what the kernel says of processor time every second is one wish"], says=r"wishes\.take")

fault("a rank at its limit on processor time was killed by somebody",
      "launcher/supervision/failure_report.cpp", "if (worker.status && worker.status->signal == SIGXCPU) {", "if (worker.status && worker.status->signal == SIGXFSZ) {",
      tests=["launcher: a rank that the kernel ends at its limit on processor time is told as that, and not started again"], says=r"reached the limit")

fault("each process of an mpirun trains alone by a rank that a shell has kept",
      "launcher/environments/rank_variables.cpp", "if (plain.size != 1 || first(", "if (plain.size == 1 || first(",
      tests=["launcher: a rank that is alone by left-over variables is refused under a launcher of several"], says=r"deny what")

fault("a launcher inside of a step of srun is refused",
      "launcher/environments/rank_variables.cpp", 'first({"GROUP_RANK", "CROSS_RANK"})', 'first({"GROUP_RANK"})',
      tests=["launcher: a rank that is alone by left-over variables is refused under a launcher of several"], says=r"deny what|unexpected exception")

fault("an end of time that is no number is passed over without a word",
      "launcher/front/end_of_time.cpp", "if (!end || static_cast<double>(*end) > now + kLongestJob)", "if (end && static_cast<double>(*end) > now + kLongestJob)",
      also=[("launcher/front/end_of_time.cpp", "if (static_cast<double>(*end) <= now) return {};", "if (!end || static_cast<double>(*end) <= now) return {};")],
      tests=["front: the end of a job's time is Slurm's, and a text that is none is told and not used"], says=r"warning")
