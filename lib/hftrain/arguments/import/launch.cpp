#include "hftrain/arguments/import/launch.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <utility>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/merge.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"

namespace hftrain::arguments {
namespace {

using Severity = Diagnostic::Severity;

constexpr std::array kSeconds = {"timeout", "join_timeout", "last_call_timeout", "close_timeout",
                                 "read_timeout"};
constexpr const char* kSecretFile = "secret_file";

std::string text_of(const Json& written) {
  return written.is_string() ? trim(written.get<std::string>()) : written.dump();
}

// The latest layer's last word on a flag or one of its other names.
const RawArgument* latest(const std::vector<RawArgument>& raw, std::string_view flag) {
  const RawArgument* found = nullptr;
  for (const RawArgument& each : raw) {
    const bool means_it = each.flag->name == flag || each.flag->replaced_by.flag == flag;
    if (means_it && (found == nullptr || each.layer >= found->layer)) found = &each;
  }
  return found;
}

// "fe80::1" or "fe80::1%eth0".
bool is_ipv6(const std::string& host) {
  in6_addr unused{};
  const size_t zone = host.find('%');
  if (zone != std::string::npos && host.find(':', zone) != std::string::npos) return false;
  return ::inet_pton(AF_INET6, host.substr(0, zone).c_str(), &unused) == 1;
}

// What may be looked up: a name, an address of IPv4, or one of IPv6 with its colons.
bool is_host(const std::string& host) {
  const bool odd = host.empty() || host.find_first_of("[]/ \t") != std::string::npos;
  return !odd && (host.find(':') == std::string::npos || is_ipv6(host));
}

// "host", "host:29400", "fe80::1", "[fe80::1]" or "[fe80::1]:29400".
struct Endpoint {
  std::string host;
  std::optional<int64_t> port;
  bool valid = true;
};
Endpoint parse_endpoint(const std::string& text) {
  const bool bare_v6 = is_ipv6(text);
  const size_t colon = text.rfind(':'), bracket = text.rfind(']');
  const bool has_port =
      colon != std::string::npos && !bare_v6 && (bracket == std::string::npos || colon > bracket);
  Endpoint endpoint{has_port ? text.substr(0, colon) : text, std::nullopt};
  if (has_port) {
    endpoint.port = signed_number<int64_t>(std::string_view(text).substr(colon + 1));
    endpoint.valid = endpoint.port && *endpoint.port >= 0 && *endpoint.port <= 65535;
  }
  if (endpoint.host.starts_with('[') && endpoint.host.ends_with(']')) {
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  } else if (has_port && endpoint.host.find(':') != std::string::npos) {
    endpoint.valid = false;  // "a:b:c"; beside a port an address of IPv6 stands in brackets
  }
  endpoint.valid = endpoint.valid && is_host(endpoint.host);
  return endpoint;
}

class MachineReader {
 public:
  MachineReader(const Environment& environment, ParseOutcome& outcome, Diagnostics& problems)
      : environment_(environment),
        outcome_(outcome),
        launch_(outcome.arguments.launch),
        problems_(problems) {}

  void read() {
    endpoint();
    options();
    exports();
    launcher_word();
    machines();
    host_file();
  }

 private:
  const Json* unread(const char* flag) const {
    const auto found = outcome_.unread.find(flag);
    return found == outcome_.unread.end() || found->second.is_null() ? nullptr : &found->second;
  }
  bool given(const std::string& flag) const { return outcome_.origins.is_given(flag); }

  void endpoint() {
    const Json* written = unread("rdzv_endpoint");
    const std::string text = written == nullptr ? "" : trim(written->get<std::string>());  // as torchrun does
    if (text.empty()) return;
    const Endpoint endpoint = parse_endpoint(text);
    if (!endpoint.valid)
      return problem("rdzv_endpoint '" + text + "' is not host or host:port", {"rdzv_endpoint"}, "",
                     "--rdzv_endpoint node0:29400, or with an address of IPv6 [fd00::1]:29400");
    take("master_addr", launch_.master_addr, endpoint.host);
    take("master_port", launch_.master_port, endpoint.port ? *endpoint.port : port_of_backend());
  }

  // Of an endpoint that names none: one that was given, else that of torchrun's c10d or of static.
  int64_t port_of_backend() {
    constexpr int64_t kC10dPort = 29400;
    const Json* backend = unread("rdzv_backend");
    if (given("master_port") || backend == nullptr || *backend != "c10d") return launch_.master_port;
    outcome_.notes.push_back(
        {.severity = Severity::kNote,
         .what = "rdzv_endpoint names no port: it is " + std::to_string(kC10dPort),
         .where =
             outcome_.origins.describe("rdzv_endpoint") + ", " + outcome_.origins.describe("rdzv_backend"),
         .why = "that is the port of rdzv_backend c10d; static has " + std::to_string(launch_.master_port),
         .hint = "--rdzv_endpoint HOST:PORT"});
    return kC10dPort;
  }

