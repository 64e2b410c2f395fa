# Pushes and fetches: what a server does, or does not do, and what a push holds, replaces and tells.

API = "lib/hftrain/hub/api.cpp"
PUSH = "lib/hftrain/hub/push.cpp"
UPLOAD = "lib/hftrain/hub/lfs_upload.cpp"

fault("a server that says nothing is asked as often as one that breaks connections",
      API, "if (answer.silent) ++silences_;", "",
      tests=["hub: a server that says nothing is asked twice, one that breaks connections more often",
             "hub: a store that says nothing is left with the first file"],
      says=r"3 == 2|uploads == 2")

fault("a store without an answer is asked for each file, and five times for all",
      UPLOAD, "if (api.stopped() || may_pass(refused)) break;", "if (api.stopped()) break;",
      also=[(UPLOAD, "if (round + 1 == kMostRounds || may_pass(refused) ||", "if (round + 1 == kMostRounds ||")],
      tests=["hub: a store that says nothing is left with the first file"],
      says=r"20 == 2|ended with")

fault("a token that the Hub does not know may not write, where the repository's owner is named",
      PUSH, "if (made.status == 401) throw api.token_not_taken(made);", "",
      tests=["runs: push: names branches and tokens are found"],
      says=r"ended with 4, not 2")

fault("a refusal is read as long as it comes",
      "lib/hftrain/http/exchange.cpp", "return piece.size() <= room || enough();", "return true;",
      also=[("lib/hftrain/http/exchange.cpp", "return monotonic_seconds() - answered_at_ < most || enough();", "return most > 0;")],
      tests=["runs: push: a refusal without end holds nothing"],
      says=r"TimeoutExpired|ended with")

fault("a refusal that drips is waited for",
      "lib/hftrain/http/exchange.cpp", "return monotonic_seconds() - answered_at_ < most || enough();", "return most > 0;",
      tests=["hub: a refusal that drips, or has no body at all, is a refusal"],
      says=r"== 403|ended with", seconds=60)

fault("what a proxy says counts as the server's answer, and an upload as answered from its beginning",
      "lib/hftrain/http/client.cpp", "set(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);", "",
      tests=["hub: what a proxy says of the way to a server is no answer of the server"],
      says=r"answer.headers.empty")

fault("a file is hashed to its end though the push was left",
      "lib/hftrain/hub/content_hash.cpp", "if (stop != nullptr && *stop)", "if (stop != nullptr && path.empty())",
      tests=["runs: push: a file is not hashed to its end when the push is left"],
      says=r"TimeoutExpired|ended with")

fault("a file is copied to its end though the push was left",
      "launcher/front/push_snapshot.cpp", "    if (stop_)\n", "    if (stop_ && from.empty())\n",
      tests=["front: a push that is left copies nothing more"],
      says=r"[Nn]o exception was thrown|CHECK_THROWS_AS")

fault("pushes wait without a bound",
      "launcher/front/hub_pusher.cpp", "pending_ >= (asked_.hub_always_push ? kMostAtOnce : 1)", "pending_ > 0 && !asked_.hub_always_push",
      tests=["runs: push: pushes that wait are few"],
      says=r"FAILED: folders of what waits")

fault("a checkpoint is moved while a push has yet to keep it",
      "launcher/front/hub_pusher.h", "void settle() { snapshots_.wait(); }", "void settle() {}",
      tests=["front: a push keeps a checkpoint before the search for a batch size moves it"],
      says=r"the Hub is not asked")

fault("a file that the Hub says nothing of is sent in the commit",
      PUSH, 'if (wanted.mode != "lfs" && wanted.mode != "regular") throw no_mode(name.path);', "",
      tests=["runs: push: answers that are none push nothing"],
      says=r"FAILED: refused for .*does not say how it wants")

fault("a part without a receipt is said to have none",
      UPLOAD, "if (receipt.empty()) throw", "if (receipt.size() > 1000) throw",
      tests=["runs: push: answers that are none push nothing"],
      says=r"FAILED: refused for .*no receipt")

fault("the place where a file is verified is not looked at",
      UPLOAD, "    if (!is_address(place))\n", "    if (place.size() > 1000)\n",
      tests=["runs: push: answers that are none push nothing"],
      says=r"FAILED: refused for .*names no place")

