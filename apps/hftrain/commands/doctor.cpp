// hftrain doctor [DIR] [--json]: what a run would find on this machine, what is missing and what that costs.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <ostream>

#include "command.h"
#include "command_options.h"
#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/text.h"
#include "hftrain/data/parquet_plugin.h"
#include "hftrain/machine/detect_topology.h"
#include "hftrain/machine/installation.h"
#include "hftrain/plan/describe.h"
#include "hftrain/plan/text_table.h"
#include "launcher/control/job_secret.h"

namespace hftrain::app {
namespace {

struct DoctorRequest {
  std::string folder = ".";
  bool json = false;
};

// One line of the report. `problem` is what is missing and what that costs; empty when all is well.
struct Finding {
  std::string name;   // also the key in the JSON document
  std::string value;  // for people
  Json data;          // for machines
  std::string problem;
  bool fatal = false;  // no run can start
};

// Nothing when a text was asked for, and printed.
std::optional<DoctorRequest> parse(const CommandContext& context) {
  DoctorRequest request;
  CommandOptions options(
      "hftrain doctor",
      "Versions that a run would load, GPUs, limits and the speed of a disk; what is missing "
      "and what that costs. Exit code 3 when no run can start");
  options.path("DIR", request.folder, "DIR", "folder on the disk to measure");
  options.flag("--json", request.json, "for machines");
  return options.read(context.arguments, context) ? std::optional(request) : std::nullopt;
}

Finding worker_finding(const std::string& worker, const machine::Installation& found) {
  Finding finding{"worker", worker, worker, "", false};
  if (found.worker_found) return finding;
  finding.problem =
      "hftrain-worker is missing beside hftrain: nothing can be trained; scripts/setup and a build make it";
  finding.fatal = true;
  return finding;
}

Finding torch_finding(const machine::Installation& found) {
  Finding finding{
      "torch",
      found.torch_version + " in " + found.torch_folder,
      {{"version", found.torch_version}, {"folder", found.torch_folder}, {"cuda", found.torch_cuda}},
      "",
      false};
  if (!found.torch_folder.empty()) return finding;
  finding.value = "not found";
  if (!found.worker_found) return finding;
  finding.problem =
      "the worker finds no LibTorch: nothing can be trained; an installed hftrain takes `hftrain-libtorch "
      "fetch`, "
      "a checkout scripts/setup";
  finding.fatal = true;
  return finding;
}

Finding gpu_finding(const plan::Topology& topology) {
  const size_t visible = topology.visible.devices.size();
  Finding finding{"gpus", std::to_string(visible) + " visible of " + std::to_string(topology.devices.size()),
                  plan::devices_document(topology)["devices"], topology.gpu_problem, false};
  if (!topology.driver_version.empty()) {
    finding.value += ", driver " + topology.driver_version + ", CUDA up to " + topology.cuda_version;
  }
  if (!topology.gpu_problem.empty())
    finding.problem += ": runs stop with exit code 3, unless --use_cpu is given";
  else if (!topology.devices.empty())
    finding.problem = join(topology.visible.notes, "; ");
  return finding;
}

Finding cuda_finding(const machine::Installation& found, bool has_gpus) {
  const bool usable = found.cuda_plugin && !found.torch_cuda.empty();
  Finding finding{"cuda_plugin", usable ? "built, LibTorch for CUDA " + found.torch_cuda : "not built",
                  usable, "", false};
  if (!usable && has_gpus)
    finding.problem =
        "GPUs cannot be used: run scripts/setup on this machine, which takes LibTorch for CUDA, and build "
        "again";
  return finding;
}

Finding nccl_finding(const machine::Installation& found, size_t gpus) {
  Finding finding{"nccl", found.nccl.value_or("not found"), found.nccl, "", false};
  if (!found.nccl && gpus > 1) finding.problem = "several GPUs cannot work together";
  return finding;
}

Finding mpi_finding(const machine::Installation& found) {
  const std::optional<std::string> version = machine::mpi_version();
  Finding finding{"mpi", version.value_or("not found"), version, "", false};
  if (version && !found.mpi_plugin) finding.value += ", plug-in not built";
  return finding;
}

Finding parquet_finding() {
  try {
    const std::string version = data::load_parquet_plugin(data::parquet_plugin_path(), "").arrow_version;
    return {"parquet", "Arrow " + version, version, "", false};
  } catch (const Error& error) {
    const Diagnostic& told = error.diagnostics().front();
    return {"parquet", "not readable", nullptr,
            "files of that kind cannot be data: " + told.why + "; " + told.hint, false};
  }
}

int64_t limit_of(int resource) {
  rlimit limit{};
  ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
  return limit.rlim_cur == RLIM_INFINITY ? -1 : static_cast<int64_t>(limit.rlim_cur);
}

Finding open_files_finding() {
  constexpr int64_t kComfortable = 1024;
  const int64_t limit = limit_of(RLIMIT_NOFILE);
  Finding finding{"open_files", limit < 0 ? "no limit" : std::to_string(limit), limit, "", false};
  if (limit >= 0 && limit < kComfortable)
    finding.problem = "many ranks or shards may run out of descriptors: ulimit -n 4096";
  return finding;
}

// What keeps strangers out of a job of several machines that is started from here.
Finding job_secret_finding(const Environment& environment) {
  try {
    const bool given = !launcher::job_secret({}, environment).empty();
    return {
        "job_secret",
        given ? std::string(launcher::kSecretVariable) + " is set"
              : "none: machine 0 of a job by --nnodes or srun listens at its --master_addr alone, and takes "
                "whoever comes there (HFTRAIN_JOB_SECRET, --rdzv_conf secret_file=PATH)",
        given, "", false};
  } catch (const Error& error) {
    return {"job_secret", "unusable", false, error.what(), false};
  }
}

Finding locked_memory_finding() {
  const int64_t limit = limit_of(RLIMIT_MEMLOCK);
  return {"locked_memory", limit < 0 ? "no limit" : format_bytes(static_cast<uint64_t>(limit)), limit, "",
          false};
}

Finding shared_memory_finding(size_t gpus) {
  constexpr int64_t kComfortable = int64_t{1} << 30;
  struct statvfs info {};
  if (::statvfs("/dev/shm", &info) != 0) {
    return {"shared_memory", "no /dev/shm", nullptr, "ranks of one machine cannot share memory", false};
  }
  const auto bytes = static_cast<int64_t>(info.f_blocks * info.f_frsize);
  Finding finding{"shared_memory", format_bytes(static_cast<uint64_t>(bytes)) + " in /dev/shm", bytes, "",
                  false};
  if (bytes < kComfortable && gpus != 1)  // which one GPU does not need
    finding.problem = "less than 1 GiB: NCCL may fail between GPUs of this machine; docker run --shm-size 8g";
  return finding;
}

// Bytes per second of writing and syncing one file, or the reason why it cannot be measured.
double write_speed(const std::string& folder) {
  constexpr size_t kChunk = 1 << 20, kChunks = 64;
  std::string path = folder + "/.hftrain-doctor-XXXXXX";
  const FileDescriptor file(::mkstemp(path.data()));
  if (!file) throw system_error(errno, "cannot write", folder);
  ::unlink(path.c_str());
  const std::string chunk(kChunk, 'x');
  const double begin = monotonic_seconds();
  for (size_t i = 0; i < kChunks; ++i) {
    if (::write(file.get(), chunk.data(), kChunk) != static_cast<ssize_t>(kChunk)) {
      throw system_error(errno, "cannot write", folder);
    }
  }
  if (::fsync(file.get()) != 0) throw system_error(errno, "cannot write", folder);
  return static_cast<double>(kChunk * kChunks) / (monotonic_seconds() - begin);
}

Finding disk_finding(const std::string& folder) {
  const std::string path = std::filesystem::absolute(folder).lexically_normal().string();
  Finding finding{"disk", "", {{"folder", path}}, "", false};
  try {
    const uint64_t free = free_bytes(folder);
    const double speed = write_speed(folder);
    finding.data["free_bytes"] = free;
    finding.data["write_bytes_per_second"] = speed;
    finding.value = format_bytes(free) + " free in " + path + ", writes " +
                    format_bytes(static_cast<uint64_t>(speed)) + "/s";
  } catch (const Error& error) {
    finding.value = path;
    finding.problem = error.render() + "\n  checkpoints cannot be saved there";
  }
  return finding;
}

std::vector<Finding> examine(const CommandContext& context, const std::string& folder) {
  const std::string worker =
      (std::filesystem::path(context.program).parent_path() / "hftrain-worker").string();
  const machine::Installation found = machine::inspect_installation(worker, context.environment);
  const plan::Topology topology = machine::detect_topology(context.environment);
  const plan::HostResources& host = topology.host;
  return {worker_finding(worker, found),
          torch_finding(found),
          gpu_finding(topology),
          cuda_finding(found, !topology.devices.empty()),
          nccl_finding(found, topology.visible.devices.size()),
          mpi_finding(found),
          parquet_finding(),
          {"cores", std::to_string(host.usable_cores()), host.usable_cores(), "", false},
          {"memory", format_bytes(static_cast<uint64_t>(host.available_bytes)) + " free",
           host.available_bytes, "", false},
          shared_memory_finding(topology.visible.devices.size()),
          open_files_finding(),
          job_secret_finding(context.environment),
          locked_memory_finding(),
          disk_finding(folder)};
}

void print(const std::vector<Finding>& findings, std::ostream& out) {
  std::vector<std::vector<std::string>> rows;
  for (const Finding& finding : findings) rows.push_back({finding.name, finding.value});
  out << plan::format_table(rows);
  for (const Finding& finding : findings) {
    if (!finding.problem.empty())
      out << (finding.fatal ? "missing: " : "note: ") << finding.name << ": " << finding.problem << '\n';
  }
}

Json document(const std::vector<Finding>& findings) {
  Json json = {{"schema", 1}, {"problems", Json::array()}};
  for (const Finding& finding : findings) {
    json[finding.name] = finding.data;
    if (finding.problem.empty()) continue;
    json["problems"].push_back(
        {{"name", finding.name}, {"problem", finding.problem}, {"fatal", finding.fatal}});
  }
  return json;
}

}  // namespace

ExitCode run_doctor(const CommandContext& context) {
  const std::optional<DoctorRequest> request = parse(context);
  if (!request) return ExitCode::kDone;
  const std::vector<Finding> findings = examine(context, request->folder);
  if (request->json) {
    context.out << dump_json(document(findings)) << '\n';
  } else {
    print(findings, context.out);
  }
  for (const Finding& finding : findings) {
    if (finding.fatal) return ExitCode::kEnvironment;
  }
  return ExitCode::kDone;
}

}  // namespace hftrain::app
