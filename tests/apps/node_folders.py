"""Nodes without shared storage: --save_on_each_node, with an output folder of its own on each of two machines.

    node_folders.py SCENARIO…      as machines.py
"""
import hashlib
import os
import pathlib
import shutil

from machines import check, check_equal_losses, losses, tell
from runs import free_port


def outputs(scenario, name):
    return [os.path.join(scenario.folder, f"{name}-on-{index}") for index in range(2)]


def start(scenario, name, *more, same_path=False, instead=None, one_machine=False, contained=False):
    """Both machines, each with its own output folder; their codes and what they printed. `same_path`: the second has a disk
    of its own under the path of the first, whose content is copied out when it ends. `instead`: a path, and the folder that
    the second has there. `one_machine`: both programs run on the first, and with `contained` the second sees none but its own processes."""
    port = free_port()
    fronts, (first, second) = [], outputs(scenario, name)
    for index, output in enumerate((first, first if same_path else second)):
        argv = scenario.flags(output, *scenario.nodes(port, index), "--save_strategy", "steps", "--save_steps", "2",
                           "--save_on_each_node", *more)
        if same_path and index == 1:
            os.makedirs(first, exist_ok=True)
            argv = ["sh", "-c", f"mount -t tmpfs none {first} && \"$@\"; code=$?; cp -a {first} {second}; exit $code",
                    "sh", *argv]
        if instead and index == 1:
            argv = ["sh", "-c", f"mount --bind {instead[1]} {instead[0]} && exec \"$@\"", "sh", *argv]
        if contained and index == 1:
            argv = ["unshare", "--pid", "--fork", "--mount-proc", *argv]
        fronts.append(scenario.front(0 if one_machine else index, argv, f"{name}-{index}-{port}"))
    return [front.wait() for front in fronts], "".join(front.text() for front in fronts)


def hashes(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in pathlib.Path(folder).rglob("*") if path.is_file() and path.name != "manifest.json"}


def check_complete(scenario, name, steps):
    first, second = outputs(scenario, name)
    for output in (first, second):
        check(f"{name}: {os.path.basename(output)} has the checkpoints {steps}", scenario.fixture.checkpoints(output) == steps,
              str(os.listdir(output)))
        for step in steps:
            scenario.fixture.call("checkpoint", "verify", f"{output}/checkpoint-{step}")
        found = {path for path in ("model.safetensors", "config.json", "tokenizer.json", "train_results.json",
                                   "all_results.json", "trainer_state.json", "README.md", "hftrain/plan.json",
                                   "hftrain/arguments.yaml", "hftrain/summary.json")
                 if not os.path.exists(os.path.join(output, path))}
        check(f"{name}: {os.path.basename(output)} is a complete run", not found, f"missing: {found}")
        left = [entry for entry in os.listdir(output) if entry.startswith(".")]
        check(f"{name}: nothing is left over in it", not left, str(left))
    for step in steps:
        check(f"{name}: checkpoint-{step} is the same on both",
              hashes(f"{first}/checkpoint-{step}") == hashes(f"{second}/checkpoint-{step}"))
    same = [pathlib.Path(output, "model.safetensors").read_bytes() for output in (first, second)]
    check(f"{name}: the model is the same on both", same[0] == same[1])
    check(f"{name}: the log is node 0's", os.path.exists(f"{first}/hftrain/log.jsonl") and
          not os.path.exists(f"{second}/hftrain/log.jsonl"))


def scenario_every_node_ends_as_a_complete_run(scenario):
    reference = scenario.reference()
    sharded = ["--fsdp", "full_shard auto_wrap", "--fsdp_config", '{"state_dict_type": "SHARDED_STATE_DICT"}']
    for name, more in (("ddp", []), ("sharded", sharded), ("behind", ["--async_save"])):
        codes, text = start(scenario, name, "--save_total_limit", "2", *more, same_path=name == "ddp")
        check(f"{name}: ends with 0 on both machines", codes == [0, 0], text)
        check_complete(scenario, name, [4, 6])
        check_equal_losses(name, reference, outputs(scenario, name)[0], text)


def scenario_two_programs_of_one_machine_are_nodes_by_their_folders(scenario):
    codes, text = start(scenario, "beside", "--save_total_limit", "2", one_machine=True)
    check("both programs end with 0", codes == [0, 0], text)
    check_complete(scenario, "beside", [4, 6])
    check_equal_losses("beside", scenario.reference(), outputs(scenario, "beside")[0], text)
    codes, text = start(scenario, "contained", "--save_total_limit", "2", one_machine=True, contained=True)
    check("containers of one machine train as nodes", codes == [0, 0], text)
    check_complete(scenario, "contained", [4, 6])
    codes, text = start(scenario, "bound", "--bind_cores_to_rank", one_machine=True)
    check("neither binds its rank to cores that the other takes", codes == [2, 2] and "are bound by it" in text, f"{codes}\n{text}")


