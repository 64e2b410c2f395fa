#include "hftrain/arguments/import/accelerate.h"

#include <algorithm>
#include <array>

#include "hftrain/arguments/import/accelerate_document.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

// Keys that are a flag of the same name.
constexpr std::array kFlags = {"mixed_precision", "use_cpu", "gpu_ids", "enable_cpu_affinity",
                               "main_training_function"};
// Keys that accelerate reads for a TPU only, which is no kind of run here.
constexpr std::array kTpuKeys = {"downcast_bf16", "tpu_name", "tpu_zone", "tpu_use_cluster", "tpu_use_sudo",
                                 "tpu_vm",        "tpu_env",  "commands", "command_file"};
// Keys that only matter to several machines.
constexpr std::array kBetweenMachines = {"main_process_ip", "rdzv_backend", "machine_rank", "same_network"};
// Keys that are read in other ways, or mean nothing here.
constexpr std::array kOther = {"compute_environment", "distributed_type",
                               "num_processes",       "num_machines",
                               "main_process_port",   "debug",
                               "deepspeed_config",    "fsdp_config",
                               "parallelism_config",  "megatron_lm_config",
                               "mpirun_config",       "fp8_config",
                               "dynamo_config",       "fp16",
                               "dynamo_backend"};
// Those of kOther that are mappings.
constexpr std::array kSections = {"deepspeed_config",   "fsdp_config",   "parallelism_config",
                                  "megatron_lm_config", "mpirun_config", "fp8_config",
                                  "dynamo_config"};

class AccelerateReader {
 public:
  AccelerateReader(const Section& file, Diagnostics& problems, Diagnostics& notes)
      : file_(file, problems, notes) {}

  std::vector<RawArgument> read() {
    const size_t before = file_.mistakes();
    check_environment();
    if (file_.mistakes() > before) return {};  // SageMaker's files have other keys
    const bool plain = check_names();
    kind_ = file_.text("distributed_type").value_or("");
    const bool unreadable =
        file_.value("distributed_type") != nullptr && !file_.value("distributed_type")->is_string();
    if (unreadable || !know_kind()) return {};
    if (plain) read_top_level();
    read_sections(kind_, file_);
    if (file_.mistakes() > before) return {};  // what follows from half a file would only repeat it
    return file_.take_flags();
  }

 private:
  void read_top_level() {
    processes();
    for (const char* key : kFlags) top_level(key);
    old_keys();
    idle_keys();
  }

  // Whether every key that is one value has one, on which those who read them count.
  bool check_names() {
    const std::vector<std::string> known = top_level_keys();
    file_.check_known(file_.values(), "", known);
    const size_t before = file_.mistakes();
    for (const auto& [name, value] : file_.values().items()) {
      const bool several = name == "gpu_ids" || is_listed(kTpuKeys, name);
      const bool plain =
          std::find(known.begin(), known.end(), name) != known.end() && !is_listed(kSections, name);
      if (plain) file_.check_plain(name, value, '/' + name, several);
    }
    return file_.mistakes() == before;
  }

  void check_environment() {
    const std::string where = file_.text("compute_environment").value_or("LOCAL_MACHINE");
    if (where == "LOCAL_MACHINE") return;
    file_.problem("compute_environment " + where + " is not supported", "/compute_environment",
                  "nothing here starts machines elsewhere",
                  "LOCAL_MACHINE, with hftrain on the machine itself");
  }

  bool know_kind() {
    constexpr std::array kKnown = {"NO", "MULTI_CPU", "MULTI_GPU", "DEEPSPEED", "FSDP"};
    constexpr std::array kElsewhere = {"MULTI_NPU", "MULTI_MLU",  "MULTI_SDAA",   "MULTI_MUSA",
                                       "MULTI_XPU", "MULTI_HPU",  "MULTI_NEURON", "XLA",
                                       "TPU",       "MEGATRON_LM"};
    if (kind_ == "no" || kind_ == "false") kind_ = "NO";  // a bare NO in YAML 1.1
    if (is_listed(kKnown, kind_)) return true;
    const std::string known = join({kKnown.begin(), kKnown.end()}, ", ");
    if (kind_.empty()) {
      file_.problem("an Accelerate file needs distributed_type", "", "it says how ranks share the work",
                    "one of " + known);
    } else if (is_listed(kElsewhere, kind_)) {
      file_.problem(
          "distributed_type " + kind_ + " is not supported", "/distributed_type",
          kind_ == "MEGATRON_LM" ? "there is no Megatron-LM here" : "there is no such hardware here",
          "one of " + known);
    } else {
      file_.problem("distributed_type '" + kind_ + "' is unknown", "/distributed_type",
                    "accelerate has no such kind of run", "one of " + known);
    }
    return false;
  }

