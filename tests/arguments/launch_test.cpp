// Machines by flags, rules L of docs/arguments.md.
#include "hftrain/arguments/import/launch.h"

#include "hftrain/arguments/import/visible_gpus.h"
#include "support.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::arguments {
namespace {

LaunchArguments launch(const Words& words, const Environment& environment = {}) {
  return parse(words, environment).arguments.launch;
}

}  // namespace

TEST_CASE("torchrun's names") {
  const LaunchArguments a = launch({"--nnodes", "2", "--node_rank", "1", "--master_addr", "node0",
                                    "--master-port", "1234", "--nproc-per-node", "4"});
  CHECK(machines_of(a.nnodes) == 2);
  CHECK(a.node_rank == 1);
  CHECK(a.master_addr == "node0");
  CHECK(a.master_port == 1234);
  CHECK(a.nproc_per_node == "4");
}

TEST_CASE("accelerate's names, whose processes are those of all machines") {
  const LaunchArguments a = launch({"--num_machines", "2", "--machine_rank", "1", "--main_process_ip",
                                    "node0", "--main_process_port", "1234", "--num_processes", "8"});
  CHECK(machines_of(a.nnodes) == 2);
  CHECK(a.node_rank == 1);
  CHECK(a.master_addr == "node0");
  CHECK(a.master_port == 1234);
  CHECK(a.nproc_per_node == "4");
  CHECK(launch({"--num_processes", "8"}).nproc_per_node == "8");
  CHECK(launch({"--nnodes", "4", "--num_processes", "8"}).nproc_per_node == "2");
  CHECK(contains(mistakes({"--nnodes", "2", "--num_processes", "7"}),
                 "num_processes does not divide by num_machines\n  where: --num_processes and --nnodes "
                 "(command line)\n  why: 7 "
                 "processes, 2 machines"));
  CHECK(contains(mistakes({"--num_machines", "2", "--nnodes", "3"}), "say two different things"));
}

TEST_CASE("variables of torchrun are flags of the lowest rank") {
  Environment pod;
  pod.set("PET_NNODES", "2");
  pod.set("PET_NODE_RANK", "1");
  pod.set("PET_MASTER_ADDR", "job-0");
  pod.set("PET_MASTER_PORT", "29400");
  pod.set("PET_NPROC_PER_NODE", "2");
  const ParseOutcome outcome = parse({}, pod);
  CHECK(outcome.arguments.launch.nnodes == "2");
  CHECK(outcome.arguments.launch.node_rank == 1);
  CHECK(outcome.arguments.launch.master_addr == "job-0");
  CHECK(outcome.arguments.launch.master_port == 29400);
  CHECK(outcome.origins.describe("nnodes") == "nnodes (environment PET_NNODES)");
  CHECK(contains(notes(outcome), "PET_NODE_RANK=1 of the environment is used as --node_rank"));
  CHECK(launch({"--nnodes", "3"}, pod).nnodes == "3");
}

TEST_CASE("nnodes is one number, or two equal ones") {
  CHECK(machines_of("1:1") == 1);
  CHECK(machines_of("3") == 3);
  CHECK(machines_of("3:3") == 3);
  for (const char* text : {"", "0", "-1", "x", "1:2", "2:", ":2", "2:2:2", "2.0"}) {
    INFO(text);
    CHECK_FALSE(machines_of(text));
  }
  CHECK(contains(
      mistakes({"--nnodes", "1:4"}),
      "nnodes 1:4: the number of machines cannot change during a run\n  where: --nnodes (command line)"));
  CHECK(contains(mistakes({"--nnodes", "two"}), "nnodes 'two' is not a number of machines"));
}

TEST_CASE("L9: the machine is one of them") {
  CHECK(contains(mistakes({"--nnodes", "2", "--node_rank", "2"}),
                 "node_rank 2 is not one of 2 machines\n  where: --node_rank (command line), --nnodes"));
  CHECK(contains(mistakes({"--node_rank", "1"}), "node_rank 1 is not one of 1 machine\n"));
  CHECK(contains(mistakes({"--node_rank", "-1"}), "'-1' is not a whole number >= 0"));
}

TEST_CASE("L8: standalone is one machine") {
  CHECK(launch({"--standalone"}).standalone);
  CHECK(
      contains(mistakes({"--standalone", "--nnodes", "2"}), "standalone is one machine, and nnodes says 2"));
  CHECK(mistakes({"--standalone", "--nnodes", "1:1"}).empty());
}