  template <typename Value>
  void take(const std::string& flag, Value& member, const Value& value) {
    if (given(flag) && member != value)
      return problem(flag + " and rdzv_endpoint say two different things", {flag, "rdzv_endpoint"},
                     Json(member).dump() + " against " + Json(value).dump(), "keep one of them");
    member = value;
    outcome_.origins.set(flag, outcome_.origins.of("rdzv_endpoint"));
  }

  void options() {
    if (trim(launch_.rdzv_conf).empty()) return;
    for (const std::string& part : split(launch_.rdzv_conf, ',')) {
      const size_t equals = part.find('=');
      const std::string key = trim(part.substr(0, equals));
      if (key == kSecretFile) {
        if (equals == std::string::npos || trim(part.substr(equals + 1)).empty())
          problem("rdzv_conf: secret_file names no file", {"rdzv_conf"}, "", "secret_file=PATH");
        continue;
      }
      const bool known = std::find(kSeconds.begin(), kSeconds.end(), key) != kSeconds.end();
      if (equals == std::string::npos || !known) {
        problem("rdzv_conf: unknown option '" + key + "'", {"rdzv_conf"}, "",
                "one of " + join({kSeconds.begin(), kSeconds.end()}, ", ") + ", as key=seconds, or " +
                    kSecretFile + "=PATH");
        continue;
      }
      const std::optional<double> seconds = signed_number<double>(trim(part.substr(equals + 1)));
      if (!seconds || *seconds <= 0)
        problem("rdzv_conf: " + key + " is not a number of seconds above 0", {"rdzv_conf"}, "", "");
      if (key != "timeout" && key != "join_timeout")
        note(Severity::kNote, "rdzv_conf " + key + " has no effect here",
             "nodes do not come and go during a run");
    }
  }

  void exports() {
    if (const Json* role = unread("role"); role != nullptr && *role != "default")
      outcome_.exported_environment["ROLE_NAME"] = role->get<std::string>();
    const Json* threads = unread("num_cpu_threads_per_process");
    if (threads == nullptr) return;
    outcome_.exported_environment["OMP_NUM_THREADS"] = threads->dump();
    if (environment_.get("MKL_NUM_THREADS"))  // which would win over it
      outcome_.exported_environment["MKL_NUM_THREADS"] = threads->dump();
  }

  // deepspeed_multinode_launcher of accelerate becomes launcher and no_ssh.
  void launcher_word() {
    const Json* written = unread("deepspeed_multinode_launcher");
    if (written == nullptr) return;
    const auto word = written->get<std::string>();
    const std::string origin = outcome_.origins.of("deepspeed_multinode_launcher");
    if (word == "standard" || word == "nossh") {
      launch_.no_ssh = true;
      outcome_.origins.set("no_ssh", origin);
      if (given("hostfile"))
        note(Severity::kNote, "the host file is not read",
             "deepspeed_multinode_launcher " + word + ": every machine is started by hand");
    } else if (!given("launcher")) {
      launch_.launcher = word;
      outcome_.origins.set("launcher", origin);
    }
  }

  void machines() {
    const std::vector<std::string> ends = split(launch_.nnodes, ':');
    const std::optional<int> machines = machines_of(launch_.nnodes);
    if (!machines && ends.size() == 2 && signed_number<int>(ends[0]).value_or(0) > 0 &&
        signed_number<int>(ends[1]).value_or(0) > 0)
      return problem("nnodes " + launch_.nnodes + ": the number of machines cannot change during a run",
                     {"nnodes"},
                     "there is no elastic training; a run goes on with more or fewer ranks when it is "
                     "started again",
                     "--nnodes " + ends[1]);
    if (!machines)
      return problem("nnodes '" + launch_.nnodes + "' is not a number of machines", {"nnodes"}, "",
                     "a number above 0");
    if (launch_.standalone && *machines > 1)
      return problem("standalone is one machine, and nnodes says " + std::to_string(*machines),
                     {"standalone", "nnodes"}, "", "leave one of them out");
    if (launch_.node_rank >= *machines && !launch_.no_ssh)
      return problem(
          "node_rank " + std::to_string(launch_.node_rank) + " is not one of " + std::to_string(*machines) +
              (*machines == 1 ? " machine" : " machines"),
          {"node_rank", "nnodes"}, "machines are counted from 0",
          *machines == 1 ? "--nnodes N, the number of machines" : "0 to " + std::to_string(*machines - 1));
    if (*machines > 1 && launch_.master_port == 0)
      problem("master_port 0 is a free port, which the other machines cannot know", {"master_port", "nnodes"},
              "", "a port above 0");
  }

