#include <algorithm>
#include <utility>
#include <vector>

#include "hftrain/arguments/import/deepspeed_parts.h"

namespace hftrain::arguments {
namespace {

constexpr int64_t kDefaultThreshold = 100'000;  // of stage3_param_persistence_threshold
const std::string kZeroSection = "/zero_optimization";

// Reads zero_optimization of one file.
class ZeroSection {
 public:
  explicit ZeroSection(const DeepSpeedFile& file)
      : file_(file), keys_(file.keys), sharding_(file.outcome.arguments.parallel.sharding), stage_(stage()) {}

  void run() {
    strategy();
    say_filled_stage();
    old_offload("/cpu_offload", "/offload_optimizer");
    old_offload("/cpu_offload_param", "/offload_param");
    offload("/offload_optimizer", sharding_.offload_optimizer, sharding_.optimizer_path,
            "where optimizer state lives");
    offload("/offload_param", sharding_.offload_parameters, sharding_.parameters_path,
            "where parameters live");
    staging();
    requests();
    whole_parameters();
    saving();
    reduction();
    check_rules();
    idle();
  }

 private:
  // The flag of `accelerate launch` that fills an "auto"; null when it was not given.
  Json launch_flag(const std::string& name) const {
    const auto given = file_.outcome.unread.find(name);
    return given == file_.outcome.unread.end() ? Json(nullptr) : given->second;
  }

  int64_t stage() const {
    const std::string pointer = kZeroSection + "/stage";
    if (!keys_.is_auto(pointer)) return keys_.value_or<int64_t>(pointer, 0);
    const Json flag = launch_flag("zero_stage");
    return flag.is_null() ? kDefaultStage : std::stoll(flag.get<std::string>());  // a choice is a text
  }

  void say_filled_stage() {
    const std::string pointer = kZeroSection + "/stage";
    if (!keys_.is_auto(pointer) || !launch_flag("zero_stage").is_null()) return;
    file_.outcome.notes.push_back({.severity = Diagnostic::Severity::kNote,
                                   .what = "deepspeed: zero_optimization.stage auto is " + number(),
                                   .where = keys_.place(pointer),
                                   .why = "accelerate fills it with zero_stage, which is not given",
                                   .hint = "--zero_stage N"});
  }

  // A text of an offload section; accelerate fills "auto" with its own flag, or with none.
  std::string offload_text(const std::string& key, const std::string& name) const {
    const std::string pointer = kZeroSection + key + '/' + name;
    if (!keys_.is_auto(pointer)) return keys_.value_or<std::string>(pointer, "none");
    const Json flag = launch_flag(key.substr(1) + '_' + name);
    return flag.is_null() ? "none" : flag.get<std::string>();
  }

  void strategy() {
    const std::string pointer = kZeroSection + "/stage", mics = kZeroSection + "/mics_shard_size";
    std::string name = strategy_of_stage(stage_);
    if (keys_.value_or<int64_t>(mics, -1) > 0) {
      if (stage_ != 3)
        file_.refuse(mics, "mics_shard_size needs stage 3",
                     "it cuts parameters, which are whole in stage " + number(),
                     "\"stage\": 3, or leave it out");
      name = "hybrid_shard";
      set(sharding_.shard_ranks, keys_.find(mics)->get<int64_t>(), mics, "the ranks of one shard group");
    }
    set(sharding_.strategy, name, keys_.has(pointer) ? pointer : kZeroSection, "the sharding strategy");
  }

  // cpu_offload: true is offload_optimizer.device cpu.
  void old_offload(const std::string& old_key, const std::string& new_key) {
    if (!keys_.has(kZeroSection + old_key)) return;
    if (keys_.has(kZeroSection + new_key)) {
      file_.refuse(
          kZeroSection + old_key, old_key.substr(1) + " and " + new_key.substr(1) + " are one setting",
          new_key.substr(1) + " is at " + keys_.place(kZeroSection + new_key), "keep " + new_key.substr(1));
    }
  }

