#include "hftrain/report/log_follower.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/regular_file.h"

namespace hftrain::report {

namespace {

std::string without_prefix(const std::string& metric) {
  constexpr std::string_view kPrefix = "eval_";
  return metric.starts_with(kPrefix) && metric != "eval_loss" ? metric.substr(kPrefix.size()) : metric;
}

}  // namespace

LogFollower::LogFollower(std::string path, std::string metric)
    : path_(std::move(path)), metric_(std::move(metric)), bare_(without_prefix(metric_)) {}

const std::vector<double>& LogFollower::read(bool again) {
  if (!again) return values_;
  has_regular_file(path_, "the run");  // of another kind it is refused
  const FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return values_;
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0)
    throw system_error(errno, "cannot read", path_, ExitCode::kData);
  if (status.st_ino != file_ || status.st_size < position_) {
    log_ = {};
    names_.clear();
    rest_.clear();
    position_ = 0;
    file_ = status.st_ino;
  } else if (status.st_size == position_) {
    return values_;
  }
  char buffer[64 << 10];
  ssize_t count = 0;
  while ((count = ::pread(file.get(), buffer, sizeof buffer, position_)) > 0) {
    position_ += count;
    bytes_read_ += static_cast<uint64_t>(count);
    rest_.append(buffer, static_cast<size_t>(count));
    const size_t whole = rest_.rfind('\n') + 1;  // 0: none
    add_log_lines(log_, std::string_view(rest_).substr(0, whole));
    rest_.erase(0, whole);
    for (const auto& [name, series] : log_.metrics) names_.insert(name);
    std::erase_if(log_.metrics,
                  [this](const auto& each) { return each.first != metric_ && each.first != bare_; });
  }
  if (count < 0) throw system_error(errno, "cannot read", path_, ExitCode::kData);
  values_.clear();
  for (const Point& point : log_.metrics[names_.contains(metric_) ? metric_ : bare_])
    values_.push_back(point.value);
  return values_;
}

}  // namespace hftrain::report