def scenario_the_run_goes_on_in_both_folders(scenario):
    reference = scenario.reference(2, "--max_steps", "8")
    codes, text = start(scenario, "again", "--max_steps", "8", "--save_total_limit", "3")
    check("a run of 8 updates ends with 0", codes == [0, 0], text)
    for output in outputs(scenario, "again"):  # as if both had ended at 4
        for step in (6, 8):
            shutil.rmtree(f"{output}/checkpoint-{step}")
    codes, text = start(scenario, "again", "--max_steps", "8", "--save_total_limit", "3")
    check("started again it ends with 0", codes == [0, 0], text)
    check("and says that it goes on", "checkpoint-4 at step 4" in text, text)
    aside = [os.path.exists(f"{output}/hftrain/summary.before.json") for output in outputs(scenario, "again")]
    check("the summary of the run before is set aside on both", all(aside), str(aside))
    check_complete(scenario, "again", [4, 6, 8])
    check("with the losses of one run", losses(outputs(scenario, "again")[0])[-4:] == reference[-4:], text)

    with open(f"{outputs(scenario, 'again')[0]}/checkpoint-8/model.safetensors", "r+b") as damaged:
        damaged.truncate(100)
    codes, text = start(scenario, "again", "--max_steps", "8", "--save_total_limit", "3")
    check("with node 0's newest damaged it goes on from the one before", codes == [0, 0] and "checkpoint-6 at step 6" in text, text)
    for output, why in zip(outputs(scenario, "again"), ("which does not verify", "which node 0 passes over")):
        moved = f"moved {output}/checkpoint-8, {why}, to {output}/checkpoint-8.old-1"
        check("both move it aside", moved in text and os.path.exists(f"{output}/checkpoint-8.old-1/model.safetensors"), text)

    for step in (4, 6, 8):
        shutil.rmtree(f"{outputs(scenario, 'again')[1]}/checkpoint-{step}")
    codes, text = start(scenario, "again", "--max_steps", "10")
    check("a node without the checkpoint ends it with 4", set(codes) == {4}, f"{codes}\n{text}")
    check("and is named", "does not have the checkpoint" in text and "node 1" in text, text)


def scenario_all_nodes_go_on_from_one_checkpoint(scenario):
    for name, seed in (("one", "42"), ("other", "7")):
        codes, text = start(scenario, name, "--seed", seed)
        check(f"{name} ends with 0", codes == [0, 0], text)
    first, second = outputs(scenario, "one")
    place = os.path.join(scenario.folder, "named")
    shutil.copytree(f"{first}/checkpoint-6", place)
    codes, text = start(scenario, "further", "--max_steps", "8", "--resume_from_checkpoint", place,
                        instead=(place, f"{second}/checkpoint-4"))
    check("other steps under one name end it with 4", set(codes) == {4}, f"{codes}\n{text}")
    check("and both steps are named", "would not go on from the same checkpoint" in text and
          "at step 4 there, and at step 6 on" in text and "node 1" in text, text)

    shutil.rmtree(f"{second}/checkpoint-6")
    shutil.copytree(f"{outputs(scenario, 'other')[1]}/checkpoint-6", f"{second}/checkpoint-6")
    before = hashes(second)
    codes, text = start(scenario, "one", "--max_steps", "8")
    check("another run's step in the own folder ends it with 4", set(codes) == {4}, f"{codes}\n{text}")
    check("and that is said", "both are at step 6, and their files are not the same" in text, text)
    changed = {path for path, found in hashes(second).items() if before.get(path) != found}
    check("before anything of that run is replaced", changed <= {"hftrain/lock"}, str(changed))


def scenario_the_best_model_outside_the_output_folders_is_loaded_on_all_nodes(scenario):
    # The highest loss counts as the best, which is the first one's.
    best = ["--eval_strategy", "steps", "--eval_steps", "2", "--do_eval", "--validation_split_percentage", "10",
            "--load_best_model_at_end", "--greater_is_better", "true"]
    codes, text = start(scenario, "first", *best)
    check("a first run ends with 0", codes == [0, 0], text)
    place = os.path.join(scenario.folder, "elsewhere")
    shutil.copytree(outputs(scenario, "first")[0], place)
    for output in outputs(scenario, "first"):  # where the state says it was is nothing any more
        shutil.rmtree(output)
    codes, text = start(scenario, "second", *best, "--max_steps", "8", "--resume_from_checkpoint", f"{place}/checkpoint-6")
    check("a run that goes on from it in other folders ends with 0", codes == [0, 0], text)
    check("the best model is loaded", f"Loading best model from {place}/checkpoint-2" in text, text)
    wanted = pathlib.Path(place, "checkpoint-2", "model.safetensors").read_bytes()
    for output in outputs(scenario, "second"):
        check(f"the model in {os.path.basename(output)} is the best one", pathlib.Path(output, "model.safetensors").read_bytes() == wanted, text)


