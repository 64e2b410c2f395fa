# What several machines have under one path, and limits of the system that are met.
NODES = "launcher: weights that are not the same on all nodes are named with the nodes and the first file"
FILES = "storage: The files of weights are told from others of their names, wherever in them the bytes differ"
MACHINES = "runs: machines: all nodes begin with the same weights"

fault("nodes train with weights that are not the same", "launcher/control/gathering.cpp",
      "if (const auto error = differing_weights(agents_)) throw *error;", "", tests=[MACHINES], says=r"other weights under one path", seconds=300)

fault("a node does not say which weights it has", "launcher/front/meeting_stage.cpp",
      "spec.introduction.model = inputs.model_seen;", "", tests=[MACHINES], says=r"other weights under one path", seconds=300)

fault("an adapter that is not the same on all nodes is not looked at", "launcher/control/preflight.cpp",
      'return differing_folder(agents, &Introduction::adapter, "the weights of the adapter");', "return std::nullopt;", tests=[NODES], says=r"adapter")

fault("files that a node lacks are like those of node 0", "launcher/control/preflight.cpp",
      'if (other == there.files.end()) return name + " is on " + leader + " and not there";', "if (other == there.files.end()) continue;",
      tests=[NODES], says=r"missing")

fault("the end of a large file of weights is not looked at", "lib/hftrain/storage/weights_mark.cpp",
      "hasher.update(bytes.substr(bytes.size() - kBlock));", "", tests=[FILES], says=r"large.size\(\) - 1")

fault("a tensor between the blocks of a large file is not looked at", "lib/hftrain/storage/weights_mark.cpp",
      "for (const StoredTensor& tensor : file.tensors()) hasher.update(middle_of(tensor.bytes));", "", tests=[FILES], says=r"kSecondTensor")

LIMIT = "launcher: a worker whose libraries find no room below a limit on address space got no memory, and the limit is named"
fault("a library that finds no room below a limit is one that is missing", "launcher/supervision/verdict.cpp",
      "return had_no_room(worker, job) ? Failure::kNoMemory : Failure::kNotLoaded;", "return had_no_room(worker, job) && worker.rank < 0 ? Failure::kNoMemory : Failure::kNotLoaded;",
      tests=[LIMIT], says=r"kHostMemory|6")

fault("a limit on address space is not named", "launcher/supervision/failure_report.cpp",
      'if (limit) return "its address space', 'if (limit && *limit == 0) return "its address space', tests=[LIMIT], says=r"300.0 MiB")

fault("a file that cannot be mapped for want of memory is a damaged one", "lib/hftrain/base/error.cpp",
      "error_number == ENOMEM ? ExitCode::kHostMemory : disk", "disk",
      tests=["base: a full disk and a write error are disk errors whoever asks; the rest is the caller's"], says=r"kHostMemory|ENOMEM")

fault("a limit on the size of files is no word of shared memory that it forbids", "lib/hftrain/comm/shm_segment.cpp",
      "if (error == EFBIG)", "if (error == 0)", tests=["comm: shared memory that the system refuses is told with its rank and its size"], says=r"ulimit -f")

fault("a file system without room for further files is one without free bytes", "lib/hftrain/base/error.cpp",
      "error_number == ENOSPC && has_no_room_for_files(path)", "error_number == 0 && has_no_room_for_files(path)",
      tests=["base: a file system without room for further files is told from one without free bytes"], says=r"0xff00\) >> 8\) == 0|1 == 0")
