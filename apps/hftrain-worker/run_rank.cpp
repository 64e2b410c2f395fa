#include "run_rank.h"

#include <unistd.h>

#include <atomic>
#include <iostream>
#include <optional>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/base/log_level.h"
#include "hftrain/checkpoint/collective_status.h"
#include "hftrain/comm/communicator.h"
#include "hftrain/comm/mpi_plugin.h"
#include "hftrain/plan/plugin_file.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/runtime/failed_device.h"
#include "hftrain/runtime/translate.h"
#include "hftrain/runtime/worker_context.h"
#include "hftrain/trainer/event_channel.h"
#include "hftrain/trainer/plugin.h"
#include "hftrain/trainer/stop_request.h"
#include "hftrain/trainer/trainer.h"
#include "plugin_path.h"

namespace hftrain::worker {
namespace {

using trainer::EventChannel;
using Kind = plan::WorkerEvent::Kind;

constexpr std::chrono::seconds kPatienceOfMpi{30};
constexpr std::chrono::seconds kPatienceAfterStop{2};
constexpr std::chrono::seconds kPatienceWithDevices{10};

runtime::WorkerContext make_context(const plan::RunPlan& plan, const plan::RankPlan& rank) {
  runtime::WorkerPlace place;
  place.rank = rank.rank;
  place.local_rank = rank.local_rank;
  place.world_size = plan.ranks.world_size;
  place.local_world_size = rank.local_world_size;
  place.threads = rank.threads;
  place.cuda_ordinal = rank.device == plan::DeviceKind::kCuda ? rank.ordinal : -1;
  place.device_uuid = rank.device_uuid;
  place.cuda_plugin = plugin_path("libhftrain_cuda.so");
  const runtime::Numerics numerics{plan.full_determinism, plan.precision.tf32,
                                   plan.data.has_rows_of_one_length(),
                                   plan.strategy.mesh_replicate > 1 && plan.strategy.mesh_shard > 1};
  const LogLevel level = log_level_named(plan.logging.level_of(rank), LogLevel::kInfo);
  return runtime::make_worker_context(place, numerics, Logger(level, [](LogLevel, std::string_view text) {
                                        std::cerr << text << std::endl;
                                      }));
}

// Its task may be one that its plug-in describes.
plan::RunPlan read_plan(const std::string& path) {
  const Json plan = read_json_file(path);
  if (const auto plugin = plan::plugin_of_plan(plan)) trainer::learn_task(*plugin);
  return plan::run_plan_from_json(plan, path);
}

// Null unless the ranks talk over MPI.
std::shared_ptr<comm::MpiProcess> start_mpi(const plan::RunPlan& plan) {
  if (plan.ranks.backend != "mpi") return nullptr;
  return comm::load_mpi_plugin(plugin_path("libhftrain_mpi.so")).start_process({});
}

// Tells the launcher what ended this rank: once, and before anything that may wait for other ranks. Any thread.
class FailureReport {
 public:
  FailureReport(EventChannel& events, const StatusPage& status) : events_(events), status_(status) {}
  void tell(const Error& error);