def scenario_a_folder_of_another_run_is_not_touched(scenario):
    codes, text = start(scenario, "taken")
    check("a first run ends with 0", codes == [0, 0], text)
    shutil.rmtree(outputs(scenario, "taken")[0])
    before = hashes(outputs(scenario, "taken")[1])
    codes, text = start(scenario, "taken", "--seed", "7")
    check("another run that would begin there ends with 2", set(codes) == {2}, f"{codes}\n{text}")
    check("and says why", "holds another run on this node" in text, text)
    after = hashes(outputs(scenario, "taken")[1])
    changed = {path for path in before if after.get(path) != before[path]}
    check("nothing of it has changed", changed <= {"hftrain/lock"}, str(changed))
    codes, text = start(scenario, "taken", "--seed", "7", "--overwrite_output_dir")
    check("with --overwrite_output_dir it ends with 0", codes == [0, 0], text)
    aside = os.path.join(outputs(scenario, "taken")[1] + ".old-1", "checkpoint-6", "manifest.json")
    check("and the old run stands aside", os.path.exists(aside) and "moved the old run to" in text, text)


def scenario_an_old_run_comes_back_when_no_new_one_begins(scenario):
    codes, text = start(scenario, "back")
    check("a first run ends with 0", codes == [0, 0], text)
    first, second = outputs(scenario, "back")
    place = os.path.join(scenario.folder, "from")
    shutil.copytree(f"{first}/checkpoint-6", place)
    before = [hashes(output) for output in (first, second)]
    codes, text = start(scenario, "back", "--max_steps", "8", "--overwrite_output_dir", "--resume_from_checkpoint", place,
                        instead=(place, f"{second}/checkpoint-4"))
    check("a job whose nodes cannot agree ends with 4", set(codes) == {4} and "would not go on from the same checkpoint" in text,
          f"{codes}\n{text}")
    for output, old in zip((first, second), before):
        check("the old run is where it was", f"moved the old run back to {output}" in text and not os.path.exists(output + ".old-1"),
              f"{os.listdir(scenario.folder)}\n{text}")
        now = hashes(output)
        changed = {path for path in {*old, *now} if old.get(path) != now.get(path)}
        check("as it was", changed <= {"hftrain/lock"}, str(changed))
    codes, text = start(scenario, "back", "--max_steps", "8")
    check("and goes on", codes == [0, 0] and "checkpoint-6 at step 6" in text, text)


def scenario_a_shared_folder_is_saved_once(scenario):
    first, second = scenario.pair("shared", "--save_strategy", "steps", "--save_steps", "3", "--save_on_each_node")
    codes = first.wait(), second.wait()
    check("with one folder both end with 0", codes == (0, 0), first.text() + second.text())
    check("and it is said once", "all nodes see one output folder" in first.text(), first.text())
    port = free_port()
    fronts = [scenario.front(index, scenario.flags(output, *scenario.nodes(port, index)), f"apart-{index}")
              for index, output in enumerate(outputs(scenario, "apart"))]
    codes, text = [front.wait() for front in fronts], "".join(front.text() for front in fronts)
    check("without the flag two folders are refused", set(codes) == {2}, f"{codes}\n{text}")


def scenario_a_model_that_a_further_node_cannot_write_is_found_by_the_rehearsal(scenario):
    """Nothing but the end of the run writes it, and node 0 has room for it. 100 KiB are more than a file of the data takes, and less than the model."""
    port, fronts = free_port(), []
    for index, output in enumerate(outputs(scenario, "narrow")):
        argv = scenario.flags(output, *scenario.nodes(port, index), "--save_on_each_node", "--rehearse", "--ddp_backend", "gloo", "--max_steps", "20")
        if index == 1:
            argv = ["sh", "-c", "ulimit -f 200 && exec \"$@\"", "sh", *argv]
        fronts.append(scenario.front(index, argv, f"narrow-{index}"))
    codes, text = [front.wait() for front in fronts], "".join(front.text() for front in fronts)
    check("a job of which one node cannot write the model ends with 7", set(codes) == {7}, f"{codes}\n{text}")
    log = pathlib.Path(outputs(scenario, "narrow")[0], "hftrain", "log.jsonl")
    check("before it trains", "the rehearsal of the last model failed" in text and (not log.exists() or not log.read_text()), text)
    for output in outputs(scenario, "narrow"):
        check("and leaves nothing", ".model.tmp" not in os.listdir(output), str(os.listdir(output)))