  void host_file() {
    const bool named = given("hostfile");
    if (!launch_.include.empty() && !launch_.exclude.empty())
      problem("include and exclude exclude each other", {"include", "exclude"}, "", "keep one of them");
    for (const char* filter : {"include", "exclude"}) {
      const bool used = !(std::string(filter) == "include" ? launch_.include : launch_.exclude).empty();
      if (used && !named)
        problem(std::string(filter) + " chooses from a host file, and none is named", {filter}, "",
                "--hostfile FILE; --gpu_ids 0,1 chooses GPUs of this machine");
      if (used && launch_.num_nodes > 0)
        problem(std::string(filter) + " and num_nodes exclude each other", {filter, "num_nodes"},
                "both choose machines of the host file", "keep one of them");
      if (used && by_num_gpus())
        problem(std::string(filter) + " and num_gpus exclude each other", {filter, "nproc_per_node"},
                "both choose slots of the host file", "keep one of them");
    }
    if (launch_.num_nodes == 1 && !named && machines_of(launch_.nnodes).value_or(1) > 1)
      problem("num_nodes 1 is this machine alone, and nnodes says " + launch_.nnodes, {"num_nodes", "nnodes"},
              "", "leave one of them out");
    if (launch_.num_nodes > 1 && !named)
      problem("num_nodes chooses from a host file, and none is named", {"num_nodes"}, "",
              "--hostfile FILE, or --nnodes with --node_rank on every machine");
    if (launch_.num_nodes == 0 || launch_.num_nodes < -1)
      problem("num_nodes " + std::to_string(launch_.num_nodes) + " is not a number of machines",
              {"num_nodes"}, "", "a number above 0, or -1 for all");
    for (const char* flag : {"no_ssh", "no_ssh_check", "force_multi", "ssh_port", "launcher_args"}) {
      if (given(flag) && !named && !is_default(flag))
        note(Severity::kWarning, std::string(flag) + " has no effect without a host file", "");
    }
    if (named && launch_.standalone)
      problem("standalone is one machine, and a host file names several", {"standalone", "hostfile"}, "",
              "leave one of them out");
    if (launch_.no_ssh && named && !given("node_rank"))
      problem("no_ssh needs node_rank", {"no_ssh"}, "every machine has to know its own number",
              "--node_rank N, from 0");
    check_other_launchers(named);
  }

  // num_gpus and num_accelerators have become nproc_per_node.
  bool by_num_gpus() const { return unread("num_gpus") != nullptr; }

  bool is_default(const char* flag) const {
    const Flag& row = flag_table().named(flag);
    return row.slot.get(outcome_.arguments) == row.default_value();
  }

  // openmpi, mpich, impi, slurm: hftrain is started under them, it does not start them.
  void check_other_launchers(bool named) {
    const bool srun = launch_.launcher == "slurm";
    const bool started = srun ? environment_.get("SLURM_PROCID").has_value()
                              : environment_.get("OMPI_COMM_WORLD_SIZE").has_value() ||
                                    environment_.get("PMI_SIZE").has_value();
    if (!named && !started && given("launcher") && launch_.launcher != "pdsh")
      note(Severity::kWarning, "launcher has no effect without a host file", "nothing else is started");
    if (named && launch_.launcher != "pdsh" && !launch_.no_ssh && !started)
      problem(
          "launcher " + launch_.launcher + " starts hftrain, not the other way round",
          {"launcher", "hostfile"}, "",
          srun ? "srun --ntasks-per-node 1 hftrain … inside the job, without the host file"
               : "mpirun --hostfile " + launch_.hostfile + " -n RANKS hftrain …, or --launcher pdsh for ssh");
    const Json* mpirun = unread("mpirun_hostfile");
    if (mpirun != nullptr && !environment_.get("OMPI_COMM_WORLD_SIZE"))
      problem("mpirun_hostfile is for a start through mpirun", {"mpirun_hostfile"},
              "this program was not started by mpirun",
              "mpirun --hostfile " + mpirun->get<std::string>() + " -n RANKS hftrain …");
  }

  void problem(std::string what, const std::vector<std::string>& flags, std::string why, std::string hint) {
    std::vector<std::string> places;
    for (const std::string& flag : flags) {
      if (given(flag)) places.push_back(outcome_.origins.describe(flag));
    }
    const std::vector<std::string_view> names(flags.begin(), flags.end());
    problems_.push_back({.what = std::move(what),
                         .where = join(places, ", "),
                         .why = why.empty() ? values_of(names, outcome_) : std::move(why),
                         .hint = hint.empty() ? explain(flags.front()) : std::move(hint)});
  }
  void note(Severity severity, std::string what, std::string why) {
    outcome_.notes.push_back(
        {.severity = severity, .what = std::move(what), .where = "", .why = std::move(why), .hint = ""});
  }