TEST_CASE("rdzv_endpoint is master_addr and master_port") {
  const Words c10d = {"--nnodes", "2", "--node_rank", "0", "--rdzv_backend", "c10d", "--rdzv_id", "job"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), c10d.begin(), c10d.end());
    return more;
  };
  const ParseOutcome outcome = parse(with({"--rdzv_endpoint", "node0:1234"}));
  CHECK(outcome.arguments.launch.master_addr == "node0");
  CHECK(outcome.arguments.launch.master_port == 1234);
  CHECK(outcome.origins.describe("master_addr") == "--rdzv_endpoint (command line)");
  CHECK(outcome.arguments.launch.rdzv_id == "job");
  CHECK(launch(with({"--rdzv_endpoint", "node0"})).master_port == 29400);
  CHECK(launch({"--rdzv_endpoint", "node0"}).master_port == 29500);
  CHECK(launch(with({"--rdzv_endpoint", "[fe80::1]:5"})).master_addr == "fe80::1");
  CHECK(launch(with({"--rdzv_endpoint", "fe80::1"})).master_addr == "fe80::1");
  CHECK(launch(with({"--rdzv_endpoint", "node0", "--master_port", "7"})).master_port == 7);
  CHECK(contains(mistakes(with({"--rdzv_endpoint", "node0:x"})),
                 "rdzv_endpoint 'node0:x' is not host or host:port"));
  CHECK(contains(mistakes(with({"--rdzv_endpoint", ":5"})), "is not host or host:port"));
  for (const char* text : {"a:b:c", "1:2:3", "tcp://node0:29400", "node0:1:2", "[fe80::1", "fe80::1]:5",
                           "[a:b]:5", "fe80::1%eth0:5:x", "node 0:5"}) {
    INFO(text);
    const std::string refusal = "rdzv_endpoint '" + std::string(text) + "' is not host or host:port";
    CHECK(contains(mistakes(with({"--rdzv_endpoint", text})), refusal));
    CHECK(contains(mistakes({"--rdzv_endpoint", text}), refusal));  // also where one machine takes part
    const std::map<std::string, std::string> variables = {{"PET_RDZV_ENDPOINT", text}};
    CHECK(contains(mistakes({}, Environment(variables)), refusal));
  }
  CHECK(launch({"--rdzv_endpoint", "fe80::1%eth0"}).master_addr == "fe80::1%eth0");
  for (const char* text : {" node0:5", "node0:5\n"}) {  // torchrun strips it
    INFO(text);
    CHECK(launch({"--rdzv_endpoint", text}).master_addr == "node0");
    CHECK(launch({"--rdzv_endpoint", text}).master_port == 5);
  }
  CHECK(launch({"--rdzv_endpoint", "[fe80::1]"}).master_addr == "fe80::1");
  CHECK(contains(
      mistakes(with({"--rdzv_endpoint", "node0:5", "--master_addr", "node1"})),
      "master_addr and rdzv_endpoint say two different things\n  where: --master_addr (command line), "
      "--rdzv_endpoint (command line)\n  why: \"node1\" against \"node0\""));
  CHECK(contains(
      mistakes({"--rdzv_backend", "etcd"}),
      "--rdzv_backend etcd is not supported\n  where: command line\n  why: there is no etcd client here"));
  CHECK(
      contains(mistakes(with({"--master_addr", "a", "--master_port", "0"})), "master_port 0 is a free port"));
  CHECK(mistakes({"--master_port", "0"}).empty());
}

TEST_CASE("an endpoint without a port has that of c10d, also of an Accelerate file, which is told") {
  const NamedFile file(
      "--config", "acc.yaml",
      "distributed_type: MULTI_CPU\nnum_processes: 2\nnum_machines: 2\nrdzv_backend: c10d\n");
  const ParseOutcome outcome = file.outcome({"--rdzv_endpoint", "node0"});
  CHECK(outcome.arguments.launch.master_port == 29400);
  CHECK(contains(notes(outcome),
                 "rdzv_endpoint names no port: it is 29400\n  where: --rdzv_endpoint (command line), "
                 "rdzv_backend (" +
                     file.at("4:15") + ")\n  why: that is the port of rdzv_backend c10d; static has 29500"));
  for (const Words& words :
       {Words{"--rdzv_endpoint", "node0:29400"}, Words{"--rdzv_endpoint", "node0", "--master_port", "7"},
        Words{"--rdzv_endpoint", "node0", "--rdzv_backend", "static"}})
    CHECK_FALSE(contains(file.notes(words), "names no port"));
  const NamedFile ported(
      "--config", "acc.yaml",
      "distributed_type: MULTI_CPU\nnum_processes: 2\nnum_machines: 2\nrdzv_backend: c10d\n"
      "main_process_port: 29501\n");
  CHECK(ported.arguments({"--rdzv_endpoint", "node0"}).launch.master_port == 29501);
}

