"""A stand-in for the Hub on the loopback address: repositories with branches and commits, files in git and in LFS, gated and private
ones, and connections that are cut. huggingface_hub, with HF_ENDPOINT set to it, downloads from it and uploads to it as well.

Files in LFS lie at another address, as those of the Hub do; whoever sends it a token is noted in `wrong`.
"""
import base64
import hashlib
import http.server
import json
import re
import threading
import urllib.parse

PAGE = 3  # entries of a page of a tree
LARGE = (".safetensors", ".parquet", ".pt", ".bin", ".npz")


def git_hash(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Blob:
    def __init__(self, data, large):
        self.data, self.large = data, large
        self.etag = sha256(data) if large else git_hash(data)


class Repository:
    """`branches`: name -> commit; `commits`: commit -> {path: Blob}; `messages`: of the pushes, in their order."""

    def __init__(self, kind, name, private=None):
        self.kind, self.name, self.private, self.gated = kind, name, private, False
        self.branches, self.commits, self.messages = {}, {}, []
        self.commit("main", {}, "initial commit", told=False)

    def commit(self, branch, files, message, told=True):
        number = hashlib.sha1(f"{self.name} {len(self.commits)}".encode()).hexdigest()
        self.commits[number], self.branches[branch] = files, number
        if told:
            self.messages.append(message)
        return number

    def files(self, revision="main"):
        return self.commits[self.branches.get(revision, revision)]


class Server(http.server.ThreadingHTTPServer):
    """`cut`: "", or how the connection of each request is lost when it comes for the first time: "during" its body, "before" anything is done,
    "after" it was done, or "half" of the answer's bytes. Requests that send something else are others, whatever their address."""
    daemon_threads = True

    def __init__(self, token="hf_standinsecrettoken", cut="", part_size=None, context=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.token, self.cut, self.part_size = token, cut, part_size
        self.repositories, self.large, self.parts = {}, {}, {}
        self.calls, self.wrong, self.seen, self.lock = [], [], set(), threading.RLock()
        self.fault = lambda method, path: 0  # a status to answer with
        self.trouble = "trouble here"  # and the words
        self.lie = lambda path, data: data  # what is sent in the place of a file
        self.change = lambda path, body, headers: None  # changes a good answer
        self.same_page = False  # a page of a list that names itself as the next one
        self.names_commit = ""  # whatever revision is asked for
        self.endless_refusals = False  # with a body of which more is always to come
        self.hold, self.held = None, threading.Event()  # of hold(method, path): it gets half of a file, and then nothing more
        self.go_on, self.closing = threading.Event(), threading.Event()
        self.scheme = "http"
        if context:
            self.socket, self.scheme = context.wrap_socket(self.socket, server_side=True), "https"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # of connections that a client has closed

    @property
    def address(self):
        return f"{self.scheme}://127.0.0.1:{self.server_port}"

    @property
    def store(self):
        return f"{self.scheme}://localhost:{self.server_port}"

    def add(self, name, files, kind="model", branch="main"):
        """A repository that has these files: path -> bytes."""
        with self.lock:
            repository = self.repositories.setdefault((kind, name), Repository(kind, name))
            blobs = {path: Blob(data, path.endswith(LARGE)) for path, data in files.items()}
            self.large.update({blob.etag: blob.data for blob in blobs.values() if blob.large})
            repository.commit(branch, blobs, "", told=False)
            return repository

    def of(self, name, kind="model"):
        return self.repositories[kind, name]

    def hold_at(self, number):
        """That request, counted from 1, sets `held` and gets no answer before `go_on`."""
        def hold(method, path):
            if len(self.calls) == number:
                self.held.set()
                self.go_on.wait()
            return 0
        self.fault = hold

    def __exit__(self, *unused):
        self.closing.set()
        self.go_on.set()
        self.shutdown()
        self.server_close()


class Refused(Exception):
    def __init__(self, status, code="", message=""):
        super().__init__(message)
        self.status, self.code = status, code


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *unused):
        pass

    def do_GET(self):
        self.take()

    do_HEAD = do_POST = do_PUT = do_GET

    def take(self):
        server, url = self.server, urllib.parse.urlparse(self.path)
        self.path_only = urllib.parse.unquote(url.path)
        self.query = {key: values[0] for key, values in urllib.parse.parse_qs(url.query).items()}
        with server.lock:
            server.calls.append((self.command, self.path_only, dict(self.headers)))
            length = int(self.headers.get("Content-Length", 0))
            self.ends = "during" if server.cut == "during" and self.is_first(length) else ""
        self.body = self.rfile.read(length // 2 if self.ends else length)
        with server.lock:
            self.ends = self.ends or (server.cut if server.cut != "during" and self.is_first(sha256(self.body)) else "")
        if self.ends in ("during", "before"):
            self.close_connection = True
            return
        try:
            status = server.fault(self.command, self.path_only)
            if status:
                raise Refused(status, "", server.trouble)
            with server.lock:
                answer = self.find()
                headers = answer[2] if len(answer) > 2 else {}
                server.change(self.path_only, answer[1], headers)
        except Refused as refused:
            answer = (refused.status, {"error": str(refused)}, {"X-Error-Code": refused.code, "X-Error-Message": str(refused)})
        self.answer(*answer)

    def is_first(self, sent):
        key = (self.command, self.path, self.headers.get("Range"), sent)
        self.server.seen, before = self.server.seen | {key}, self.server.seen
        return key not in before

    def answer(self, status, body, headers=None):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        if self.ends == "after":
            self.close_connection = True
            return
        if status >= 400 and self.server.endless_refusals:
            self.send_response(status)
            self.send_header("Content-Length", str(1 << 40))
            self.end_headers()
            self.close_connection = True
            while True:  # until the client has had enough
                self.wfile.write(b" " * (1 << 16))
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {}), "Content-Length": str(len(data))}.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        held = self.server.hold and self.server.hold(self.command, self.path_only)
        if self.ends == "half" or held:
            self.wfile.write(data[:len(data) // 2])
            self.wfile.flush()
            if held:
                self.server.held.set()
                self.server.go_on.wait()
                return self.wfile.write(data[len(data) // 2:])
            self.close_connection = True
            return
        self.wfile.write(data)

    def known(self):
        return self.headers.get("Authorization") == f"Bearer {self.server.token}"

    def wants_token(self):
        if not self.known():
            raise Refused(401, "", "Invalid username or password.")

    def repository(self, kind, name):
        found = self.server.repositories.get((kind, name))
        if found is None or (found.private and not self.known()):
            raise Refused(404 if self.known() else 401, "RepoNotFound", "Repository not found")
        if found.gated and not self.known():
            raise Refused(401, "GatedRepo", f"Access to {kind} {name} is restricted. You must be authenticated to access it.")
        return found

    def commit_at(self, repository, revision):
        commit = repository.branches.get(revision, revision)
        if commit not in repository.commits:
            raise Refused(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return commit

    def find(self):
        """status, body, headers"""
        path = self.path_only
        if path.startswith(("/cdn/", "/lfs/")):
            if "Authorization" in self.headers and path != "/lfs/verify":  # which is at the Hub's own address
                self.server.wrong.append(("a token at the store", path))
            return self.of_store(path)
        if path == "/api/whoami-v2":
            self.wants_token()
            return 200, {"type": "user", "name": "me", "orgs": []}
        if path == "/api/agent-harnesses":  # which `hf` may ask for its own sake
            raise Refused(404, "", "no such page")
        if path == "/api/repos/create":
            return self.create(json.loads(self.body))
        if path == "/api/validate-yaml":
            message = json.loads(self.body)
            good = message["content"].startswith("---\n") and message["repoType"] in ("model", "dataset")
            return (200 if good else 400), {"errors": [] if good else [{"message": "no front matter"}], "warnings": []}
        if match := re.fullmatch(r"/(datasets/)?(.+)\.git/info/lfs/objects/batch", path):
            return self.batch("dataset" if match[1] else "model", match[2])
        if match := re.fullmatch(r"/api/(model|dataset)s/([^/]+/[^/]+)(?:/(\w[\w-]*)/([^/]+)(?:/(.*))?)?", path):
            kind, name, call, revision, rest = match.groups()
            # A revision may have slashes, which are one part of the address and were unquoted.
            parts = urllib.parse.urlparse(self.path).path.split("/")
            if call:
                revision = urllib.parse.unquote(parts[6])
                rest = urllib.parse.unquote("/".join(parts[7:]))
            return getattr(self, (call or "revision").replace("-", "_"))(self.repository(kind, name), revision or "main", rest)
        if match := re.fullmatch(r"/(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            return self.resolve(self.repository("dataset" if match[1] else "model", match[2]), match[3], match[4])
        self.server.wrong.append((self.command, path))
        raise Refused(404, "", "no such page")

    def create(self, message):
        self.wants_token()
        kind, name = message.get("type") or "model", f"{message.get('organization') or 'me'}/{message['name']}"
        there = (kind, name) in self.server.repositories
        if not there:
            self.server.repositories[kind, name] = Repository(kind, name, message.get("visibility") == "private")
        answer = {"url": f"{self.server.address}/{'datasets/' if kind == 'dataset' else ''}{name}", "name": name}
        return (409, {**answer, "error": "You already created this model repo"}) if there else (200, answer)

    def revision(self, repository, revision, _):
        if self.server.names_commit:
            return 200, {"id": repository.name, "sha": self.server.names_commit, "siblings": []}
        commit = self.commit_at(repository, revision)
        files = [{"rfilename": path} for path in sorted(repository.commits[commit])]
        return 200, {"id": repository.name, "modelId": repository.name, "sha": commit, "siblings": files, "private": bool(repository.private),
                     "gated": False, "tags": [], "downloads": 0, "likes": 0, "disabled": False}

    def entry(self, path, blob):
        entry = {"type": "file", "path": path, "size": len(blob.data), "oid": git_hash(blob.data)}
        return {**entry, "lfs": {"oid": blob.etag, "size": len(blob.data), "pointerSize": 130}} if blob.large else entry

    def tree(self, repository, revision, below):
        files = repository.commits[self.commit_at(repository, revision)]
        folders = sorted({path.rsplit("/", 1)[0] for path in files if "/" in path})
        entries = [{"type": "directory", "path": folder, "size": 0, "oid": "0" * 40} for folder in folders]
        entries += [self.entry(path, blob) for path, blob in sorted(files.items())]
        entries = [entry for entry in entries if not below or entry["path"].startswith(below + "/")]
        begin = int(self.query.get("cursor", 0))
        after = begin if self.server.same_page else begin + PAGE
        more = {"Link": f'<{self.server.address}{self.path.split("?")[0]}?recursive=true&cursor={after}>; rel="next"'}
        return 200, entries[begin:begin + PAGE], more if after < len(entries) else {}

    def paths_info(self, repository, revision, _):
        files = repository.commits[self.commit_at(repository, revision)]
        paths = json.loads(self.body)["paths"] if self.body.startswith(b"{") else urllib.parse.parse_qs(self.body.decode())["paths"]
        return 200, [self.entry(path, files[path]) for path in paths if path in files]

    def resolve(self, repository, revision, path):
        commit = self.commit_at(repository, revision)
        blob = repository.commits[commit].get(path)
        if blob is None:
            raise Refused(404, "EntryNotFound", "Entry not found")
        headers = {"X-Repo-Commit": commit, "ETag": f'"{blob.etag}"', "Accept-Ranges": "bytes"}
        if blob.large:
            return 302, b"", {**headers, "X-Linked-Etag": f'"{blob.etag}"', "X-Linked-Size": str(len(blob.data)),
                              "Location": f"{self.server.store}/cdn/{blob.etag}"}
        return self.part(self.server.lie(path, blob.data), headers)

    def part(self, data, headers):
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not match:
            return 200, data, headers
        begin = int(match[1])
        if begin >= len(data):
            return 416, b"", {**headers, "Content-Range": f"bytes */{len(data)}"}
        return 206, data[begin:], {**headers, "Content-Range": f"bytes {begin}-{len(data) - 1}/{len(data)}"}

    def of_store(self, path):
        _, call, *rest = path.strip("/").split("/") if path.startswith("/lfs/") else ["", *path.strip("/").split("/")]
        if call == "cdn":
            return self.part(self.server.lie(path, self.server.large[rest[0]]), {"ETag": f'"{rest[0]}"', "Accept-Ranges": "bytes"})
        if call == "put":
            return self.stored(rest[0], self.body)
        if call == "part":
            self.server.parts.setdefault(rest[0], {})[int(rest[1])] = self.body
            return 200, b"", {"ETag": f'"{sha256(self.body)[:32]}"'}
        if call == "complete":
            return self.complete(rest[0], json.loads(self.body))
        message = json.loads(self.body)
        good = len(self.server.large.get(message["oid"], b"")) == message["size"]
        return (200 if good else 422), {}

    def stored(self, oid, data):
        if sha256(data) != oid:
            self.server.wrong.append(("bytes of another hash", oid))
            raise Refused(400, "", "wrong hash")
        self.server.large[oid] = data
        return 200, {}

    def complete(self, oid, message):
        parts = self.server.parts.get(oid, {})
        wanted = [{"partNumber": n, "etag": f'"{sha256(parts[n])[:32]}"'} for n in sorted(parts)]
        if message != {"oid": oid, "parts": wanted}:
            self.server.wrong.append(("parts", message, wanted))
            raise Refused(400, "", "parts do not fit")
        return self.stored(oid, b"".join(parts[n] for n in sorted(parts)))

    def batch(self, kind, name):
        self.wants_token()
        self.repository(kind, name)
        if "application/vnd.git-lfs+json" not in (self.headers.get("Accept"), self.headers.get("Content-Type")):
            self.server.wrong.append(("media type", dict(self.headers)))
        message = json.loads(self.body)
        if message["operation"] != "upload" or message["hash_algo"] != "sha256" or "basic" not in message["transfers"]:
            self.server.wrong.append(("batch", message))
        return 200, {"transfer": "multipart" if self.server.part_size else "basic",
                     "objects": [self.upload_of(each) for each in message["objects"]]}, {"Content-Type": "application/vnd.git-lfs+json"}

    def upload_of(self, thing):
        oid, size, store, part = thing["oid"], thing["size"], self.server.store, self.server.part_size
        if oid in self.server.large:
            return {"oid": oid, "size": size}
        upload = {"href": f"{store}/lfs/put/{oid}"}
        if part and size > part:
            upload = {"href": f"{store}/lfs/complete/{oid}", "header": {"chunk_size": str(part), **{
                f"{n + 1:05}": f"{store}/lfs/part/{oid}/{n + 1}" for n in range((size + part - 1) // part)}}}
        return {"oid": oid, "size": size, "actions": {"upload": upload, "verify": {"href": f"{self.server.address}/lfs/verify"}}}

    def preupload(self, repository, revision, _):
        self.wants_token()
        files = repository.commits[self.commit_at(repository, revision)]
        answer = []
        for each in json.loads(self.body)["files"]:
            if len(base64.b64decode(each["sample"], validate=True)) != min(512, each["size"]):
                self.server.wrong.append(("sample", each))
            there = files.get(each["path"])
            answer.append({"path": each["path"], "uploadMode": "lfs" if each["path"].endswith(LARGE) else "regular", "shouldIgnore": False,
                           **({"oid": there.etag} if there else {})})
        return 200, {"files": answer}

    def commit(self, repository, revision, _):
        self.wants_token()
        if self.headers.get("Content-Type") != "application/x-ndjson":
            self.server.wrong.append(("media type", dict(self.headers)))
        lines = [json.loads(line) for line in self.body.splitlines()]
        if revision not in repository.branches:
            raise Refused(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        files = dict(repository.files(revision))
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = Blob(base64.b64decode(value["content"], validate=True), False)
            elif line["key"] == "lfsFile":
                if len(self.server.large.get(value["oid"], b"")) != value["size"]:
                    self.server.wrong.append(("a file that was not sent", value))
                    raise Refused(400, "", "a file was not uploaded")
                files[value["path"]] = Blob(self.server.large[value["oid"]], True)
            elif line["key"] == "deletedFile":
                files.pop(value["path"], None)
        number = repository.commit(revision, files, lines[0]["value"]["summary"])
        return 200, {"success": True, "commitOid": number, "commitUrl": f"{self.server.address}/{repository.name}/commit/{number}"}