fault("files go without TLS where the Hub says so",
      API, 'if (url.starts_with("https://") || (without_tls && !access_.endpoint.starts_with("https://"))) return;',
      'if (url.starts_with("https://") || without_tls) return;',
      tests=["runs: push: what is secret stays secret",
             "hub: nothing is asked of addresses that are not of the web, or without the TLS of the Hub"],
      says=r"without TLS|[Nn]o exception was thrown")

fault("a token that a server repeats is repeated",
      API, "  text = without_secret(std::move(text), access_.token, \"token\");\n", "",
      tests=["runs: push: what is secret stays secret", "hub: a token that a server repeats is not repeated"],
      says=r"the token is in no file|the token is not said|Bearer <|npos")

fault("what the repository ignores is deleted there",
      PUSH, "    paths_.insert(name.path);\n    if (wanted.ignored) return;", "    if (wanted.ignored) return;\n    paths_.insert(name.path);",
      tests=["runs: push: what the hub ignores stays as it is"],
      says=r"FAILED: the checkpoint, and no older file")

fault("an older model stays beside the one that is pushed",
      "lib/hftrain/hub/replaced_files.cpp", "patterns = weights_of_model();", "patterns;",
      tests=["runs: push: the model there is one model", "hub: replaced files: a model in one file replaces one in parts, and the other way round"],
      says=r"FAILED: one model|part1|replaced_files")

fault("a fetch waits for another one without a word",
      "lib/hftrain/hub/blob_download.cpp", "      waits();\n", "      if (how < 0) waits();\n",
      tests=["runs: fetch: a fetch that waits for another says so"],
      says=r"FAILED: the second says what it waits for")

fault("a data set of pickles and a README is fetched without its rows",
      "lib/hftrain/hub/chosen_files.cpp", "std::none_of(chosen.taken.begin(), chosen.taken.end(), may_have_rows)",
      "(chosen.taken.empty() || std::none_of(chosen.taken.begin(), chosen.taken.end(), [](const RemoteFile& file) { return may_have_rows(file) || !file.path.empty(); }))",
      tests=["hub: chosen files: a data set whose rows are all pickles is refused, whatever tells of it"],
      says=r"[Nn]o exception was thrown|CHECK_THROWS_AS")

fault("every push that is left waits for a server that says nothing",
      "launcher/front/hub_pusher.cpp", "given_up_ = ending_ && api && api->met_silence();", "",
      tests=["front: a server that says nothing at the end costs its seconds once, whatever is left to push"],
      says=r"connections", seconds=60)

fault("a link in a circle ends a push",
      "launcher/front/pushed_files.cpp", "} else if (entry->is_regular_file(unreadable)) {", "} else if (entry->is_regular_file()) {",
      tests=["front: a link in a circle is no file that is pushed, and a folder that is gone is told of"],
      says=r"filesystem error|take_output")

fault("a tilde in a variable of the Hub is the name of a folder",
      "lib/hftrain/plan/hub_cache.cpp", "expanded_path(environment.get_or(name, \"\"), environment)", "environment.get_or(name, \"\")",
      tests=["plan: the cache folder follows the hub's variables in their order"],
      says=r"/home/u/hf/hub")

fault("a report answers whoever asks under a name of its own",
      "lib/hftrain/report/page_server.cpp", 'return name == "127.0.0.1" || name == "localhost";', "return !name.empty();",
      tests=["report: only this machine's names are answered, and only reading"],
      says=r"403 Forbidden")

fault("variables in the path of a token are letters",
      "lib/hftrain/hub/access.cpp", 'return expanded_path(environment.get_or(name, ""), environment);', 'return environment.get_or(name, "");',
      tests=["hub: hub access: the token is the flag, else the environment, else the stored one"],
      says=r"hf_stored|hf_other")

fault("HF_HUB_OFFLINE=0 does not win over TRANSFORMERS_OFFLINE=1",
      "lib/hftrain/hub/access.cpp", 'is_on(environment, said ? "HF_HUB_OFFLINE" : "TRANSFORMERS_OFFLINE")', '(said && is_on(environment, "HF_HUB_OFFLINE")) || is_on(environment, "TRANSFORMERS_OFFLINE")',
      tests=["hub: hub access: either variable says that there is no network"],
      says=r"TRANSFORMERS_OFFLINE")

