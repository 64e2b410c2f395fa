#include "hftrain/plan/gpu_models.h"

#include <algorithm>
#include <vector>

#include "hftrain/base/text.h"
#include "hftrain/plan/text_table.h"

namespace hftrain::plan {
namespace {

// clang-format off
constexpr GpuModel kModels[] = {
    {"B200",          183359, 10, 0, 24},
    {"RTX-5090",       32607, 12, 0,  8},
    {"GH200-96GB",     97871,  9, 0, 72},
    {"H200-141GB",    143771,  9, 0, 24},
    {"H100-94GB",      95830,  9, 0, 24},
    {"H100-80GB",      81559,  9, 0, 24},
    {"L40S",           46068,  8, 9, 24},
    {"L40",            46068,  8, 9, 24},
    {"L4",             23034,  8, 9, 24},
    {"RTX-6000-Ada",   49140,  8, 9,  8},
    {"RTX-4090",       24564,  8, 9,  8},
    {"A100-80GB",      81920,  8, 0, 12},
    {"A100-40GB",      40960,  8, 0, 12},
    {"A40",            46068,  8, 6, 12},
    {"A30",            24576,  8, 0, 12},
    {"A10",            23028,  8, 6, 24},
    {"A10G",           23028,  8, 6, 24},
    {"RTX-A6000",      49140,  8, 6,  8},
    {"RTX-3090",       24576,  8, 6,  8},
    {"T4",             15360,  7, 5, 12},
    {"V100-32GB",      32768,  7, 0, 12},
    {"V100-16GB",      16384,  7, 0,  8},
};
// clang-format on

std::string capability_of(const GpuModel& model) {
  return std::to_string(model.compute_major) + '.' + std::to_string(model.compute_minor);
}

std::string plain(std::string_view name) {
  std::string text;
  for (const char c : to_lower(name)) {
    if (c != '-' && c != '_' && c != ' ') text += c;
  }
  return text;
}

}  // namespace

std::span<const GpuModel> gpu_models() {
  return kModels;
}

const GpuModel* find_gpu_model(std::string_view name) {
  const auto found = std::find_if(std::begin(kModels), std::end(kModels),
                                  [&](const GpuModel& model) { return plain(model.name) == plain(name); });
  return found == std::end(kModels) ? nullptr : found;
}

std::string describe_gpu_models() {
  std::vector<std::vector<std::string>> rows = {{"name", "memory", "capability", "cores per GPU"}};
  for (const GpuModel& model : kModels) {
    rows.push_back({model.name, format_bytes(static_cast<uint64_t>(model.memory_bytes())),
                    capability_of(model), std::to_string(model.cores)});
  }
  return format_table(rows) +
         "\n"
         "--machines 2x8xH100-80GB                2 machines with 8 of these GPUs each\n"
         "--machines 8xA100-40GB-96cores-1100GiB  one machine, with its cores and memory\n"
         "--machines 8x80GiB                      8 GPUs of which only the memory is known\n"
         "--machines 4x16cores-64GiB              4 machines without GPUs\n";
}

Json gpu_models_document() {
  Json gpus = Json::array();
  for (const GpuModel& model : kModels) {
    gpus.push_back({{"name", model.name},
                    {"total_bytes", model.memory_bytes()},
                    {"compute_capability", capability_of(model)},
                    {"cores", model.cores}});
  }
  return {{"schema", 1}, {"gpus", gpus}};
}

}  // namespace hftrain::plan
