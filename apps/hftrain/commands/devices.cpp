// hftrain devices [--json]: what a run on this machine would see.
#include <ostream>

#include "command.h"
#include "hftrain/base/error.h"
#include "hftrain/plan/describe.h"

namespace hftrain::app {

ExitCode run_devices(const CommandContext& context) {
  bool json = false;
  for (const std::string& argument : context.arguments) {
    if (argument == "--help" || argument == "-h") {
      context.out
          << "usage: hftrain devices [--json]\n"
             "local rank, position in CUDA_VISIBLE_DEVICES, PCI index, UUID, name and memory of each GPU;\n"
             "cores and memory of the host within the limits of its scheduler or container.\n";
      return ExitCode::kDone;
    }
    if (argument != "--json") {
      throw Error(ExitCode::kUsage, "devices does not know '" + argument + "'")
          .hint("hftrain devices --help");
    }
    json = true;
  }
  const plan::Topology topology = plan::detect_topology(context.environment);
  context.out << (json ? dump_json(plan::devices_document(topology)) + '\n'
                       : plan::describe_devices(topology));
  return ExitCode::kDone;
}

}  // namespace hftrain::app
