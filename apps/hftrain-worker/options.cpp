#include "options.h"

#include "hftrain/base/error.h"
#include "hftrain/base/whole_number.h"

namespace hftrain::worker {
namespace {

constexpr const char* kByHftrain = "start runs with hftrain, which starts the workers";

int number(const std::string& text, const std::string& where) {
  const auto value = signed_number(text);
  if (!value)
    throw Error(ExitCode::kUsage, "not a number: '" + text + "'")
        .where(where)
        .why("whoever starts a worker gives numbers there")
        .hint(kByHftrain);
  return *value;
}

Error wrong_options(const std::string& what, const char* why) {
  return Error(ExitCode::kUsage, what).where("command line of hftrain-worker").why(why).hint(kByHftrain);
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
    if (i + 1 >= argc) throw wrong_options(name + " needs a value", "it is the last word");
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
      throw wrong_options("unknown option " + name,
                          "a worker has the options that hftrain gives it and no flags");
    }
  }
  if (options.plan_path.empty() && options.requests_fd < 0)
    throw wrong_options("--plan is missing", "a worker trains by the plan that hftrain made");
  return options;
}

}  // namespace hftrain::worker