TEST_CASE(
    "gpu_ids chooses among the slots of a host file, which take the place of another mask, as is told") {
  Environment masked;
  masked.set("CUDA_VISIBLE_DEVICES", "4,5,6");
  const auto taken = [&](Words words, const Environment& environment) {
    words.insert(words.end(),
                 {"--hostfile", "hosts", "--no_ssh", "--node_rank", "0", "--include", "one:1,3"});
    ParseOutcome outcome = parse(words, environment);
    outcome.notes.clear();
    take_slots("1,3", environment, outcome);
    return outcome;
  };
  const auto mask = [&](const Words& words, const Environment& environment) {
    return taken(words, environment).exported_environment.at("CUDA_VISIBLE_DEVICES");
  };
  CHECK(mask({}, {}) == "1,3");
  CHECK(mask({"--gpu_ids", "1,0"}, {}) == "3,1");
  CHECK(mask({"--gpu_ids", "1"}, masked) == "3");
  CHECK(mask({"--gpu_ids", "all"}, masked) == "1,3");
  CHECK(mask({"--gpu_ids", "7", "--use_cpu"}, {}) == "1,3");
  CHECK_THROWS_WITH(mask({"--gpu_ids", "2"}, {}), Catch::Contains("gpu_ids: there is no GPU '2'"));
  const std::string told =
      "CUDA_VISIBLE_DEVICES=4,5,6 is not used\n  where: environment\n  why: the host file has the slots 1,3 "
      "for this machine";
  CHECK(contains(notes(taken({}, masked)), told));
  CHECK(contains(notes(taken({"--gpu_ids", "1"}, masked)), told));
  CHECK(notes(taken({"--gpu_ids", "1"}, {})).empty());
  CHECK(notes(taken({"--use_cpu"}, masked)).empty());
  const NamedFile file("--config", "run.yaml", "env:\n  CUDA_VISIBLE_DEVICES: '5'\n");
  CHECK(contains(notes(taken(file.with(), {})),
                 "CUDA_VISIBLE_DEVICES=5 is not used\n  where: env: of a configuration file"));
}

TEST_CASE("a mask that slots of a host file replace refuses no gpu_ids") {
  Environment narrow;
  narrow.set("CUDA_VISIBLE_DEVICES", "4");
  const Words by_hand = {"--hostfile",  "hosts",     "--no_ssh", "--node_rank", "0", "--include",
                         "one:0,1@two", "--gpu_ids", "1"};
  ParseOutcome outcome = parse(by_hand, narrow);
  take_slots("0,1", narrow, outcome);
  CHECK(outcome.exported_environment.at("CUDA_VISIBLE_DEVICES") == "1");
  // A filter may choose no slots of this machine.
  ParseOutcome unchosen = parse(by_hand, narrow);
  CHECK_REFUSED(take_slots(std::nullopt, narrow, unchosen),
                "gpu_ids: there is no GPU '1'\n  where: --gpu_ids (command line)\n  why: "
                "CUDA_VISIBLE_DEVICES=4 is in the environment");
  narrow.set("CUDA_VISIBLE_DEVICES", "4,5");
  ParseOutcome fits = parse(by_hand, narrow);
  take_slots(std::nullopt, narrow, fits);
  CHECK(fits.exported_environment.at("CUDA_VISIBLE_DEVICES") == "5");

  // Machines that are started have GPUs of their own, and ask again.
  narrow.set("CUDA_VISIBLE_DEVICES", "4");
  const Words started = {"--hostfile", "hosts", "--gpu_ids", "1"};
  CHECK(parse(started, narrow).exported_environment.empty());
  Environment there = narrow;
  there.set("HFTRAIN_HOSTED", "1");
  CHECK(contains(mistakes(started, there), "gpu_ids: there is no GPU '1'"));
  CHECK(contains(mistakes({"--hostfile", "hosts", "--gpu_ids", "first"}, narrow), "there is no GPU 'first'"));
  // The mask stays where nothing replaces it.
  CHECK(contains(mistakes({"--hostfile", "hosts", "--no_ssh", "--node_rank", "0", "--gpu_ids", "1"}, narrow),
                 "gpu_ids: there is no GPU '1'"));
}

