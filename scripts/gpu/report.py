"""The Markdown page of a day, from what its steps have left."""
import json


def write_report(out, names, device):
    """Writes OUT/report.md and says what it holds; the exit status."""
    steps = [json.loads(path.read_text()) for name in names if (path := out / "steps" / f"{name}.json").exists()]
    steps = [step for step in steps if step["device"] == device]
    rows = [row for step in steps for row in step["rows"]]
    failed = [f"{step['step']}: {row['name']}" for step in steps for row in step["rows"] if row["verdict"] == "FAILED"]
    machine = next((row["figure"] for row in rows if row["name"] == "device"), "a device that was not looked at")
    lines = [f"# hftrain on {machine}", ""]
    if device == "cpu":
        lines += ["A rehearsal: no GPU was used, and nothing here says anything of one.", ""]
    if failed:
        lines += ["Failed: " + "; ".join(map(cell, failed)) + ".", ""]
    missing = [name for name in names if name not in [step["step"] for step in steps]]
    if missing:
        lines += ["Not run: " + ", ".join(missing) + ".", ""]
    cut = [step["step"] for step in steps if not step["whole"]]
    if cut:
        lines += ["Cut short, the same command goes on: " + ", ".join(cut) + ".", ""]
    for step in steps:
        lines += [f"## {step['step']} ({step['seconds']:.0f} s)", "", "| | | |", "|---|---|---|"]
        lines += ["| {name} | {verdict} | {figure} |".format(**{key: cell(text) for key, text in row.items()}) for row in step["rows"]]
        lines.append("")
    (out / "report.md").write_text("\n".join(lines))
    held = sum(row["verdict"] == "holds" for row in rows)
    print(*[f"failed: {name}" for name in failed], f"{held} rows hold, {len(failed)} failed; {out / 'report.md'}", sep="\n")
    return 1 if failed else 0


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")