fault("the token is cut from answers before they are read",
      API, "std::optional<Json> body = try_parse_json(answer.body);\n  if (body) return",
      "std::optional<Json> body = try_parse_json(without_secrets(answer.body));\n  if (body) return",
      tests=["hub: an answer with the token in it is read as it came"],
      says=r"token")

fault("a token that is not taken is a repository that is not there",
      API, "if (answer.status == 401 && code.empty() && with_token) return token_not_taken(answer);", "",
      tests=["hub: a token that is not taken and a file that is gone are told as such"],
      says=r"does not take")

fault("a repository within the output folder is pushed",
      "launcher/front/pushed_files.cpp", "if (left || is_never_pushed(entry->path())) {", "if (left || (left && is_never_pushed(entry->path()))) {",
      tests=["front: a repository and the Hub's own cache below the output folder are not pushed"],
      says=r"== 2")

fault("the card of a model is called as its folder, whatever the repository is called",
      "lib/hftrain/plan/resolve_training.cpp", "hub.push_to_hub ? hub.hub_model_id.value_or(\"\")", "false ? hub.hub_model_id.value_or(\"\")",
      tests=["plan: the card of a model that is pushed has the name of its repository"],
      says=r"named")

fault("the Hub's own header of its limits is passed over",
      "lib/hftrain/hub/api.cpp", 'header_of(answer, "ratelimit")', 'header_of(answer, "x-ratelimit")',
      tests=["hub: the Hub is asked again when it says that it wants to be"],
      says=r"56")

fault("a repository is made for a branch that it will not have",
      "lib/hftrain/hub/push.cpp", 'if (revision != "main") refuse_new(api, repository, revision);', 'if (revision.empty()) refuse_new(api, repository, revision);',
      tests=["runs: push: names branches and tokens are found"], says=r"FAILED|a new one has main alone")

fault("the advised upload leaves out one pattern, and takes the next for a folder",
      "launcher/front/push_advice.cpp", "words += std::string(\" --\") + option + ' ' + shell_quoted(pattern);",
      "words += (words.empty() ? std::string(\" --\") + option + ' ' : \" \") + shell_quoted(pattern);",
      tests=["runs: push: what fails costs a warning"],
      says=r"FAILED: what is missing, and what sends it")

fault("the advised upload makes a private repository public",
      "launcher/front/push_advice.cpp", "if (!made && target.is_private)", "if (made && target.is_private)",
      tests=["runs: push: what fails costs a warning"],
      says=r"FAILED: the checkpoint, too|FAILED: privately, as one word")

fault("an adapter stays beside a whole model that is pushed later",
      "lib/hftrain/hub/replaced_files.cpp", "std::begin(kOfAdapter), std::end(kOfAdapter)", "std::end(kOfAdapter), std::end(kOfAdapter)",
      tests=["hub: replaced files: an adapter does not stay beside a whole model, which may stay beside an adapter"],
      says=r"replaced_files")

fault("an organization beside another owner's name is passed over",
      "launcher/front/hub_target.cpp", "if (!name.starts_with(owner))", "if (name.empty())",
      tests=["runs: push: names branches and tokens are found"],
      says=r"ended with|ends with|two owners")

fault("a push that the user leaves is told as a Hub out of reach",
      "launcher/front/hub_pusher.cpp", 'stop_ ? "the last push was stopped"', 'stop_ && first.what.empty() ? "the last push was stopped"',
      tests=["runs: push: a server that says nothing is left and pushed to again"],
      says=r"FAILED: what is missing")

fault("the output folder of a stopped run is advised, where no model lies",
      "launcher/front/hub_pusher_end.cpp", "return whole_ ?", "return whole_ || !saved_.empty() ?",
      tests=["front: a run without its end advises to send the newest whole model that it saved",
             "runs: push: a stopped run advises to send its newest checkpoint"],
      says=r"said.find|FAILED: the model of the newest checkpoint")