TEST_CASE("what gpu_ids makes of a mask that is there is told") {
  Environment masked;
  masked.set("CUDA_VISIBLE_DEVICES", "4,5,6");
  const ParseOutcome inside = parse({"--gpu_ids", "0,2"}, masked);
  CHECK(contains(notes(inside),
                 "gpu_ids are positions in CUDA_VISIBLE_DEVICES=4,5,6 of the environment\n  where: --gpu_ids "
                 "(command line)\n  why: the run sees 4,6"));
  CHECK_FALSE(contains(notes(parse({"--gpu_ids", "0,2"})), "gpu_ids"));
  CHECK_FALSE(contains(notes(parse({"--gpu_ids", "all"}, masked)), "gpu_ids"));
  const NamedFile file("--config", "run.yaml", "env:\n  CUDA_VISIBLE_DEVICES: '5'\n");
  const ParseOutcome replaced = file.outcome({"--gpu_ids", "1"});
  CHECK(replaced.exported_environment.at("CUDA_VISIBLE_DEVICES") == "1");
  CHECK(
      contains(notes(replaced),
               "CUDA_VISIBLE_DEVICES=5 is not used\n  where: env: of a configuration file\n  why: gpu_ids 1 "
               "chooses the GPUs"));
  CHECK_FALSE(contains(notes(file.outcome({"--gpu_ids", "5"})), "is not used"));
}

TEST_CASE("rdzv_conf takes seconds that mean something, and no other word") {
  CHECK(rendezvous_options("timeout=900, join_timeout=20.5") ==
        std::map<std::string, double>{{"join_timeout", 20.5}, {"timeout", 900}});
  CHECK(mistakes({"--rdzv_conf", "timeout=900"}).empty());
  CHECK(contains(notes(parse({"--rdzv_conf", "last_call_timeout=3"})),
                 "rdzv_conf last_call_timeout has no effect"));
  CHECK(contains(mistakes({"--rdzv_conf", "rank=0"}), "rdzv_conf: unknown option 'rank'"));
  CHECK(contains(mistakes({"--rdzv_conf", "timeout=soon"}), "timeout is not a number of seconds above 0"));
  CHECK(contains(mistakes({"--rdzv_conf", "timeout=0"}), "timeout is not a number of seconds above 0"));
}

TEST_CASE("rdzv_conf names the file of a job's secret") {
  CHECK(mistakes({"--rdzv_conf", "join_timeout=9,secret_file=/a/b=c"}).empty());
  CHECK(secret_file("join_timeout=9, secret_file=/a/b=c") == "/a/b=c");
  CHECK(secret_file("secret_file=a,secret_file=b") == "b");
  CHECK_FALSE(secret_file("join_timeout=9"));
  CHECK(contains(mistakes({"--rdzv_conf", "secret_file="}), "secret_file names no file"));
  CHECK(contains(mistakes({"--rdzv_conf", "secret_file"}), "secret_file names no file"));
}

TEST_CASE("role and threads reach the workers by the environment") {
  const ParseOutcome outcome = parse({"--role", "trainer", "--num_cpu_threads_per_process", "3"});
  CHECK(outcome.exported_environment.at("ROLE_NAME") == "trainer");
  CHECK(outcome.exported_environment.at("OMP_NUM_THREADS") == "3");
  CHECK(outcome.exported_environment.count("MKL_NUM_THREADS") == 0);
  Environment mkl;  // would win over OMP_NUM_THREADS
  mkl.set("MKL_NUM_THREADS", "8");
  CHECK(parse({"--num_cpu_threads_per_process", "3"}, mkl).exported_environment.at("MKL_NUM_THREADS") == "3");
  CHECK(parse({}).exported_environment.empty());
}

TEST_CASE("folders and host files of a script's unset variable are none, as are rank logs in None") {
  for (const char* flag : {"--log_dir", "--enable_each_rank_log"})
    CHECK_FALSE(parse({flag, ""}).arguments.launch.log_dir);
  CHECK_FALSE(parse({"--enable_each_rank_log", "None"}).arguments.launch.log_dir);
  CHECK(parse({"--enable_each_rank_log", "logs"}).arguments.launch.log_dir == "logs");
  for (const char* flag : {"--hostfile", "--deepspeed_hostfile"})
    CHECK_FALSE(parse({flag, ""}).origins.is_given("hostfile"));
}

