# Faults of stop signals that nobody heard, and of what is said where a run cannot begin.

fault("a stop signal behind the last row of a preparation is lost",
      "launcher/front/data_stage.cpp", "  if (first_stop_signal() != 0) return std::nullopt;\n", "",
      tests=["front: a stop signal behind the last row of a preparation is heard, of samples from the cache, too"], says=r"prepares_when_sent")

fault("samples are put into another order to the end, whoever asks for a stop",
      "lib/hftrain/data/shuffling_sink.cpp", "    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) return;\n", "",
      tests=["data: Samples that are put into another order are handed on until a stop is asked for"], says=r"samples == ")

fault("a follower drops what its leader asks for before its workers are gone",
      "launcher/control/follower.cpp", "        follower_.waiting_.push_back(std::move(message));\n", "",
      tests=["launcher: what a leader asks for before a follower's workers are gone is done behind them"], says=r"was lost|TakePlan")

fault("a follower leaves at a second stop signal although its workers have ended",
      "launcher/control/follower.cpp", "patient_until_ = ran_ ? now + kVerdictSeconds : now;", "patient_until_ = now;",
      tests=["launcher: a follower whose workers have ended takes the verdict, whatever signals come before it"], says=r"stopped at once by a second signal")

fault("a terminal that takes no text holds up the end of a program that has not begun",
      "launcher/front/stop_flag.cpp", "if (::poll(&terminal, 1, 0) > 0) {", "if (::poll(&terminal, 1, 0) >= 0) {",
      tests=["front: a program that has not begun ends at a stop signal, also where its terminal takes no text"], says=r"status")

fault("a worker without memory for its libraries has crashed",
      "launcher/supervision/verdict.cpp", "if (had_no_memory(worker, status)) return", "if (had_no_memory(worker, status) && worker.ready) return",
      tests=["launcher: a worker that is aborted for want of memory before it is ready ran out of it, with any other word it crashed"], says=r"kHostMemory|judged")

fault("a link to a folder that is not there is found by the run alone",
      "lib/hftrain/storage/run_directory.cpp", "if (leads_nowhere(output_dir)) throw", "if (output_dir.empty() && leads_nowhere(output_dir)) throw",
      tests=["storage: a link to a folder that is not there is named, before a run and by its lock"], says=r"check_can_take")

fault("an output folder's name may leave no room for what is in it",
      "lib/hftrain/storage/run_directory.cpp", "output_dir.size() + kLongestNameBelow >= PATH_MAX", "output_dir.size() >= PATH_MAX + kLongestNameBelow",
      tests=["storage: a folder that could not be made or written into is known before"], says=r"too long")

fault("too few open files for a worker are a matter of rights",
      "launcher/process/child_process.cpp", "if (error_number == EMFILE || error_number == ENFILE)", "if (error_number == ENFILE)",
      tests=["launcher: a child that has too few descriptors to become its program is told of the limit on open files"], says=r"status")

fault("an attempt whose workers could not be started is not on record",
      "launcher/front/attempts.cpp", "  if (!begun_) return;\n", "  if (begun_) return;\n",
      tests=["front: an attempt that this program's own error ends is on record, once, as it failed"], says=r"record\(\)")

fault("a first node writes to its terminal itself until ranks run",
      "apps/hftrain/commands/train_job.cpp", "  if (membership.agents > 1) terminal.emplace(context.err);\n", "",
      tests=["runs: the first node of several ends at a stop signal before a run, whatever its terminal takes"], says=r"timed out|TimeoutExpired")

fault("a temporary folder that is not there has no name",
      "launcher/front/smoke.cpp", '.where("environment " + name)', '.where("this machine")',
      tests=["runs: smoke: a configuration that cannot run fails with its code"], says=r"temporary files")
