# Places that users name and limits that they meet: what is no file, what may not be looked at, programs that cannot be loaded.

NAMED = "lib/hftrain/base/named_path.cpp"

fault("a pipe that is named is replaced by a file",
      NAMED, "!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)", "!S_ISREG(status.st_mode) && S_ISDIR(status.st_mode)",
      tests=["base: a named pipe is written to, and stays one"],
      says=r"is_fifo|size > 0")

fault("a link that is named is replaced by a file",
      NAMED, "    if (!std::filesystem::is_symlink(place, ignored)) return", "    return",
      tests=["base: a link that is named stays, and what it leads to appears whole"],
      says=r"elsewhere/page|is_symlink")

fault("what /dev/stdout leads to is replaced, which its reader does not see",
      NAMED, "if (is_open_file(place)) return write_to_open_file(place, bytes);", "if (is_open_file(place) && followed < 0) return write_to_open_file(place, bytes);",
      tests=["base: what is written by the name of an open file is seen by those who have it open"],
      says=r"log, page, end")

fault("a folder that may not be searched is taken for one that is not there",
      NAMED, "::stat(path.c_str(), &status) == 0 || errno == ENOENT", "::stat(path.c_str(), &status) == 0 || errno == EACCES || errno == ENOENT",
      tests=["base: a path that the system refuses to look at is told as that, and no other"],
      says=r"may not be searched")

fault("hftrain report replaces a pipe by its page",
      "apps/hftrain/commands/report.cpp", "  write_named_file(path, page,", "  write_file_atomically(path, page,",
      tests=["runs: report: mistakes lose nothing"],
      says=r"a pipe is written to, and stays one", seconds=300)

fault("a limit on the size of files ends the front program without a word",
      "apps/hftrain/main.cpp", "::signal(SIGXFSZ, SIG_IGN);", "::signal(SIGXFSZ, SIG_DFL);",
      tests=["apps: a limit on the size of files is an error of the command that meets it, not its end"],
      says=r"program\.finish\(\) == 7")

fault("a current folder that is gone is an error without a place",
      "lib/hftrain/base/caught_error.cpp", "!error.path1().is_absolute() && current_folder_is_gone()", "error.path1().is_absolute() && current_folder_is_gone()",
      tests=["apps: a current folder that is gone is told as that"],
      says=r"the current folder is gone")

fault("the other front programs hear why there is no run before the user does",
      "launcher/front/job.cpp", "  say_(error);\n  hub_->refuse_all(error);", "  hub_->refuse_all(error);\n  say_(error);",
      tests=["front: why there is no run is said before the other front programs hear it and end"],
      says=r"said == 1")

fault("the other front programs hear that the job does not begin before the user does",
      "launcher/control/gathering.cpp", "      if (spec_.before_refusal) spec_.before_refusal(why);\n      hub_->refuse_all(why);\n",
      "      hub_->refuse_all(why);\n      if (spec_.before_refusal) spec_.before_refusal(why);\n",
      tests=["front: why there is no run is said before the other front programs hear it and end"],
      says=r"said == 1")

fault("an export that is asked to stop goes on to its end",
      "lib/hftrain/storage/model_export.cpp", "    between();\n    buffer.resize", "    if (buffer.size() > 1 << 30) between();\n    buffer.resize",
      tests=["storage: an export that is to stop leaves nothing, wherever it has come to"],
      says=r"asked == verified")

fault("hftrain checkpoint export hears no signal",
      "apps/hftrain/commands/checkpoint.cpp", "  if (stop.is_set()) throw", "  if (stop.is_set() && out.empty()) throw",
      tests=["apps: an export that a signal stops leaves nothing of what it wrote"],
      says=r"program\.finish\(\) == code")

fault("a worker that cannot be loaded is one that was lost while generating",
      "launcher/front/text_worker.cpp", "status.code == kOfTheLoader && !heard_", "status.code == kOfTheLoader && heard_",
      tests=["runs: generation: a worker that cannot be loaded is told"],
      says=r"could not be loaded", seconds=300)

fault("a model in a folder that may not be searched is looked for on the Hub",
      "lib/hftrain/plan/hub_cache.cpp", "  refuse_no_folder(named, where);\n", "",
      tests=["plan: a model that is nowhere names the command that would fetch it"],
      says=r"a path cannot be looked at")

fault("a pattern over a folder that may not be searched matches nothing",
      "lib/hftrain/data/data_files.cpp", "refuse_hidden(is_glob ? searched_folder(pattern.substr(0, wildcard)) : pattern, pattern);",
      "if (!is_glob) refuse_hidden(is_glob ? searched_folder(pattern.substr(0, wildcard)) : pattern, pattern);",
      tests=["data: data files that the system refuses to look for are told as that, under a pattern, too"],
      says=r"a path cannot be looked at")

fault("a file to resume from is a folder that cannot be listed",
      "launcher/front/output_stage.cpp", '  refuse_no_folder(folder, inputs.parsed.origins.describe("resume_from_checkpoint"));\n', "",
      tests=["front: what is named to resume from and is a file, or cannot be looked at, is told as that"],
      says=r"name the folder that it lies in|cannot be looked at")

fault("a link that runs lie behind is moved aside, and not what it leads to",
      "lib/hftrain/storage/run_directory.cpp", "if (!fs::is_symlink(plain, failed)) return plain.string();", "if (failed || !plain.empty()) return plain.string();",
      tests=["storage: where the output folder is a link, what it leads to steps aside, and new runs lie there, too"],
      says=r"moved == |is_symlink")

fault("what a link to the output folder hides is moved from under the run",
      "launcher/front/moved_inputs.cpp", "fs::path place = fs::weakly_canonical(folder, error);", "fs::path place = fs::weakly_canonical(folder.parent_path(), error) / folder.filename();",
      tests=["front: a checkpoint in the folder that is moved aside is refused, by whatever links it is named"],
      says=r"lies in the folder that is moved aside")

fault("a verification is not to be ended within a file",
      "lib/hftrain/base/hash.cpp", "if (progress) progress(static_cast<uint64_t>(count));", "if (progress && count < 4096) progress(static_cast<uint64_t>(count));",
      tests=["storage: whoever watches a verification hears of each piece, and ends it within a file"],
      says=r"told|stop")

fault("who ends a verification is taken for a disk that fails",
      "lib/hftrain/storage/manifest.cpp", "    if (ended) std::rethrow_exception(ended);\n", "",
      tests=["storage: whoever watches a verification hears of each piece, and ends it within a file"],
      says=r"stop")