TEST_CASE("L10: filters choose from a host file, one way at a time") {
  CHECK(mistakes({"--hostfile", "hosts", "--include", "a:0,1@b"}).empty());
  CHECK(contains(mistakes({"--hostfile", "hosts", "--include", "a", "--exclude", "b"}),
                 "include and exclude exclude each other"));
  CHECK(contains(mistakes({"--hostfile", "hosts", "--include", "a", "--num_nodes", "1"}),
                 "include and num_nodes exclude each other"));
  CHECK(contains(mistakes({"--hostfile", "hosts", "--exclude", "a", "--num_gpus", "1"}),
                 "exclude and num_gpus exclude each other"));
  CHECK(contains(mistakes({"--include", "localhost:0"}),
                 "include chooses from a host file, and none is named"));
  CHECK(contains(mistakes({"--num_nodes", "2"}), "num_nodes chooses from a host file"));
  CHECK(mistakes({"--num_nodes", "1", "--num_gpus", "2", "--master_port", "9901"}).empty());
  CHECK(mistakes({"--num_nodes", "-1"}).empty());
  CHECK(contains(mistakes({"--num_nodes", "1", "--nnodes", "2"}), "num_nodes 1 is this machine alone"));
  CHECK(contains(mistakes({"--hostfile", "hosts", "--num_nodes", "0"}), "num_nodes 0 is not a number"));
  CHECK(contains(mistakes({"--hostfile", "hosts", "--standalone"}), "a host file names several"));
  CHECK(contains(mistakes({"--hostfile", "hosts", "--no_ssh"}), "no_ssh needs node_rank"));
  CHECK(mistakes({"--hostfile", "hosts", "--no_ssh", "--node_rank", "3"}).empty());
  CHECK(contains(notes(parse({"--ssh_port", "2222"})), "ssh_port has no effect without a host file"));
  CHECK(contains(notes(parse({"--no_ssh"})), "no_ssh has no effect without a host file"));
  CHECK(contains(notes(parse({"--launcher", "openmpi"})), "launcher has no effect without a host file"));
  CHECK_FALSE(contains(notes(parse({"--launcher", "pdsh"})), "no effect"));
}

TEST_CASE("launchers that start hftrain are not started by it") {
  CHECK(contains(
      mistakes({"--hostfile", "hosts", "--launcher", "openmpi"}),
      "launcher openmpi starts hftrain, not the other way round\n  where: --launcher (command line), "
      "--hostfile (command line)\n  why: launcher is openmpi, hostfile is hosts\n  try: mpirun --hostfile "
      "hosts -n RANKS hftrain"));
  CHECK(
      contains(mistakes({"--hostfile", "hosts", "--launcher", "slurm"}), "srun --ntasks-per-node 1 hftrain"));
  CHECK(contains(mistakes({"--launcher", "mvapich"}), "MVAPICH is not supported"));
  Environment mpirun;
  mpirun.set("OMPI_COMM_WORLD_SIZE", "2");
  CHECK(mistakes({"--hostfile", "hosts", "--launcher", "openmpi"}, mpirun).empty());
  CHECK(contains(mistakes({"--mpirun_hostfile", "hosts"}), "mpirun_hostfile is for a start through mpirun"));
  CHECK(mistakes({"--mpirun_hostfile", "hosts"}, mpirun).empty());
  CHECK(launch({"--deepspeed_multinode_launcher", "standard"}).no_ssh);
  CHECK(launch({"--deepspeed_multinode_launcher", "nossh"}).no_ssh);
  CHECK(launch({"--deepspeed_multinode_launcher", "pdsh"}).launcher == "pdsh");
}

TEST_CASE("a time is written as for Slurm") {
  CHECK(seconds_of("90") == 5400);
  CHECK(seconds_of("1:30") == 90);
  CHECK(seconds_of("2:00:05") == 7205);
  CHECK(seconds_of("1-12") == 36 * 3600);
  CHECK(seconds_of("1-0:30") == 86400 + 1800);
  CHECK(seconds_of("0-0:0:1") == 1);
  for (const char* wrong : {"", "0", "x", "-5", "1:2:3:4", "1-2:3:4:5", "1:-2"}) {
    INFO(wrong);
    CHECK_FALSE(seconds_of(wrong));
  }
}

}  // namespace hftrain::arguments