  const Environment& environment_;
  ParseOutcome& outcome_;
  LaunchArguments& launch_;
  Diagnostics& problems_;
};

}  // namespace

std::optional<int> machines_of(std::string_view nnodes) {
  const std::vector<std::string> ends = split(nnodes, ':');
  const std::optional<int> first = signed_number<int>(trim(ends.front()));
  if (!first || *first < 1 || ends.size() > 2) return std::nullopt;
  if (ends.size() == 2 && signed_number<int>(trim(ends[1])) != first) return std::nullopt;
  return first;
}

bool says_rank_count(std::string_view nproc_per_node) {
  constexpr int kMost = 99999;
  if (nproc_per_node == "auto" || nproc_per_node == "gpu" || nproc_per_node == "cpu") return true;
  const std::optional<int> number = whole_number(nproc_per_node);
  return number && *number >= 1 && *number <= kMost;
}

std::map<std::string, double> rendezvous_options(std::string_view rdzv_conf) {
  std::map<std::string, double> options;
  for (const std::string& part : split(rdzv_conf, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos) continue;
    const std::optional<double> seconds = signed_number<double>(trim(part.substr(equals + 1)));
    if (seconds) options[trim(part.substr(0, equals))] = *seconds;
  }
  return options;
}

std::optional<std::string> secret_file(std::string_view rdzv_conf) {
  std::optional<std::string> path;
  for (const std::string& part : split(rdzv_conf, ',')) {
    const size_t equals = part.find('=');
    if (equals != std::string::npos && trim(part.substr(0, equals)) == kSecretFile)
      path = trim(part.substr(equals + 1));
  }
  return path;
}

std::optional<double> seconds_of(const std::string& time) {
  const size_t dash = time.find('-');
  const bool has_days = dash != std::string::npos;
  std::vector<double> parts;
  if (has_days) parts.push_back(signed_number<int64_t>(time.substr(0, dash)).value_or(-1));
  for (const std::string& part : split(has_days ? time.substr(dash + 1) : time, ':'))
    parts.push_back(static_cast<double>(signed_number<int64_t>(part).value_or(-1)));
  if (parts.size() > (has_days ? 4 : 3) ||
      std::any_of(parts.begin(), parts.end(), [](double n) { return n < 0; }))
    return std::nullopt;
  // The unit of the first part.
  double unit = has_days ? 86400 : parts.size() == 3 ? 3600 : 60, seconds = 0;
  for (const double part : parts) {
    seconds += part * unit;
    unit /= unit == 86400 ? 24 : 60;
  }
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

int asked_machines(const std::vector<RawArgument>& raw) {
  const RawArgument* nnodes = latest(raw, "nnodes");
  return nnodes == nullptr ? 1 : machines_of(text_of(nnodes->written)).value_or(1);
}

bool is_started_as_rank(const Environment& environment, const std::vector<RawArgument>& raw) {
  constexpr std::array kRanksOfMachine = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                          "MV2_COMM_WORLD_LOCAL_SIZE", "SLURM_STEP_TASKS_PER_NODE"};
  const RawArgument* standalone = latest(raw, "standalone");
  if (standalone != nullptr && text_of(standalone->written) != "false") return false;
  if (environment.get("RANK") && environment.get("WORLD_SIZE")) return true;
  return std::any_of(kRanksOfMachine.begin(), kRanksOfMachine.end(), [&](const char* name) {
    return leading_integer(environment.get_or(name, "1")).value_or(1) > 1;  // Slurm's is a list like 4(x2),3
  });
}

void divide_processes(std::vector<RawArgument>& raw, Diagnostics& problems) {
  const int machines = asked_machines(raw);
  if (machines == 1) return;
  for (RawArgument& each : raw) {
    if (each.flag->name != "num_processes") continue;
    const std::optional<int64_t> total = signed_number<int64_t>(text_of(each.written));
    if (!total || *total < 1) continue;  // refused by its type
    if (*total % machines != 0)
      problems.push_back(
          {.what = "num_processes does not divide by num_machines",
           .where = places_of(each, *latest(raw, "nnodes")),
           .why = std::to_string(*total) + " processes, " + std::to_string(machines) + " machines",
           .hint = "a multiple of " + std::to_string(machines)});
    each.written = std::to_string(std::max<int64_t>(1, *total / machines));
  }
}

void import_machines(const Environment& environment, ParseOutcome& outcome, Diagnostics& problems) {
  MachineReader(environment, outcome, problems).read();
}

}  // namespace hftrain::arguments
