"""A root folder that has never seen the build: nothing but what Debian calls essential and what a package depends on, with dpkg's own
records of it. It is made of the packages that are installed on this machine, so that nothing is fetched."""
import os
import pathlib
import re
import subprocess

from runs import skip

DPKG = pathlib.Path("/var/lib/dpkg")
LEFT_OUT = re.compile(r"^/usr/share/(doc|locale|man|info|lintian|bug)(/|$)")
NAMESPACE = ["unshare", "--mount", "--pid", "--fork", "sh", "-c"]
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


def paragraphs():
    """The installed packages by name: their records, and under the names that they provide, too."""
    found = {}
    for text in (DPKG / "status").read_text().split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): (.*)$", text, re.M))
        if fields.get("Status", "").endswith(" installed"):
            fields["text"] = text
            found[fields["Package"]] = fields
    for fields in list(found.values()):
        for name in re.findall(r"[\w.+-]+(?=[^,]*(?:,|$))", re.sub(r"\([^)]*\)", "", fields.get("Provides", ""))):
            found.setdefault(name, fields)
    return found


def names_in(dependencies, installed):
    """The installed package behind each of them; the test is skipped where one is not."""
    for group in filter(None, (part.strip() for part in dependencies.split(","))):
        alternatives = [re.sub(r"[ (:].*", "", one.strip()) for one in group.split("|")]
        for name in alternatives:
            if name in installed:
                yield installed[name]["Package"]
                break
        else:
            skip(f"this machine lacks the package {group}, of which a clean root would be made")


def closure(names, installed):
    wanted, found = list(names), set()
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            fields = installed[name]
            wanted += names_in(", ".join(filter(None, (fields.get("Pre-Depends"), fields.get("Depends")))), installed)
    return found


class CleanRoot:
    def __init__(self, folder):
        if os.geteuid() != 0:
            skip("only root can enter a root folder of its own")
        if not (DPKG / "status").exists():
            skip("this machine is not made of Debian packages")
        self.root, self.installed, self.has, self.mounts = pathlib.Path(folder), paragraphs(), set(), []
        for name in ("bin", "sbin", "lib", "lib64"):
            (self.root / "usr" / name).mkdir(parents=True)
            (self.root / name).symlink_to("usr/" + name)
        for name in ("proc", "sys", "dev", "tmp", "run", "home/user", "var/lib/dpkg/info", "var/lib/dpkg/updates", "etc"):
            (self.root / name).mkdir(parents=True)
        tried = subprocess.run([*NAMESPACE, "\n".join([*self.mounting(), "chroot / true"])], capture_output=True, text=True)
        if tried.returncode:
            skip("this machine lets nobody mount and change the root folder: " + tried.stderr.strip())
        try:
            os.chown(self.root / "home/user", 1000, 1000)
        except OSError as error:
            skip(f"there is no second user here: {error}")
        os.chmod(self.root / "tmp", 0o1777)
        (self.root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\nman:x:6:12:man:/var:/bin/sh\n")
        (self.root / "etc/group").write_text("root:x:0:\nuser:x:1000:\nman:x:12:\n")
        self.add(name for name, fields in self.installed.items() if fields.get("Essential") == "yes" and name == fields["Package"])

    def add(self, names):
        """Those packages with all that they depend on, as dpkg knows them."""
        new = closure(names, self.installed) - self.has
        self.has |= new
        files, info = [], DPKG / "info"
        for name in new:
            for listing in [*info.glob(f"{name}.list"), *info.glob(f"{name}:*.list")]:
                (self.root / "var/lib/dpkg/info" / listing.name).write_bytes(listing.read_bytes())
                files += [line for line in listing.read_text().splitlines() if not LEFT_OUT.match(line) and line not in ("/.", "/bin", "/sbin", "/lib", "/lib64")]
        files = [file[1:] for file in files if os.path.lexists(file)]
        packed = subprocess.Popen(["tar", "-C", "/", "--no-recursion", "-cf", "-", "--null", "-T", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        unpacked = subprocess.Popen(["tar", "-C", str(self.root), "--keep-directory-symlink", "-xpf", "-"], stdin=packed.stdout)
        packed.stdin.write("".join(file + "\0" for file in files).encode())
        packed.stdin.close()
        if unpacked.wait() or packed.wait():
            raise SystemExit("FAILED: the clean root could not be made")
        with open(self.root / "var/lib/dpkg/status", "a") as status:
            status.write("".join(self.installed[name]["text"] + "\n\n" for name in sorted(new)))
        self.run("ldconfig")

    def mount(self, outside, inside):
        """Shows a folder of this machine there, to be read and not written."""
        (self.root / inside.lstrip("/")).mkdir(parents=True, exist_ok=True)
        self.mounts.append((str(outside), inside))

    def mounting(self):
        root = self.root
        lines = ["set -e", "mount --make-rprivate /", f"mount -t proc proc {root}/proc", f"mount --rbind /dev {root}/dev", f"mount --rbind /sys {root}/sys"]
        for outside, inside in self.mounts:
            lines += [f"mount --bind '{outside}' '{root}{inside}'", f"mount -o remount,bind,ro '{root}{inside}'"]
        return lines

    def run(self, *words, user=False, folder="/", expect=0, **environment):
        """What the words print, within the root."""
        lines = [*self.mounting(), f'exec chroot {"--userspec=1000:1000" if user else ""} {self.root} env -i "$@"']
        variables = {**ENVIRONMENT, "HOME": "/home/user" if user else "/root", **environment}
        inside = ["sh", "-c", f'cd "{folder}" && exec "$@"', "sh", *map(str, words)]
        done = subprocess.run([*NAMESPACE, "\n".join(lines), "sh", *(f"{name}={value}" for name, value in variables.items()), *inside], text=True, capture_output=True)
        if expect is not None and done.returncode != expect:
            raise SystemExit(f"FAILED: in the clean root {' '.join(map(str, words))}\nended with {done.returncode}, not {expect}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr
