#include "launcher/supervision/worker_snapshot.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "hftrain/base/fault_handlers.h"
#include "hftrain/base/text.h"

namespace hftrain::launcher {

ProcessSnapshot look_at_process(pid_t pid, const std::string& root) {
  const std::string folder = root + "/proc/" + std::to_string(pid);
  ProcessSnapshot snapshot;
  std::ifstream file(folder + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The name in brackets may hold anything. Behind it: state (field 3), …, utime (14), stime (15).
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return snapshot;
  const std::vector<std::string> fields = split_words(text.substr(name_end + 1));
  if (fields.size() < 13 || fields[0].size() != 1) return snapshot;
  snapshot.state = fields[0][0];
  const double ticks = std::strtod(fields[11].c_str(), nullptr) + std::strtod(fields[12].c_str(), nullptr);
  snapshot.cpu_seconds = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::ifstream(folder + "/wchan") >> snapshot.waits_in;
  if (snapshot.waits_in == "0") snapshot.waits_in.clear();  // it runs, or the kernel does not tell
  return snapshot;
}

std::string describe_process(const ProcessSnapshot& process) {
  const std::string in = process.waits_in.empty() ? "" : " in " + process.waits_in;
  const std::string state = std::string(" (state ") + process.state + ")";
  switch (process.state) {
    case 'R':
      return "computing" + state;
    case 'S':
      return "asleep" + in + state;
    case 'D':
      return "waiting for a disk or a device" + in + state;
    case 'T':
      return "stopped" + state;
    case 't':
      return "held by a debugger" + state;
    case 'Z':
      return "dead" + state;
    default:
      return "in a state that cannot be seen";
  }
}

Json to_json_value(const WorkStatus& status) {
  Json value = {{"phase", work_phase_name(status.phase)},
                {"step", status.step >= 0 ? Json(status.step) : Json(nullptr)},
                {"operations", status.operations},
                {"operation", status.operation},
                {"operation_bytes", status.operation_bytes},
                {"stack", stack_lines(status.stack)}};
  if (status.crash) {
    value["crash"] = {{"signal", status.crash->signal},
                      {"code", status.crash->code},
                      {"address", status.crash->address},
                      {"mapped_file", status.crash->mapped_file}};
  }
  return value;
}

Json to_json_value(const WorkerSnapshot& snapshot) {
  Json value = {{"process", describe_process(snapshot.process)},
                {"cpu_seconds", snapshot.process.cpu_seconds}};
  if (snapshot.has_status) value["status"] = to_json_value(snapshot.status);
  return value;
}

std::vector<std::string> stack_lines(const std::string& stack) {
  std::vector<std::string> lines;
  std::istringstream text(stack);
  for (std::string line; std::getline(text, line);) {
    if (!line.empty()) lines.push_back(readable_frame(line));
  }
  // The handler's own frames are the first, down to the one by which the kernel called it.
  constexpr size_t kMostOwnFrames = 6;
  for (size_t i = 0; i < std::min(lines.size(), kMostOwnFrames); ++i) {
    if (lines[i].find("libc.so") == std::string::npos) continue;
    lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    break;
  }
  return lines;
}

}  // namespace hftrain::launcher
