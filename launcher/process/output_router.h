// Where the workers' standard output and error go: byte for byte into a file per rank and stream, and, line
// by line and never mixed inside a line, to the console for the ranks and streams that are shown. The last
// lines of every rank are kept for the failure report.
//
// Files are written by a thread of its own (log_writer.h): a folder that takes its time does not keep the
// owner from its connections. A log file that cannot be written (a full disk, say) is given up with one
// notice; the job goes on. Owned and called by the supervisor's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/plan/worker_protocol.h"
#include "launcher/process/log_writer.h"

namespace hftrain::launcher {

enum class Stream { kOut, kErr };

struct OutputLine {
  int rank = 0;
  Stream stream = Stream::kOut;
  std::string text;  // without the newline; of "a\rb" (a redrawn progress line) only b
};

// Which output the console shows.
class OutputFilter {
 public:
  // `ranks` is "all" or numbers separated by commas, `tee` and `redirects` are 0 (none), 1 (stdout), 2
  // (stderr), 3 (both) for every rank or rank:n pairs separated by commas. A stream is shown when tee names
  // it, or when its rank is named and redirects does not send it to its file alone. Throws an Error (kUsage)
  // that names the flag.
  OutputFilter(const std::string& ranks, const std::string& tee, const std::string& redirects = "0");
  // What `tee` and `redirects` call each rank, as torchrun does: its number on its machine. Those that are not there by their own.
  void count_on_machines(std::map<int, int> local_ranks) { local_ranks_ = std::move(local_ranks); }
  // Of these ranks only, whatever else is asked for.
  void keep_only(std::set<int> ranks) { kept_ = std::move(ranks); }
  bool shows(int rank, Stream stream) const;

 private:
  // 1: stdout, 2: stderr, of every rank or of some.
  struct Streams {
    int of_others = 0;
    std::map<int, int> of_rank;

    Streams(const std::string& flag, const std::string& text);
    bool holds(int rank, Stream stream) const;
  };

  bool all_ranks_ = false;
  std::vector<int> ranks_;
  Streams tee_;
  Streams redirects_;
  std::map<int, int> local_ranks_;
  std::optional<std::set<int>> kept_;
};

struct OutputSpec {
  std::string folder;  // of this attempt: <folder>/<rank>/{stdout,stderr}.log
  OutputFilter filter{"0", "0", "0"};
  // Lines that contain one of these texts are also appended, behind "[rank N] ", to
  // <folder>/filtered_stdout.log and filtered_stderr.log. No file without a text.
  std::map<Stream, std::vector<std::string>> duplicated{};
  std::string machine{};  // stands before ".log" in the names of these two; empty: the first machine
  // The whole lines that a rank says by an event; "" where it says nothing to people. Unset: its log has what it prints alone.
  std::function<std::string(const plan::WorkerEvent&)> words{};

  std::string log_path(int rank, Stream stream) const;
};

class OutputRouter {
 public:
  using LineSink = std::function<void(const OutputLine&)>;
  using NoticeSink = std::function<void(const std::string&)>;

  static constexpr size_t kKeptLines = 20;           // per rank
  static constexpr size_t kLongestLine = 64 * 1024;  // bytes; a longer line is shown in pieces

  // Makes the folders and opens the files. Throws an Error when that fails within some seconds; a folder that
  // needs longer is waited for beside.
  OutputRouter(OutputSpec spec, std::vector<int> ranks, LineSink lines, NoticeSink notices);

  // Bytes as they come from the pipe.
  void write(int rank, Stream stream, std::string_view bytes);
  // What a rank says of the run comes by events, and stands in its stderr.log too, from the beginning of a line on. The console
  // shows events by itself.
  void hear(const plan::WorkerEvent& event);
  // From now on the console shows nothing more of this rank; files and last lines are kept as before.
  void mute(int rank) { muted_.insert(rank); }
  // End of the stream: an unfinished last line counts as a line.
  void finish(int rank, Stream stream);

  // More waits to be written than should: the ranks' output is to be left in their pipes for a moment.
  bool is_behind() const { return writer_.is_behind(); }
  // Waits until the files are written, some seconds at most.
  void drain();

  // The newest lines of a rank, both streams in order of arrival, oldest first.
  std::vector<std::string> last_lines(int rank) const;
  std::string folder_of(int rank) const;
  std::string log_path(int rank, Stream stream) const { return spec_.log_path(rank, stream); }
  std::string duplicate_path(Stream stream) const;

 private:
  struct Channel {
    size_t file = 0;  // of the writer
    bool is_open = true;
    bool within_line = false;  // what stands last in the file has no end yet
    std::string unfinished;
  };

  std::vector<std::string> plan_files(const std::vector<int>& ranks);
  void pass_notices();
  void duplicate(int rank, Stream stream, std::string_view line);
  void take_line(int rank, Stream stream, std::string_view line);

  OutputSpec spec_;
  LineSink lines_;
  NoticeSink notices_;
  std::map<std::pair<int, Stream>, Channel> channels_;
  std::map<Stream, size_t> duplicates_;  // file of the writer
  std::map<int, std::deque<std::string>> kept_;
  std::set<int> muted_;
  LogWriter writer_;  // of the files above
};

}  // namespace hftrain::launcher
