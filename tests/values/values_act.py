#!/usr/bin/env python3
"""Every member that holds what a user asked for, and every member of the plan, reaches a place where it acts.

A value that is copied from struct to struct and then forgotten is an option that is accepted and ignored. So members are
followed by type from statement to statement: a copy is no use, whatever bears the same name is another member, and what
only shows a plan does not act on it.

Usage: values_act.py SOURCE_DIR [--way STRUCT::MEMBER]     the second form prints how one member comes to act
"""
import pathlib
import re
import sys

from cpp_text import tokens_of
from declarations import Sources, read_declarations
from graph import REFUSES, SAID, Graph, Showing
from reader import Reader

# What only carries values: everything that it does with them shows in what it hands on, or in a refusal.
CARRIES = re.compile(r"lib/hftrain/(arguments|plan|machine|architectures|base)/")
# What shows plans and arguments to people and files, or only compares them with each other.
SHOWS = re.compile(r"plan/describe_\w+\.cpp|plan/run_plan_json\.cpp|arguments/(print_config|help|markdown|compatibility|man_page|"
                   r"completion|rules|rules/\w+)\.cpp|reporting/model_card\.(h|cpp)|trainer/run_card\.(h|cpp)")
SHOWN = {"Diagnostic", "Problems", "Origins", "TrainingHeader", "EvaluationHeader"}
SLOT = re.compile(r"&(\w+Arguments)::(\w+)>")
ROOTS = ("ParallelOptions", "DeepSpeedOptions", "AcceleratorOptions", "GradientCheckpointingOptions",
         "LigerKernelOptions", "FsdpSettings", "RunPlan")
OF_THE_FORMAT = {("RunPlan", "schema")}  # checked as JSON, where a plan is read
FEWEST = 300  # members; fewer were followed: the sources are not understood any more

# Members that act nowhere and are there to be said; each must be.
FOR_PEOPLE = {
    "MemoryPlan::reused": "by how much the total is less than its parts; `hftrain plan` prints it",
    "SettledColumns::file": "the message of a missing column names the file that settled the names",
    "AcceleratorOptions::non_blocking": "a warning says when it could have no effect; it is always so",
    "FsdpSettings::use_orig_params": "a notice says that false has no effect",
    **dict.fromkeys(("FsdpSettings::xla_checkpointing", "FsdpSettings::xla_settings"),
                    "a warning says that it has no effect without xla"),
    **dict.fromkeys(("ModelPlan::hub_name", "DataPlan::dataset_name", "SavingPlan::repository"), "the model card names it"),
    **dict.fromkeys(("StrategyPlan::name",
                     "UnitPlan::numbers", "SplitPlan::tokens"), "`hftrain plan` prints it"),
}

# Members that act by a condition alone, which is not followed here; each has a test.
BY_CONDITION = {
}

# Members that decide nothing but whether a run is refused; each has a reason to.
ESTIMATE = "an estimate: a run that does not fit is refused, and `hftrain plan` prints it"
ONLY_REFUSE = {
    **dict.fromkeys(("RanksPlan::ranks_on_machine", "RankPlan::ranks_on_machine"), "how many share a machine: what it must have, and who binds its cores"),
    "InstructionArguments::padding_free": "its task answers by a pointer of the table of tasks, which is not followed here",
    "AdapterSpec::peft_ties": "it lifts a refusal, and by a condition, which is not followed here, an adapter's file has a second name",
    "LaunchArguments::force_multi": "what it does is to lift a refusal",
    **dict.fromkeys(("ModelArguments::ignore_mismatched_sizes", "ModelPlan::ignore_mismatched_sizes"),
                    "what it does is to lift a refusal"),
    "AdapterArguments::lora_task_type": "the model's head is what it says, and another word is refused",
    "DataArguments::dataset_config_name": "it chooses among the files of a data set by a pointer, which is not followed here",
    "ParallelOptions::layer_classes": "units are the layers of the model, whose class is known; another one is refused",
    **dict.fromkeys(("DeepSpeedOptions::total_steps", "DeepSpeedOptions::warmup_steps"),
                    "the run's own number counts, and another one is refused"),
    **dict.fromkeys(("FsdpSettings::load_own_slices", "FsdpSettings::sync_module_states"),
                    "there is one way here; a notice says so, and what contradicts itself is refused"),
    **dict.fromkeys(("EvaluationPlan::kept_bytes", "DiskPlan::nvme_bytes",
                     *("MemoryPlan::" + part for part in ("parameters", "optimizer", "buffers", "total", "evaluation",
                                                          "host", "saving"))), ESTIMATE),
}


def source_texts(root):
    """Path below `root` -> text, of all that is built into the programs."""
    return {str(path.relative_to(root)): path.read_text()
            for folder in ("lib", "launcher", "apps") for path in sorted((root / folder).rglob("*"))
            if path.suffix in {".h", ".cpp"}}


def graph_of(texts):
    sources = Sources()
    for path, text in texts.items():
        read_declarations(tokens_of(text), path, sources)
    graph = Graph(sources, lambda file: not CARRIES.match(file), SHOWN)
    for function in sources.functions:
        if function.body is not None:
            Reader(Showing(graph) if SHOWS.search(function.file) else graph, function).run()
    return graph


def members_to_follow(graph, texts):
    """Those of the flag table's rows, and all below ROOTS that are not structs themselves."""
    rows = [match for path, text in texts.items() if "/arguments/flags/" in path for match in SLOT.findall(text)]
    members, queue = [], [*ROOTS]
    for struct, member in dict.fromkeys(rows):
        core = graph.core(graph.fields(struct)[member][1])
        queue += [core] if core else []
        members += [] if core else [(struct, member)]
    for struct in queue:
        for member, (owner, kind) in graph.fields(struct).items():
            core = graph.core(kind)
            if core is None:
                members.append((owner, member))
            elif core not in queue:
                queue.append(core)
    return [member for member in dict.fromkeys(members) if member not in OF_THE_FORMAT]


def findings(texts):
    """What is wrong, one line each, and how many members were followed."""
    graph = graph_of(texts)
    found, members = [], members_to_follow(graph, texts)
    for member in members:
        name = "::".join(member)
        if graph.way(member):
            lists = {"FOR_PEOPLE": FOR_PEOPLE, "ONLY_REFUSE": ONLY_REFUSE, "BY_CONDITION": BY_CONDITION}
            found += [f"{name} acts, and {of} says that it does not, or not to be seen" for of, names in lists.items() if name in names]
        elif graph.way(member, REFUSES):
            if name not in ONLY_REFUSE:
                found.append(f"{name} is accepted and only refused")
        elif name in BY_CONDITION:
            continue
        elif name not in FOR_PEOPLE:
            found.append(f"{name} is accepted and acts nowhere")
        elif not graph.way(member, SAID):
            found.append(f"{name} acts nowhere and nobody is told ({FOR_PEOPLE[name]})")
    return found, len(members)


def main():
    texts = source_texts(pathlib.Path(sys.argv[1]))
    if sys.argv[2:3] == ["--way"]:
        for node in graph_of(texts).way(tuple(sys.argv[3].split("::"))) or ["it acts nowhere"]:
            print(node)
        return 0
    found, followed = findings(texts)
    print(*found, f"{followed} members were followed to where they act", sep="\n")
    return 1 if found or followed < FEWEST else 0


if __name__ == "__main__":
    sys.exit(main())