  std::string device(const std::string& key) const {
    const std::string old_key = key == "/offload_param" ? "/cpu_offload_param" : "/cpu_offload";
    if (!keys_.has(kZeroSection + key) && keys_.value_or(kZeroSection + old_key, false)) return "cpu";
    return offload_text(key, "device");
  }

  void offload(const std::string& key, Sourced<std::string>& target, Sourced<std::string>& folder,
               const std::string& what) {
    const std::string section = kZeroSection + key, where = device(key), path = section + "/nvme_path";
    set(target, where, keys_.has(section + "/device") ? section + "/device" : section, what);
    if (where != "nvme") return;
    const std::string text = offload_text(key, "nvme_path");
    if (text == "none") {
      const bool filled = keys_.is_auto(section + "/device");
      return file_.refuse(section, key.substr(1) + " on nvme needs nvme_path", "its files lie in that folder",
                          filled ? "\"nvme_path\": \"auto\", which " + key.substr(1) +
                                       "_nvme_path fills as it does the device's"
                                 : "\"nvme_path\": \"/a/folder/on/nvme\"");
    }
    set(folder, text, path, "the folder of " + key.substr(1));
  }

  // Staging buffers of NVMe: one pool serves both, so the larger count is taken.
  void staging() {
    const std::string optimizer = kZeroSection + "/offload_optimizer",
                      parameters = kZeroSection + "/offload_param";
    const auto of = [&](const std::string& section) {
      return keys_.value_or<int64_t>(section + "/buffer_count", 0);
    };
    const std::string& larger = of(parameters) > of(optimizer) ? parameters : optimizer;
    if (of(larger) > 0)
      set(sharding_.buffer_count, of(larger), larger + "/buffer_count", "the number of buffers");
    take(sharding_.buffer_numbers, parameters + "/buffer_size", "the size of a buffer");
    take(sharding_.pipeline_read, optimizer + "/pipeline_read", "reading ahead");
    take(sharding_.pipeline_write, optimizer + "/pipeline_write", "writing behind");
  }

  void requests() {
    take(sharding_.block_bytes, "/aio/block_size", "the size of a request");
    take(sharding_.queue_depth, "/aio/queue_depth", "the requests in flight");
  }

  void whole_parameters() {
    const std::string pointer = kZeroSection + "/stage3_param_persistence_threshold";
    if (stage_ != 3) return;
    if (keys_.is_auto(pointer)) {
      file_.options.full_parameter_limit_by_hidden_size = true;
    } else {
      set(sharding_.full_parameter_limit, keys_.value_or(pointer, kDefaultThreshold), pointer,
          "the limit below which parameters stay whole");
    }
  }

  void saving() {
    const std::string pointer = kZeroSection + "/stage3_gather_16bit_weights_on_model_save";
    if (stage_ != 3 || !keys_.has(pointer)) return;
    // accelerate fills "auto" with its own flag, and with false where that was not given.
    const Json flag = launch_flag("zero3_save_16bit_model");
    sharding_.state_dict_filled_in = keys_.is_auto(pointer) && flag.is_null();
    set(sharding_.state_dict, std::string(keys_.value_or(pointer, flag == true) ? "full" : "sharded"),
        pointer, "the form of saved weights");
  }

  void reduction() {
    const std::string type = keys_.value_or<std::string>("/communication_data_type", "none");
    if (type == "none") return;
    const char* name = type.ends_with("32") ? "float32" : type.starts_with('b') ? "bfloat16" : "float16";
    set(sharding_.reduce_dtype, std::string(name), "/communication_data_type", "the type of reductions");
  }