fault("the advised upload leaves an older model beside the one that it sends",
      "launcher/front/push_advice.cpp", 'options("delete", hub::replaced_by_model())', 'options("delete", {})',
      tests=["front: a command for an output folder takes older models away beside a whole one alone",
             "runs: push: what is advised leaves what a push would"],
      says=r"command_for_output|FAILED: the model of the end and the newest checkpoint")

fault("the advised upload names a folder that hf takes for a pattern",
      "launcher/front/push_advice.cpp", "is_taken_for_pattern = is_pattern(folder)", "is_taken_for_pattern = folder.empty()",
      tests=["front: a folder with the letters of patterns in its name is one that hf is started in",
             "runs: push: what is advised leaves what a push would"],
      says=r"command_for_checkpoint|FAILED: it works|FAILED: the model of the end")

fault("names of files in the advised upload are patterns",
      "launcher/front/push_advice.cpp", "patterns.push_back(pattern_of(path));", "patterns.push_back(path);",
      tests=["front: a command for a checkpoint's model sends what lies beside it first",
             "runs: push: a stopped run advises to send its newest checkpoint"],
      says=r"command_for_model|FAILED: the model of the newest checkpoint")

fault("what cannot be kept for a push is missing by another name",
      "launcher/front/hub_pusher.cpp", "failed(commits_of(checkpoint));", "failed({{checkpoint.empty() ? kTheModel : last_part(checkpoint), {}}});",
      tests=["front: what cannot be kept for a push is missing by the names that it has in the repository"],
      says=r"said.find")

fault("the checkpoint of a stop is left out of pushes",
      "launcher/front/launch_stage.cpp", "others.beside_the_end([&] { pusher.push_left_out(); });", "others.beside_the_end([&] { pusher.settle(); });",
      tests=["runs: push: the checkpoint of a stop is pushed"],
      says=r"FAILED: the last checkpoint|FAILED: what is missing")

fault("a second signal leaves a run waiting for its pushes",
      "launcher/front/launch_stage.cpp", "  if (result.stop_forced) pusher.leave();\n", "",
      tests=["runs: push: a second signal leaves the pushes too"],
      says=r"it stops at once", seconds=240)

fault("a link in the output folder leads elsewhere when it is pushed",
      "launcher/front/push_snapshot.cpp", "changes || fs::is_symlink(from);", "changes;",
      tests=["front: a link in the output folder is pushed as the file that it leads to"],
      says=r"cannot|read_file")

fault("an adapter that lies in the output folder is pushed with a whole model",
      "launcher/front/pushed_files.cpp", "whole && fits_a_pattern(path, hub::replaced_by_model())", "whole && path.empty()",
      tests=["front: the model of a checkpoint is pushed without an adapter that lies in the output folder"],
      says=r"== 2")

fault("a private run goes to a public repository without a word",
      PUSH, "is_private.value_or(false) && is_public(api, repository)", "is_private.value_or(false) && repository.id.empty() && is_public(api, repository)",
      tests=["runs: push: a public repository is told where a private one is asked for"],
      says=r"FAILED: told: True")

fault("the newest checkpoint is left out at the end without a word",
      "launcher/front/hub_pusher_end.cpp", 'asked_.hub_strategy == "checkpoint" && !left_out_.empty()', 'asked_.hub_strategy.empty() && !left_out_.empty()',
      tests=["front: the newest checkpoint is named where last-checkpoint is an older one"],
      says=r"said_with")

fault("a stopped run whose end alone is pushed says nothing",
      "launcher/front/hub_pusher_end.cpp", 'if (asked_.hub_strategy == "end" && !whole_)', 'if (asked_.hub_strategy.empty() && !whole_)',
      tests=["front: a run without its end says that nothing was pushed where only the end is"],
      says=r"nothing was pushed")
fault("a push gives up where another commit came first",
      PUSH, "may_pass(answer) || answer.status == 412", "may_pass(answer)",
      tests=["runs: push: a commit that came first is gone beside"],
      says=r"model is there|nothing is missing")

fault("who gave a token by a flag is advised a command that has none",
      "launcher/front/hub_target.cpp", "target.token_flag = given.token ? given.flag : exported_token(", "target.token_flag = exported_token(",
      tests=["runs: push: a token on the command line is hidden"],
      says=r"what it needs")

