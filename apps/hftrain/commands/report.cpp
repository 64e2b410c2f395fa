// hftrain report RUN… [--output FILE.html] [--serve [PORT]]
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "command_options.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/named_path.h"
#include "hftrain/base/whole_number.h"
#include "hftrain/report/page.h"
#include "hftrain/report/page_server.h"
#include "hftrain/report/search_runs.h"
#include "launcher/supervision/stop_signals.h"

namespace hftrain::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultOutput = "report.html";
constexpr int kLargestPort = 65535;

struct ReportRequest {
  std::vector<std::string> folders;
  std::string output;
  bool serves = false;
  int port = 0;  // 0: a free one
};

Error wrong_port(const std::string& word) {
  return Error(ExitCode::kUsage, "--serve: '" + word + "' is no port")
      .where("command line")
      .why("a port is a number from 0 to " + std::to_string(kLargestPort))
      .hint("--serve 8321, or --serve alone for a free one");
}

// `--serve RUN` names a run: the port may be left out.
void take_port(ReportRequest& request, const std::string& word) {
  request.serves = true;
  const std::optional<int> port = whole_number(word);
  if (port && *port <= kLargestPort) {
    request.port = *port;
  } else if (path_exists(word)) {
    request.folders.push_back(word);
  } else {
    throw wrong_port(word);
  }
}

CommandOptions report_options(ReportRequest& request) {
  CommandOptions options(
      "hftrain report",
      "One page of a run, or of several side by side: losses, speed, memory, where the time went, "
      "arguments, checkpoints, events",
      "RUN is an output folder of hftrain, of `hftrain search` (all of its trials), or of the Python "
      "Trainer.\n");
  options.paths("RUN", request.folders, "RUN", "output folders");
  options.path("--output", request.output, "FILE", "the page; report.html, - for standard output");
  options.value("--serve", "PORT",
                "show it at http://127.0.0.1:PORT/ as the runs go on; a free port when none is named",
                CommandOptions::Words::kOne, "0",
                [&request](const std::vector<std::string>& words) { take_port(request, words.front()); });
  return options;
}

std::vector<report::Run> read_runs(const std::vector<std::string>& folders) {
  std::vector<report::Run> runs;
  for (const std::string& named : folders) {
    for (report::Run& run : report::runs_of(named)) runs.push_back(std::move(run));
  }
  return runs;
}

// Whether something in the page was meant for its owner alone, as a run with secrets among its arguments.
bool is_private(const std::vector<report::Run>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const report::Run& run) {
    std::error_code failed;
    const fs::perms rights =
        fs::status(fs::path(run.folder) / "hftrain/arguments.yaml", failed).permissions();
    return !failed && fs::exists(fs::path(run.folder) / "hftrain/arguments.yaml") &&
           (rights & (fs::perms::group_read | fs::perms::others_read)) == fs::perms::none;
  });
}

// Everybody who works on this machine can ask its loopback address: what is the owner's alone is left out.
std::vector<report::Run> for_everybody(std::vector<report::Run> runs) {
  if (!is_private(runs)) return runs;
  for (report::Run& run : runs) {
    run.arguments_text.clear();
    run.arguments = Json::object();
    run.plan.erase("logging");
  }
  return runs;
}

Error not_ours(const std::string& path) {
  return Error(ExitCode::kUsage, "this file is no report, and stays as it is")
      .where(path)
      .why("it is where the page would go, and something else stands there")
      .hint("--output FILE.html");
}

// Whoever reads that wants the page alone.
bool is_standard_output(const std::string& path) {
  struct stat named {
  }, open{};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(STDOUT_FILENO, &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

void write_page(const CommandContext& context, const ReportRequest& request) {
  const std::vector<report::Run> runs = read_runs(request.folders);
  const std::string page = report::page_of(runs, report::PageKind::kFile);
  if (request.output == "-") {
    context.out << page;
    return;
  }
  const std::string path = request.output.empty() ? kDefaultOutput : request.output;
  std::error_code error;
  const bool a_file = fs::is_regular_file(path, error) && fs::file_size(path, error) > 0;
  if (a_file && !is_standard_output(path) && !report::is_page(read_file(path))) throw not_ours(path);
  const bool to_output = is_standard_output(path);
  write_named_file(path, page, is_private(runs) ? FileAccess::kPrivate : FileAccess::kShared);
  if (!to_output) context.out << path << '\n';
}

void serve(const CommandContext& context, const ReportRequest& request) {
  read_runs(request.folders);  // mistakes are told before the address
  report::PageServer server(request.port);
  launcher::StopSignals stops;
  context.out << "http://127.0.0.1:" << server.port() << "/" << std::endl;
  context.err << "serving until Ctrl-C; only this machine sees it" << std::endl;
  // What is named is looked at anew for every answer: a search has trials that begin later.
  server.run(stops.descriptor(), [&named = request.folders](std::string_view path) -> report::Answer {
    if (path == "/") {
      return {200, "text/html; charset=utf-8",
              report::page_of(for_everybody(read_runs(named)), report::PageKind::kLive)};
    }
    if (path != "/state") return {404, "text/plain; charset=utf-8", "there is / and /state\n"};
    std::string state;
    for (const std::string& each : named) state += report::fingerprint_of(each);
    return {200, "text/plain; charset=utf-8", std::move(state)};
  });
}

}  // namespace

ExitCode run_report(const CommandContext& context) {
  ReportRequest request;
  if (!report_options(request).read(context.arguments, context)) return ExitCode::kDone;
  if (request.folders.empty()) {
    throw Error(ExitCode::kUsage, "no run is named")
        .where("hftrain report")
        .why("a report is made of the output folders of runs")
        .hint("hftrain report OUTPUT_DIR");
  }
  if (!request.serves || !request.output.empty()) write_page(context, request);
  if (request.serves) serve(context, request);
  return ExitCode::kDone;
}

}  // namespace hftrain::app