  void processes() {
    machines_ = file_.number("num_machines").value_or(1);
    const int64_t rank = file_.number("machine_rank").value_or(0);
    // Without num_machines the command line may say it.
    if (rank < 0 || (file_.value("num_machines") != nullptr && rank >= machines_))
      return file_.problem("machine_rank " + std::to_string(rank) + " is not one of " +
                               std::to_string(machines_) + " machines",
                           "/machine_rank", "machines count from 0", "0 to num_machines - 1");
    ranks();
    if (machines_ > 1)
      file_.add("num_machines", "num_machines", std::to_string(machines_), file_.place("/num_machines"));
    kind_of_run();
    top_level("main_process_port");
    for (const char* key : kBetweenMachines) top_level(key);
  }

  // The number of ranks; null where the file leaves it to the command line, see settle_open_ranks().
  void ranks() {
    const std::optional<int64_t> written = file_.number("num_processes");
    const int64_t total = written.value_or(-1);
    if (kind_ == "NO") {
      if (total > 1)
        file_.idle("num_processes", "distributed_type NO is one process, as accelerate launch starts it");
      return file_.add("num_processes", "num_processes", "1", file_.place("/num_processes"));
    }
    if (total < 1)
      return file_.add("num_processes", "num_processes",
                       written ? Json(std::to_string(total)) : Json(nullptr), file_.place("/num_processes"));
    if (total % machines_ != 0)
      return file_.problem("num_processes does not divide by num_machines", "/num_processes",
                           std::to_string(total) + " processes, " + std::to_string(machines_) + " machines",
                           "a multiple of num_machines: the ranks of all of them");
    if (kind_ == "MULTI_GPU" && total < 2)
      return file_.problem("distributed_type MULTI_GPU needs num_processes of 2 or more", "/num_processes",
                           "it is " + std::to_string(total), "distributed_type: 'NO' for one");
    file_.add("num_processes", "num_processes", std::to_string(total), file_.place("/num_processes"));
  }

  void kind_of_run() {
    const std::string where = file_.place("/distributed_type");
    if (kind_ == "MULTI_CPU") file_.add("use_cpu", "distributed_type", "true", where);
    if (kind_ == "MULTI_GPU") file_.add("multi_gpu", "distributed_type", "true", where);
    if (kind_ == "DEEPSPEED") file_.add("use_deepspeed", "distributed_type", "true", where);
    if (kind_ == "FSDP") file_.add("use_fsdp", "distributed_type", "true", where);
  }

  void top_level(const std::string& key) {
    if (file_.value(key) == nullptr || (key == "main_training_function" && *file_.value(key) == "main"))
      return;
    if (key == "use_cpu" && kind_ == "MULTI_CPU") return;  // that says it already
    Json written = *file_.value(key);
    if (key == "gpu_ids" && written.is_array()) {
      std::vector<std::string> ids;
      for (const Json& id : written) ids.push_back(id.get<std::string>());
      written = join(ids, ",");
    }
    file_.add(key, key, written, file_.place('/' + key));
  }

  void old_keys() {
    if (file_.is_true("fp16")) {
      const std::string newer = file_.text("mixed_precision").value_or("");
      if (newer.empty()) file_.add("mixed_precision", "fp16", "fp16", file_.place("/fp16"));
      if (!newer.empty() && newer != "fp16") file_.idle("fp16", "mixed_precision is " + newer);
    }
    if (file_.value("dynamo_backend") != nullptr)
      file_.add("dynamo_backend", "dynamo_backend", to_lower(*file_.text("dynamo_backend")),
                file_.place("/dynamo_backend"));
    if (file_.value("fp8_config") != nullptr && !file_.value("fp8_config")->empty())
      file_.problem("fp8_config is not supported", "/fp8_config", "there is no 8-bit floating point training",
                    "leave it out, and mixed_precision: bf16");
  }

  void idle_keys() {
    for (const char* key : kTpuKeys) {
      if (file_.says_something(key))
        file_.idle(key, "it counts on a TPU only, and distributed_type is " + kind_);
    }
    if (file_.says_something("debug"))
      file_.idle("debug", "there is no mode in which ranks compare tensors before every operation");
  }

  AccelerateDocument file_;
  std::string kind_;
  int64_t machines_ = 1;
};

}  // namespace

std::vector<std::string> top_level_keys() {
  std::vector<std::string> keys(kFlags.begin(), kFlags.end());
  keys.insert(keys.end(), kOther.begin(), kOther.end());
  keys.insert(keys.end(), kTpuKeys.begin(), kTpuKeys.end());
  keys.insert(keys.end(), kBetweenMachines.begin(), kBetweenMachines.end());
  return keys;
}

std::vector<RawArgument> accelerate_flags(const Section& file, Diagnostics& problems, Diagnostics& notes) {
  return AccelerateReader(file, problems, notes).read();
}

}  // namespace hftrain::arguments