 private:
  EventChannel& events_;
  const StatusPage& status_;
  std::atomic<bool> told_ = false;
};

void FailureReport::tell(const Error& error) {
  if (told_.exchange(true)) return;
  const Diagnostic& first = error.diagnostics().front();
  Json failure = {{"exit_code", static_cast<int>(error.code())},
                  {"what", first.what},
                  {"where", first.where},
                  {"why", first.why},
                  {"hint", first.hint}};
  if (const auto* of_peer = dynamic_cast<const checkpoint::PeerFailure*>(&error))
    failure["of_rank"] = of_peer->rank();
  if (const auto* meeting = dynamic_cast<const comm::RanksMissing*>(&error))
    failure["missing_ranks"] = meeting->ranks();
  // Fast updates are reported only now and then; the status page has the newest.
  if (const int64_t step = status_.read().step; step >= 0) failure["step"] = step;
  events_.send(Kind::kFailed, failure);
}

std::optional<comm::StopWish> wish_to_stop() {
  if (trainer::StopRequest::seen() == trainer::StopSignal::kNone) return std::nullopt;
  const trainer::StopRequest::Stranger stranger = trainer::StopRequest::stranger();
  if (stranger.signal == 0) return comm::StopWish{"a stop signal came"};
  const std::string sender = stranger.pid == 0 ? "the kernel" : "process " + std::to_string(stranger.pid);
  return comm::StopWish{
      "signal " + std::to_string(stranger.signal) + " from " + sender + ", not from the launcher, came",
      /*of_all=*/false};
}

std::unique_ptr<comm::Communicator> connect(const plan::RunPlan& plan, const Options& options,
                                            const runtime::WorkerContext& context,
                                            const std::shared_ptr<comm::MpiProcess>& mpi, StatusPage& status,
                                            FailureReport& failure) {
  comm::GroupOptions group;
  group.rank = options.rank;
  group.world_size = plan.ranks.world_size;
  group.one_machine = plan.ranks.machines == 1;
  group.backend = plan.ranks.backend;
  group.device = context.device;
  group.timeout = std::chrono::seconds(plan.ranks.timeout_seconds);
  group.status = &status;
  // Ranks of GPUs come to an operation at times of their own, and nobody wakes the others: those that are behind answer late.
  if (context.cuda != nullptr) group.patience = kPatienceWithDevices;
  group.lost = [&failure](const Error& error) { failure.tell(error); };
  group.stopped = wish_to_stop;
  group.interfaces = context.environment.get_or("GLOO_SOCKET_IFNAME", "");
  group.store = {options.master_addr, static_cast<uint16_t>(options.master_port), options.store_fd};
  comm::BackendTable backends = comm::builtin_backends();
  if (context.cuda != nullptr) {
    // NCCL's id goes through the store, under mpirun as well: it needs no MPI.
    backends["nccl"] = [cuda = context.cuda](const comm::BackendRequest& request) {
      return cuda->make_nccl_backend(request.store, request.rank, request.world_size, request.device,
                                     request.timeout);
    };
    group.stand_in = context.cuda->without_outputs;
  }
  if (mpi != nullptr) {
    backends["mpi"] = [mpi](const comm::BackendRequest& request) { return mpi->connect(request); };
  }
  return comm::make_communicator(group, backends);
}

ExitCode leave_together(const trainer::RunOutcome& outcome, comm::Communicator& communicator,
                        StatusPage& status, EventChannel& events) {
  status.set_phase(WorkPhase::kLeaving);
  // Nobody leaves while another rank may still need it.
  communicator.barrier();
  Json last = {
      {"exit_code", static_cast<int>(outcome.code)}, {"reason", outcome.reason}, {"stats", outcome.stats}};
  if (outcome.asked_by.signal != 0) {
    last["asked_by"] = outcome.asked_by.pid;
    last["asked_with"] = outcome.asked_by.signal;
  }
  events.send(Kind::kFinished, std::move(last));
  return outcome.code;
}

// All groups of ranks are gone when it returns; what fails is told while they are there. `begin`: when the rank started.
ExitCode train_in_groups(const plan::RunPlan& plan, const Options& options, runtime::WorkerContext& context,
                         const std::shared_ptr<comm::MpiProcess>& mpi, double begin, StatusPage& status,
                         EventChannel& events, FailureReport& failure, const RankProgram& program) {
  const std::unique_ptr<comm::Communicator> communicator =
      connect(plan, options, context, mpi, status, failure);
  std::shared_ptr<void> made;  // has groups of its own
  try {
    return runtime::translate_exceptions([&] {
      comm::agree_on_plan(*communicator, plan::plan_hash(plan));
      const auto ready = [&](std::shared_ptr<void> kept) {
        made = std::move(kept);
        events.send(Kind::kReady, {{"seconds", monotonic_seconds() - begin}});
      };
      const trainer::RunOutcome outcome = program({plan, context, *communicator, events, ready});
      return leave_together(outcome, *communicator, status, events);
    });
  } catch (const Error& error) {
    failure.tell(error);
    throw;
  }
}

ExitCode train(const plan::RunPlan& plan, const Options& options, StatusPage& status, EventChannel& events,
               FailureReport& failure, const RankProgram& program) {
  const double begin = monotonic_seconds();
  runtime::WorkerContext context = make_context(plan, plan.ranks.ranks.at(static_cast<size_t>(options.rank)));
  context.environment = options.environment;
  // Shared with the thread on which ranks connect, which may be left within MPI.
  const std::shared_ptr<comm::MpiProcess> mpi = start_mpi(plan);
  const ExitCode code = train_in_groups(plan, options, context, mpi, begin, status, events, failure, program);
  // mpirun, without which MPI does not end, sleeps while it waits for those it has told to stop, and then
  // kills.
  const auto patience = code == ExitCode::kDone ? kPatienceOfMpi : kPatienceAfterStop;
  if (mpi != nullptr && !mpi->finish(patience)) {
    context.logger.warning("MPI_Finalize did not return; everything was saved before");
  }
  return code;
}

}  // namespace

trainer::RunOutcome with_memory_account(trainer::Trainer& trainer,
                                        const std::function<trainer::RunOutcome()>& train) {
  try {
    return train();
  } catch (...) {
    Error error = runtime::translate(std::current_exception());
    if (error.code() != ExitCode::kDeviceMemory && error.code() != ExitCode::kHostMemory) throw;
    const std::string& why = error.diagnostics().front().why;
    throw error.why((why.empty() ? "" : why + "; ") + trainer.describe_memory());
  }
}

trainer::RunOutcome train_as_planned(const RankParts& parts) {
  auto trainer =
      std::make_shared<trainer::Trainer>(parts.plan, parts.context, parts.communicator, parts.events,
                                         trainer::load_plugin(parts.plan, parts.context));
  parts.ready(trainer);
  return with_memory_account(*trainer, [&] { return trainer->run(); });
}

ExitCode run_rank(const Options& options, StatusPage& status, const RankProgram& program) {
  EventChannel events(FileDescriptor(options.control_fd), options.rank, &status);
  FailureReport failure(events, status);
  const runtime::FailedDeviceReport of_device([&](const Error& error) {
    failure.tell(error);
    std::cerr << error.render() << std::endl;
    ::_exit(static_cast<int>(error.code()));
  });
  try {
    const plan::RunPlan plan = read_plan(options.plan_path);
    return runtime::translate_exceptions(
        [&] { return train(plan, options, status, events, failure, program); });
  } catch (const Error& error) {
    failure.tell(error);
    throw;
  }
}

}  // namespace hftrain::worker
