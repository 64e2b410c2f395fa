#!/usr/bin/env python3
"""values_act.py finds options that were planted to do nothing, and does not complain of one that works.

Usage: planted_values.py SOURCE_DIR
"""
import pathlib
import sys

from values_act import findings, source_texts

ARGUMENTS = "lib/hftrain/arguments/arguments.h"
ROWS = "lib/hftrain/arguments/flags/saving_flags.cpp"
PLAN = "lib/hftrain/plan/run_plan.h"
RESOLVE = "lib/hftrain/plan/resolve_training.cpp"
DESCRIBE = "lib/hftrain/plan/describe_plan.cpp"
WORKER = "lib/hftrain/trainer/components.cpp"
OPTIONS = "lib/hftrain/models/model.h"
FRONT = "launcher/front/data_stage.cpp"
REQUEST = "lib/hftrain/data/prepare_request.h"

FLAG = [(ARGUMENTS, "struct SavingArguments {", " int64_t planted = 0;"),
        (ROWS, "", "\nSlot planted() { return at<&Arguments::saving, &SavingArguments::planted>; }\n")]
MEMBER = [(PLAN, "struct SavingPlan {", " int64_t planted = 0;")]
OTHER = [(PLAN, "struct LoggingPlan {", " int64_t planted = 0;"),  # of the same name, and this one is used
         (WORKER, "models::ModelOptions options;", " if (plan.logging.planted > 0) std::abort();")]
COPY = [(RESOLVE, "result.only_model = saving.save_only_model;", " result.planted = saving.planted;")]

IDLE, WORKING = "SavingArguments::planted is accepted and acts nowhere", None
REFUSED = "SavingArguments::planted is accepted and only refused"
PLANTS = {
    "a flag that nothing reads": (FLAG, IDLE),
    "a flag that is copied into the plan and forgotten": (FLAG + MEMBER + COPY, IDLE),
    "a flag whose plan member has a namesake that works": (FLAG + MEMBER + OTHER + COPY, IDLE),
    "a flag that the plan only prints": (FLAG + MEMBER + COPY + [
        (DESCRIBE, "std::string text;", " text += std::to_string(plan.saving.planted);")], IDLE),
    "a flag that is only spoken of": (FLAG + [
        (RESOLVE, "SavingPlan result;", " Diagnostic note; if (saving.planted > 0) note.what = \"unusual\";")], IDLE),
    "a flag that a function changes and hands to a member that is forgotten": (FLAG + MEMBER + [
        (RESOLVE, "SavingPlan result;", " result.planted = absolute_steps(saving.planted, plan.steps.max_steps);")], IDLE),
    "a flag that a worker copies into options that nothing reads": (FLAG + MEMBER + COPY + [
        (OPTIONS, "struct ModelOptions {", " int64_t planted = 0;"),
        (WORKER, "models::ModelOptions options;", " options.planted = plan.saving.planted;")], IDLE),
    "a flag that the front program copies into a request that nothing reads": (FLAG + [
        (REQUEST, "struct PrepareRequest {", " int64_t planted = 0;"),
        (FRONT, "data::PrepareRequest request;", " request.planted = arguments.saving.planted;")], IDLE),
    "a plan member that resolve fills and no worker reads": (MEMBER + [
        (RESOLVE, "SavingPlan result;", " result.planted = plan.steps.max_steps;")],
        "SavingPlan::planted is accepted and acts nowhere"),
    "a flag that works below the line": (FLAG + MEMBER + COPY + [
        (WORKER, "models::ModelOptions options;", " if (plan.saving.planted > 0) std::abort();")], WORKING),
    "a flag that works in the front program": (FLAG + [
        (FRONT, "data::PrepareRequest request;", " if (arguments.saving.planted > 0) std::abort();")], WORKING),
    "a flag that decides what the plan says of something that works": (FLAG + [
        (RESOLVE, "SavingPlan result;", " if (saving.planted > 0) result.only_model = true;")], WORKING),
    "a flag that is refused with some values and does nothing with the others": (FLAG + [
        (RESOLVE, "SavingPlan result;", " if (saving.planted > 9) throw Error(ExitCode::kUsage, \"too many\");")],
        REFUSED),
    "a flag that the plan refuses in one combination and answers at once": (FLAG + [
        (RESOLVE, "SavingPlan result;", " if (saving.planted > 9 && saving.async_save) { problems.usage(\"both\"); return result; }")],
        REFUSED),
    "a flag that a worker refuses in one combination and forgets in the others": (FLAG + MEMBER + COPY + [
        (WORKER, "models::ModelOptions options;",
         " if (plan.saving.only_model) { if (plan.saving.planted > 9) throw Error(ExitCode::kUsage, \"both\"); }")], REFUSED),
    "a flag that the front program refuses with a word of its value and forgets otherwise": (FLAG + [
        (FRONT, "data::PrepareRequest request;",
         " if (arguments.saving.planted > 9) throw Error(ExitCode::kUsage, std::to_string(arguments.saving.planted));")], REFUSED),
    "a flag that a worker refuses with one value and follows with the others": (FLAG + MEMBER + COPY + [
        (WORKER, "models::ModelOptions options;",
         " if (plan.saving.planted > 9) throw Error(ExitCode::kUsage, \"much\"); else if (plan.saving.planted > 0) std::abort();")],
        WORKING),
    "a flag that is refused where it cannot work": (FLAG + MEMBER + COPY + [
        (RESOLVE, "SavingPlan result;", " if (saving.planted > 9) throw Error(ExitCode::kUsage, \"too many\");"),
        (WORKER, "models::ModelOptions options;", " if (plan.saving.planted > 0) std::abort();")], WORKING),
}


def planted():
    """Name -> (what it is, its changes to the sources, what is to be found): the plants, each with a member of its own."""
    plants = {}
    for number, (what, (changes, expected)) in enumerate(PLANTS.items()):
        member = f"planted_{number}"
        changes = [(path, behind, text.replace("planted", member)) for path, behind, text in changes]
        plants[member] = what, changes, expected and expected.replace("planted", member)
    return plants


def grow(texts, plants):
    texts = dict(texts)
    for _, changes, _ in plants.values():
        for path, behind, text in changes:
            if behind not in texts[path]:
                sys.exit(f"{path} has no \"{behind}\" to plant behind any more")
            texts[path] = texts[path].replace(behind, behind + text, 1) if behind else texts[path] + text
    return texts


def main():
    texts, plants, failures = source_texts(pathlib.Path(sys.argv[1])), planted(), 0
    found = findings(grow(texts, plants))[0]
    for member, (what, _, expected) in plants.items():
        said = [line for line in found if line.split()[0].endswith("::" + member)]
        good = expected in said if expected else not said
        failures += not good
        print(f"{'found' if expected else 'passed'}: {what}" if good else f"FAILED: {what}: {said}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
