// hftrain devices [--json]: what a run on this machine would see.
#include <ostream>

#include "command.h"
#include "command_options.h"
#include "hftrain/machine/detect_topology.h"
#include "hftrain/plan/describe.h"

namespace hftrain::app {

ExitCode run_devices(const CommandContext& context) {
  bool json = false;
  CommandOptions options(
      "hftrain devices",
      "What a run on this machine would see: local rank, position in CUDA_VISIBLE_DEVICES, PCI index, UUID, "
      "name "
      "and memory of each GPU; cores and memory of the host within the limits of its scheduler or container");
  options.flag("--json", json, "for machines");
  if (!options.read(context.arguments, context)) return ExitCode::kDone;
  const plan::Topology topology = machine::detect_topology(context.environment);
  context.out << (json ? dump_json(plan::devices_document(topology)) + '\n'
                       : plan::describe_devices(topology));
  return ExitCode::kDone;
}

}  // namespace hftrain::app
