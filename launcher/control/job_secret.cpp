#include "launcher/control/job_secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "hftrain/arguments/import/launch.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"

namespace hftrain::launcher {
namespace {

constexpr size_t kLongestSecret = 4096;  // bytes
constexpr const char* kHowTo = "(umask 077; head -c 32 /dev/urandom | base64 > FILE)";

Error bad_file(const std::string& path, const std::string& why) {
  return Error(ExitCode::kUsage, "the file of the job's secret cannot be used")
      .where("--rdzv_conf secret_file=" + path)
      .why(why)
      .hint(kHowTo);
}

std::string read_secret(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) throw bad_file(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw bad_file(path, "it is no regular file");
  if (status.st_uid != ::geteuid() && status.st_uid != 0) throw bad_file(path, "it belongs to another user");
  if ((status.st_mode & 077) != 0)
    throw bad_file(path, "others may read or write it").hint("chmod 600 " + path);
  std::string text(kLongestSecret + 1, '\0');
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  if (size < 0) throw bad_file(path, std::strerror(errno));
  if (static_cast<size_t>(size) > kLongestSecret)
    throw bad_file(path, "it is longer than " + std::to_string(kLongestSecret) + " bytes");
  text.resize(static_cast<size_t>(size));
  std::string secret = trim(text);
  if (secret.empty()) throw bad_file(path, "it is empty");
  return secret;
}

}  // namespace

std::string job_secret(const arguments::LaunchArguments& launch, const Environment& environment) {
  if (const auto path = arguments::secret_file(launch.rdzv_conf)) return read_secret(*path);
  const std::optional<std::string> given = environment.get(kSecretVariable);
  if (!given) return "";
  std::string secret = trim(*given);
  if (secret.empty())
    throw Error(ExitCode::kUsage, std::string(kSecretVariable) + " is empty")
        .where("environment " + std::string(kSecretVariable))
        .why("an empty secret keeps nobody out")
        .hint("a long random text, the same for all nodes, or no such variable");
  return secret;
}

}  // namespace hftrain::launcher