  void check_rules() {
    const std::string parameters = kZeroSection + "/offload_param",
                      ratio = kZeroSection + "/offload_optimizer/ratio",
                      norm = kZeroSection + "/compute_grad_norm";
    if (stage_ != 3 && device("/offload_param") != "none")
      file_.refuse(parameters, "offload_param needs stage 3", "parameters are whole in stage " + number(),
                   "\"stage\": 3, or offload_optimizer");
    if (stage_ == 0 && device("/offload_optimizer") != "none")
      file_.refuse(kZeroSection + "/offload_optimizer", "offload_optimizer needs stage 1, 2 or 3",
                   "in stage 0 every rank has all of the optimizer's state", "\"stage\": 2, or no device");
    if (keys_.value_or(ratio, 1.0) < 1.0) {
      file_.refuse(ratio,
                   stage_ == 3 ? "offload_optimizer.ratio below 1 is not supported" : "ratio needs stage 3",
                   "all of the update runs where the state is", "\"ratio\": 1.0");
    }
    if (!keys_.value_or(norm, true))
      file_.refuse(norm, "compute_grad_norm false is not supported", "every update logs the norm",
                   "leave it out");
    if (keys_.value_or<std::string>("/gradient_allreduce_op", "mean") == "sum")
      file_.refuse("/gradient_allreduce_op", "gradient_allreduce_op sum is not supported",
                   "gradients are means over the ranks", "mean, and a larger learning rate");
  }

  // What acts in stage 3 or beside files on NVMe only.
  void idle() {
    const std::string parameters = "/offload_param", optimizer = "/offload_optimizer";
    idle_without_nvme(kZeroSection + parameters, device(parameters),
                      {{"/nvme_path", "none"}, {"/buffer_count", 5}, {"/buffer_size", 100'000'000}});
    idle_without_nvme(kZeroSection + optimizer, device(optimizer),
                      {{"/nvme_path", "none"},
                       {"/buffer_count", 4},
                       {"/pipeline_read", false},
                       {"/pipeline_write", false}});
    if (device(parameters) != "nvme")
      idle_without_nvme("/aio", device(optimizer), {{"/block_size", 1'048'576}, {"/queue_depth", 8}});
    if (stage_ == 0 && sharding_.reduce_dtype.value_or("float32") != "float32")
      file_.keys.tell_idle("/communication_data_type", "fp32", "in stages 1 to 3 only");
    // DeepSpeed's own is of stages 1 and 2, and warns in stage 3.
    file_.keys.tell_idle(kZeroSection + "/elastic_checkpoint", false,
                         "any checkpoint loads at any world size and with any strategy", stage_ == 3);
    if (stage_ == 3) return;
    const std::string why = "in stage 3 only";
    file_.keys.tell_idle(kZeroSection + "/stage3_param_persistence_threshold", kDefaultThreshold, why);
    file_.keys.tell_idle(kZeroSection + "/stage3_gather_16bit_weights_on_model_save", false, why);
  }

  void idle_without_nvme(const std::string& section, const std::string& device,
                         const std::vector<std::pair<std::string, Json>>& neutral) {
    if (device == "nvme") return;
    for (const auto& [key, value] : neutral)
      file_.keys.tell_idle(section + key, value, "beside device nvme only");
  }

  std::string number() const { return std::to_string(stage_); }

  template <typename T>
  void set(Sourced<T>& field, T value, const std::string& pointer, const std::string& what) {
    assign(field, std::move(value), keys_.place(pointer), what, file_.problems);
  }
  template <typename T>
  void take(Sourced<T>& field, const std::string& pointer, const std::string& what) {
    if (keys_.has(pointer)) set(field, keys_.find(pointer)->get<T>(), pointer, what);
  }

  const DeepSpeedFile& file_;
  const CheckedSection& keys_;
  ParallelOptions& sharding_;
  const int64_t stage_;
};

}  // namespace

const char* strategy_of_stage(int64_t stage) {
  constexpr const char* kNames[] = {"none", "zero1", "shard_grad_op", "full_shard"};
  return kNames[stage];
}

void import_zero(const DeepSpeedFile& file) {
  ZeroSection(file).run();
}

}  // namespace hftrain::arguments