def scenario_a_further_node_without_room_for_a_checkpoint_ends_the_job(scenario):
    for name, kilobytes in (("full", 64), ("little", 1024)):
        port, fronts = free_port(), []
        first, second = outputs(scenario, name)
        os.makedirs(second)
        for index, output in enumerate((first, second)):
            argv = scenario.flags(output, *scenario.nodes(port, index), "--save_strategy", "steps", "--save_steps", "2", "--save_on_each_node")
            if index == 1:
                argv = ["sh", "-c", f"mount -t tmpfs -o size={kilobytes}k none {output} && exec \"$@\"", "sh", *argv]
            fronts.append(scenario.front(index, argv, f"{name}-{index}"))
        codes, told = [front.wait() for front in fronts], [front.text() for front in fronts]
        check(f"{name}: a node whose disk cannot hold the checkpoints ends the job with 7", codes == [7, 7], f"{codes}\n{told}")
        if name == "full":
            check("where not one fits, before it trains, with the folder and the node", "not one checkpoint fits on the disk" in told[0] and
                  f"where: {second}" in told[0] and "on node 1" in told[0] and "Running training" not in told[0], told[0])
        else:
            check("where not all do it has said so", "warning: the checkpoints need 1.7 MiB and " in told[1], told[1])


def from_model(scenario, name, folder, *more, instead=None):
    """Both machines train the model of `folder`, of which the second may have another one."""
    output, port = os.path.join(scenario.folder, name), free_port()
    fronts = []
    for index in range(2):
        argv = scenario.flags(output, *scenario.nodes(port, index), "--max_steps", "2", *more)
        argv = [argv[0], "--model_name_or_path", folder, *argv[5:]]
        if instead and index == 1:
            argv = ["sh", "-c", f"mount --bind {instead} {folder} && exec \"$@\"", "sh", *argv]
        fronts.append(scenario.front(index, argv, f"{name}-{index}"))
    return [front.wait() for front in fronts], "".join(front.text() for front in fronts), output


def scenario_all_nodes_begin_with_the_same_weights(scenario):
    scenario.reference()
    model, copy, other = (os.path.join(scenario.folder, name) for name in ("reference", "copy", "other"))
    for folder in (copy, other):
        shutil.copytree(model, folder)
    with open(os.path.join(other, "model.safetensors"), "r+b") as file:
        file.seek(-100, os.SEEK_END)
        file.write(bytes(100))
    for name, more in (("sharded", ["--fsdp", "full_shard auto_wrap"]), ("zero", ["--zero_stage", "2"]), ("whole", ["--ddp_backend", "gloo"])):
        codes, text, output = from_model(scenario, name, model, *more, instead=other)
        check(f"{name}: other weights under one path end it with 4", set(codes) == {4}, f"{codes}\n{text}")
        check("and the folder, the node and the file are named", f"where: {model} on node 1" in text and
              "the weights of the model are not the same on all nodes" in text and "model.safetensors is another one there" in text, text)
        check("before there is anything of that run", not os.path.exists(output))
    codes, text, _ = from_model(scenario, "copied", model, instead=copy)
    check("copies of one model train together", codes == [0, 0], f"{codes}\n{text}")


def scenario_an_evaluation_alone_needs_no_shared_folder(scenario):
    scenario.reference()
    model, output, port = os.path.join(scenario.folder, "reference"), os.path.join(scenario.folder, "judged"), free_port()
    os.makedirs(output)
    fronts = []
    for index in range(2):
        argv = scenario.flags(output, *scenario.nodes(port, index), "--do_eval", "--do_predict", "--validation_file", scenario.fixture.text,
                              "--test_file", scenario.fixture.text)
        argv = [argv[0], "--model_name_or_path", model, *(word for word in argv[5:] if word != "--do_train")]
        if index == 1:
            argv = ["sh", "-c", f"mount -t tmpfs none {output} && exec \"$@\"", "sh", *argv]
        fronts.append(scenario.front(index, argv, f"judged-{index}"))
    codes, text = [front.wait() for front in fronts], "".join(front.text() for front in fronts)
    check("an evaluation of two machines without a shared folder ends with 0", codes == [0, 0], text)
    check("and node 0 has all results", {"eval_results.json", "predict_results.json", "all_results.json"} <= set(os.listdir(output)),
          f"{os.listdir(output)}\n{text}")


if __name__ == "__main__":
    tell(globals())
