#include "hftrain/trainer/profile.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <filesystem>
#include <set>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain::trainer {
namespace {

namespace impl = torch::profiler::impl;
namespace profiler = torch::autograd::profiler;

}  // namespace

Profile::~Profile() {
  if (running_) profiler::disableProfiler();
}

void Profile::before_update(int64_t step) {
  if (running_ || plan_.profile.first == 0 || step < plan_.profile.first || step > plan_.profile.last) return;
  const impl::ProfilerConfig config(impl::ProfilerState::KINETO, /*report_input_shapes=*/true);
  std::set<impl::ActivityType> activities = {impl::ActivityType::CPU};
  if (context_.device.is_cuda()) activities.insert(impl::ActivityType::CUDA);
  context_.device_runtime->synchronise(context_.device);
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
  running_ = true;
}

std::string Profile::after_update(int64_t step) {
  if (!running_ || step < plan_.profile.last) return "";
  running_ = false;
  const std::string folder = plan_.output_dir + "/hftrain/profile";
  const std::string path = folder + "/rank-" + std::to_string(context_.place.rank) + ".json";
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  context_.device_runtime->synchronise(context_.device);
  profiler::disableProfiler()->save(path);
  if (path_exists(path)) return path;
  throw Error(ExitCode::kDisk, "the trace of --profile_steps could not be written")
      .where(path)
      .why("no file is there behind it: the disk is full, or nothing may be written to the folder")
      .hint("free space there, or leave --profile_steps out");
}

}  // namespace hftrain::trainer
