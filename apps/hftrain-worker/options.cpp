#include "options.h"

#include "hftrain/base/error.h"
#include "hftrain/base/whole_number.h"

namespace hftrain::worker {
namespace {

int number(const std::string& text, const std::string& where) {
  const auto value = signed_number(text);
  if (!value) throw Error(ExitCode::kUsage, "not a number: '" + text + "'").where(where);
  return *value;
}

int from_environment(const Environment& environment, const char* name, int otherwise) {
  const auto value = environment.get(name);
  return value ? number(*value, name) : otherwise;
}

}  // namespace

Options read_options(int argc, char** argv, const Environment& environment) {
  Options options;
  options.environment = environment;
  options.rank = from_environment(environment, "RANK", 0);
  options.attempt = from_environment(environment, "HFTRAIN_ATTEMPT", 0);
  options.master_addr = environment.get_or("MASTER_ADDR", options.master_addr);
  options.master_port = from_environment(environment, "MASTER_PORT", 0);
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 >= argc) throw Error(ExitCode::kUsage, name + " needs a value").hint("start runs with hftrain");
    const std::string value = argv[i + 1];
    if (name == "--plan") {
      options.plan_path = value;
    } else if (name == "--requests-fd") {
      options.requests_fd = number(value, name);
    } else if (name == "--control-fd") {
      options.control_fd = number(value, name);
    } else if (name == "--status-fd") {
      options.status_fd = number(value, name);
    } else if (name == "--store-fd") {
      options.store_fd = number(value, name);
    } else {
      throw Error(ExitCode::kUsage, "unknown option " + name).hint("start runs with hftrain");
    }
  }
  if (options.plan_path.empty() && options.requests_fd < 0)
    throw Error(ExitCode::kUsage, "--plan is missing").hint("start runs with hftrain");
  return options;
}

}  // namespace hftrain::worker
