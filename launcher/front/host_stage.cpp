#include "launcher/front/host_stage.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>
#include <random>

#include "hftrain/arguments/import/launch.h"
#include "hftrain/arguments/print_config.h"
#include "hftrain/base/file.h"
#include "hftrain/base/printable.h"
#include "hftrain/base/secrets.h"
#include "hftrain/base/shell.h"
#include "hftrain/base/text.h"
#include "launcher/control/job_key.h"
#include "launcher/control/job_secret.h"
#include "launcher/front/patient_stream.h"
#include "launcher/ssh/host_file.h"
#include "launcher/ssh/host_job.h"
#include "launcher/ssh/machine_start.h"
#include "launcher/supervision/rendezvous.h"

namespace hftrain::front {
namespace {

// The first machine's output as it is; of the others whole lines with the machine's name in front.
class HostConsole : public launcher::HostJobObserver {
 public:
  HostConsole(const CommandContext& context, const std::vector<launcher::MachineStart>& machines,
              reporting::Console& console)
      : context_(context), machines_(machines), console_(console), out_(context.out), err_(context.err) {}

  void on_output(size_t machine, launcher::Stream stream, std::string_view bytes) override {
    if (machine == 0) {
      (stream == launcher::Stream::kOut ? context_.out : context_.err) << bytes << std::flush;
      return;
    }
    std::string& line = lines_[{machine, stream}];
    for (size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
      show(machine, line.append(bytes.substr(0, end)));
      line.clear();
      bytes.remove_prefix(end + 1);
    }
    line.append(bytes);
    if (line.size() <= kLongestLine) return;
    show(machine, line);
    line.clear();
  }
  void on_notice(const std::string& text) override { console_.line(text); }
  bool is_behind() const override { return std::max(out_.waiting(), err_.waiting()) >= kFarBehind; }
  void on_stop() override {
    out_.hurry();
    err_.hurry();
  }

 private:
  static constexpr size_t kLongestLine = 64 * 1024;      // longer ones are cut
  static constexpr size_t kFarBehind = size_t{1} << 20;  // bytes

  void show(size_t machine, std::string_view line) {
    context_.err << '[' << machines_[machine].host << "] " << printable(line) << std::endl;
  }

