// The sections of an Accelerate file, whose keys are flags.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/import/accelerate.h"
#include "hftrain/arguments/import/accelerate_document.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

constexpr std::array kDeepSpeedKeys = {"deepspeed_config_file",
                                       "zero_stage",
                                       "gradient_accumulation_steps",
                                       "gradient_clipping",
                                       "offload_optimizer_device",
                                       "offload_param_device",
                                       "offload_optimizer_nvme_path",
                                       "offload_param_nvme_path",
                                       "zero3_init_flag",
                                       "zero3_save_16bit_model",
                                       "deepspeed_hostfile",
                                       "deepspeed_exclusion_filter",
                                       "deepspeed_inclusion_filter",
                                       "deepspeed_multinode_launcher",
                                       "deepspeed_moe_layer_cls_names"};
// Keys of a DeepSpeed file that people write here, where accelerate looks at none of them.
constexpr std::array kMisplaced = {"seq_parallel_communication_data_type"};
// Keys of deepspeed_config where "auto" says that the Trainer's own argument decides.
constexpr std::array kAutomatic = {"gradient_accumulation_steps", "gradient_clipping"};
constexpr std::array kNotBesideFile = {
    "gradient_accumulation_steps", "gradient_clipping",      "zero_stage",
    "offload_optimizer_device",    "offload_param_device",   "offload_param_nvme_path",
    "offload_optimizer_nvme_path", "zero3_save_16bit_model", "mixed_precision"};

// Sections whose keys are flags with this before their names, which may be left out.
struct PrefixedSection {
  const char* name;
  const char* prefix;
};
constexpr std::array kPrefixedSections = {PrefixedSection{"fsdp_config", "fsdp_"},
                                          PrefixedSection{"dynamo_config", "dynamo_"},
                                          PrefixedSection{"parallelism_config", "parallelism_config_"},
                                          PrefixedSection{"mpirun_config", "mpirun_"}};

std::string with_prefix(const std::string& key, const std::string& prefix) {
  return key.starts_with(prefix) ? key : prefix + key;
}

class SectionsReader {
 public:
  SectionsReader(const std::string& kind, AccelerateDocument& file) : kind_(kind), file_(file) {}

  void run() {
    for (const auto& [name, prefix] : kPrefixedSections)
      prefixed_section(name, prefix, name != std::string_view("fsdp_config") || kind_ == "FSDP");
    if (file_.value("megatron_lm_config") != nullptr && !file_.value("megatron_lm_config")->empty())
      file_.idle("megatron_lm_config", "distributed_type is " + kind_);
    deepspeed_section();
  }

 private:
  // Keys of a section are flags; the prefix may be left out.
  void prefixed_section(const std::string& section, const std::string& prefix, bool counts) {
    const Json* mapping = file_.mapping_of(section);
    if (mapping == nullptr || mapping->empty()) return;
    if (!counts) return file_.idle(section, "distributed_type is " + kind_);
    std::map<std::string_view, std::string> seen;  // flag -> its spelling here
    for (const auto& [name, written] : mapping->items()) {
      if (written.is_null() || name.starts_with('_')) continue;
      const std::string flag = with_prefix(name, prefix);
      const std::string pointer = '/' + section + '/' + name;
      if (!flag_table().find(flag)) {
        file_.unknown(name, section, '/' + section, nearest_names(flag, names_with(prefix)));
        continue;
      }
      const auto [other, fresh] = seen.emplace(flag_table().find(flag).flag->name, name);
      if (!fresh) {
        file_.problem(section + " has both '" + other->second + "' and '" + name + '\'', pointer,
                      "they are two spellings of one key, the other at " +
                          file_.place('/' + section + '/' + other->second),
                      "keep one of them");
        continue;
      }
      const bool word = section == "dynamo_config" && written.is_string();
      file_.add(flag, name, word ? Json(to_lower(written.get<std::string>())) : written,
                file_.place(pointer));
    }
    if (section == "parallelism_config")
      file_.add("use_parallelism_config", section, "true", file_.place('/' + section));
  }

  static std::vector<std::string> names_with(const std::string& prefix) {
    std::vector<std::string> names;
    for (const Flag* flag : flag_table().flags()) {
      if (flag->name.starts_with(prefix)) names.emplace_back(flag->name);
    }
    return names;
  }

  void deepspeed_section() {
    const Json* mapping = file_.mapping_of("deepspeed_config");
    if (mapping == nullptr || mapping->empty()) return;
    if (kind_ != "DEEPSPEED") return file_.idle("deepspeed_config", "distributed_type is " + kind_);
    std::vector<std::string> known(kDeepSpeedKeys.begin(), kDeepSpeedKeys.end());
    known.insert(known.end(), kMisplaced.begin(), kMisplaced.end());
    file_.check_known(*mapping, "/deepspeed_config", known);
    for (const char* key : kDeepSpeedKeys) {
      const std::string pointer = std::string("/deepspeed_config/") + key;
      if (mapping->contains(key)) file_.check_plain(key, (*mapping)[key], pointer, false);
    }
    for (const char* key : kMisplaced) {
      if (mapping->contains(key))
        file_.idle("deepspeed_config/" + std::string(key), "it is a key of DeepSpeed files");
    }
    if (mapping->contains("deepspeed_config_file")) check_beside_file(*mapping);
    for (const char* key : kDeepSpeedKeys) {
      if (!mapping->contains(key) || (*mapping)[key].is_null()) continue;
      const bool path = std::string(key).ends_with("_path");
      const bool automatic = is_listed(kAutomatic, key) && (*mapping)[key] == "auto";
      if (automatic || (path && (*mapping)[key] == "none")) continue;
      file_.add(key, key, (*mapping)[key], file_.place(std::string("/deepspeed_config/") + key));
    }
  }

  void check_beside_file(const Json& mapping) {
    std::vector<std::string> found;
    for (const char* key : kNotBesideFile) {
      if (mapping.contains(key))
        found.push_back(std::string(key) + " (" + file_.place(std::string("/deepspeed_config/") + key) + ')');
    }
    if (file_.value("mixed_precision") != nullptr)
      found.push_back("mixed_precision (" + file_.place("/mixed_precision") + ')');
    if (found.empty()) return;
    file_.problem("beside deepspeed_config_file these keys cannot stand: " + join(found, ", "),
                  "/deepspeed_config/deepspeed_config_file", "the DeepSpeed file says all of it",
                  "move them into the DeepSpeed file, or leave deepspeed_config_file out");
  }

  const std::string& kind_;
  AccelerateDocument& file_;
};

}  // namespace

void read_sections(const std::string& kind, AccelerateDocument& file) {
  SectionsReader(kind, file).run();
}

std::vector<std::string> sections_with(const std::string& key) {
  const std::vector<std::string> top = top_level_keys();
  const auto is_of_top = [&](const std::string& name) { return std::ranges::count(top, name) > 0; };
  if (is_of_top(key)) return {""};
  std::vector<std::string> sections;
  if (is_listed(kDeepSpeedKeys, key)) sections.emplace_back("deepspeed_config");
  for (const auto& [section, prefix] : kPrefixedSections) {
    const std::string name = with_prefix(key, prefix);
    const FlagMatch flag = flag_table().find(name);
    if (flag && flag.flag->support.status != Support::kRefused && !is_of_top(name))
      sections.emplace_back(section);
  }
  return sections;
}

bool is_key_of_deepspeed_section(const std::string& key) {
  return is_listed(kDeepSpeedKeys, key);
}

bool excluded_beside_deepspeed_file(const std::string& key) {
  return is_listed(kNotBesideFile, key);
}

}  // namespace hftrain::arguments