  const CommandContext& context_;
  const std::vector<launcher::MachineStart>& machines_;
  reporting::Console& console_;
  PatientStream out_, err_;
  std::map<std::pair<size_t, launcher::Stream>, std::string> lines_;
};

// Nobody but machine 0 can know which of its ports is free; where that is this machine it is asked, and
// otherwise one below the kernel's range is drawn.
int choose_port(bool first_is_here) {
  constexpr int kFirst = 20000, kLast = 29999, kTries = 50;
  std::random_device random;
  std::uniform_int_distribution<int> ports(kFirst, kLast);
  for (int tries = 0; tries < kTries; ++tries) {
    const int port = ports(random);
    if (!first_is_here || launcher::port_holder(port).empty()) return port;
  }
  return ports(random);
}

std::map<std::string, std::string> environment_file(const Environment& environment,
                                                    reporting::Console& console) {
  const std::optional<std::string> path = environment.get("DS_ENV_FILE");
  if (!path || path->empty()) return {};
  const auto variables = launcher::parse_environment_file(read_file(*path, ExitCode::kUsage), *path);
  std::vector<std::string> names;
  for (const auto& [name, value] : variables) names.push_back(printable(name));
  console.line("DS_ENV_FILE=" + printable(*path) + ": " + join(names, ", ") + " for every machine");
  return variables;
}

// The front programs know each other by a secret that is drawn for this run, and travels as the rest of their
// orders do; unless the user has given one.
void give_secret(launcher::HostJobSpec& spec) {
  if (spec.machines.size() < 2 || arguments::secret_file(spec.launch.rdzv_conf)) return;
  const std::string drawn = launcher::random_number() + launcher::random_number();
  for (launcher::MachineStart& machine : spec.machines)
    machine.environment.try_emplace(launcher::kSecretVariable, drawn);
}

void announce(const launcher::HostJobSpec& spec, reporting::Console& console) {
  std::vector<std::string> names;
  for (size_t index = 0; index < spec.machines.size(); ++index)
    names.push_back(spec.machines[index].host + (spec.here[index] ? " (this machine)" : ""));
  console.line("host file: " + join(names, ", "));
  std::vector<std::string> passed;
  for (const auto& [name, value] : spec.machines.front().environment) {
    if (name != "HFTRAIN_HOSTED" && name != "CUDA_VISIBLE_DEVICES") passed.push_back(printable(name));
  }
  if (!passed.empty()) console.line("passed to every machine: " + join(passed, ", "));
  if (const auto shell = spec.environment.get("HFTRAIN_SSH"))
    console.line("HFTRAIN_SSH=" + printable(*shell) + " reaches the other machines");
}

}  // namespace

launcher::HostJobSpec host_job(const CommandContext& context, const std::vector<std::string>& arguments,
                               const arguments::ParseOutcome& parsed, reporting::Console& console) {
  const arguments::LaunchArguments& launch = parsed.arguments.launch;
  const std::vector<launcher::Host> hosts = launcher::read_hosts(launch);
  launcher::HostJobSpec spec{.program = context.program,
                             .directory = std::filesystem::current_path().string(),
                             .environment = context.environment,
                             .machines = {},
                             .here = {},
                             .launch = launch};
  for (const launcher::Host& host : hosts) spec.here.push_back(launcher::is_this_machine(host.name));
  if (hosts.size() == 1 && !spec.here[0] && !launch.force_multi)
    throw Error(ExitCode::kUsage, "the one machine of the host file is not this one")
        .where(parsed.origins.describe("hostfile"))
        .why("it is " + hosts[0].name)
        .hint("--force_multi starts the run there");
  std::vector<std::string> of_run = arguments;
  std::erase(of_run, "--dry_run");
  std::erase(of_run, "--json");
  spec.machines = launcher::machine_starts(
      hosts, {of_run, launch, parsed.origins, context.environment,
              environment_file(context.environment, console), choose_port(spec.here[0])});
  announce(spec, console);
  return spec;
}

ExitCode run_on_hosts(const CommandContext& context, launcher::HostJobSpec spec,
                      reporting::Console& console) {
  if (!spec.launch.no_ssh_check) launcher::check_connections(spec);
  give_secret(spec);
  const std::vector<launcher::MachineStart> machines = spec.machines;
  HostConsole observer(context, machines, console);
  return launcher::HostJob(std::move(spec), observer).run();
}

std::string describe_machines(const launcher::HostJobSpec& spec) {
  std::string text = "machines\n";
  for (size_t index = 0; index < spec.machines.size(); ++index) {
    const launcher::MachineStart& machine = spec.machines[index];
    text += "  " + machine.host + (spec.here[index] ? " (this machine)" : "") + ":\n   ";
    const auto mask = machine.environment.find("CUDA_VISIBLE_DEVICES");
    if (mask != machine.environment.end()) text += " CUDA_VISIBLE_DEVICES=" + mask->second;
    text += ' ' + shell_quoted(spec.program);
    for (const std::string& word : arguments::shown_words(machine.arguments))
      text += ' ' + shell_quoted(word);
    text += '\n';
  }
  return text;
}

Json machine_list(const launcher::HostJobSpec& spec) {
  Json list = Json::array();
  for (size_t index = 0; index < spec.machines.size(); ++index) {
    const launcher::MachineStart& machine = spec.machines[index];
    Json argv = {spec.program};
    for (const std::string& word : arguments::shown_words(machine.arguments)) argv.push_back(word);
    list.push_back({{"host", machine.host},
                    {"here", static_cast<bool>(spec.here[index])},
                    {"argv", std::move(argv)},
                    {"env", masked(machine.environment)}});
  }
  return list;
}

}  // namespace hftrain::front
