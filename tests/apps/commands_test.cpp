// The built program, driven by words: what every command answers, and that words arrive as they were typed.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "built_programs.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/text.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain {
namespace {

using testing::kProgram;
using testing::Outcome;
using testing::Program;
using Words = std::vector<std::string>;

Outcome run(Words words) {
  words.insert(words.begin(), kProgram);
  Program program(words);
  const int code = program.finish();
  return {code, program.out(), program.err()};
}

// Those that `hftrain --help` lists, and the actions of those that have some.
std::vector<Words> commands() {
  std::vector<Words> found;
  const std::string help = run({"--help"}).out;
  const size_t begin = help.find("commands:\n");
  const std::string list = help.substr(begin, help.find("\n\n", begin) - begin);
  const std::regex name("\n  ([a-z-]+) ");
  for (auto each = std::sregex_iterator(list.begin(), list.end(), name); each != std::sregex_iterator();
       ++each)
    found.push_back({(*each)[1]});
  for (const char* command : {"tokenizer", "checkpoint", "cache"}) {
    std::smatch actions;
    const std::string refusal = run({command}).err;
    REQUIRE(std::regex_search(refusal, actions, std::regex("it is one of ([a-z, ]+)\n")));
    for (const std::string& action : split(actions[1].str(), ',')) found.push_back({command, trim(action)});
  }
  return found;
}

Words with(Words words, const std::string& more) {
  words.push_back(more);
  return words;
}

// A tokenizer of a few bytes and merges, whose special token is in brackets.
struct SmallTokenizer {
  testing::TemporaryDirectory folder;
  Words encode = {"tokenizer", "encode", "--tokenizer_name", folder / "tok", "--json"};

  SmallTokenizer() {
    std::ofstream(folder / "text.txt") << "some text, some more text [a, b] {} %% \n";
    const Outcome made = run({"tokenizer", "train", "--vocab_size", "280", "--files", folder / "text.txt",
                              "--output", folder / "tok", "--special_tokens", "[CLS]", "[a,b]"});
    REQUIRE(made.exit_code == 0);
  }
  // The texts that one call of encode sees.
  Words texts(const Words& words) const {
    Words all = encode;
    all.insert(all.end(), words.begin(), words.end());
    const Outcome encoded = run(all);
    INFO(encoded.err);
    REQUIRE(encoded.exit_code == 0);
    Words texts;
    std::istringstream lines(encoded.out);
    for (std::string line; std::getline(lines, line);) {
      std::string ids;
      const Json document = Json::parse(line);
      for (const Json& id : document["ids"]) ids += id.dump() + ' ';
      std::string text = run({"tokenizer", "decode", "--tokenizer_name", folder / "tok",
                              "--skip_special_tokens", "false", "--", ids})
                             .out;
      text.pop_back();
      texts.push_back(text);
    }
    return texts;
  }
};

}  // namespace

TEST_CASE("a tokenizer is not learnt into the folder of a model", "[process]") {
  const SmallTokenizer small;
  const auto train = [&] {
    return run({"tokenizer", "train", "--vocab_size", "270", "--files", small.folder / "text.txt", "--output",
                small.folder / "tok"});
  };
  CHECK(train().exit_code == 0);  // into its own again
  const std::string before = read_file(small.folder / "tok/tokenizer.json");
  std::ofstream(small.folder / "tok/model.safetensors") << "weights";
  const Outcome refused = train();
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Catch::Contains("the folder holds a model"));
  CHECK(read_file(small.folder / "tok/tokenizer.json") == before);
}

TEST_CASE("every command answers --help, --help-all and --version, and calls itself by its whole name",
          "[process]") {
  const std::vector<Words> all = commands();
  CHECK(all.size() >= 24);
  for (const Words& known : {Words{"checkpoint", "merge"}, Words{"tokenizer", "encode"}})
    CHECK(std::find(all.begin(), all.end(), known) != all.end());
  for (const Words& command : all) {
    std::string name;
    for (const std::string& word : command) name += ' ' + word;
    INFO("hftrain" + name);
    for (const char* flag : {"--help", "-h", "--help-all", "--help_all"}) {
      const Outcome help = run(with(command, flag));
      INFO(flag);
      CHECK(help.exit_code == 0);
      CHECK(help.err.empty());
      const bool is_train = command.front() == "train";
      CHECK_THAT(help.out, Catch::Contains(is_train ? "usage: hftrain [train]" : "sage: hftrain" + name));
    }
    const Outcome version = run(with(command, "--version"));
    CHECK(version.exit_code == 0);
    CHECK_THAT(version.out, Catch::StartsWith("hftrain ") && !Catch::Contains("usage"));
  }
}

TEST_CASE("every command tells a wrong option in four parts, with the option that was meant", "[process]") {
  const std::vector<std::pair<Words, std::string>> wrong = {
      {{"tokenizer", "train", "--vocab", "300"}, "--vocab_size?"},
      {{"tokenizer", "train", "--out", "x"}, "--output?"},
      {{"tokenizer", "train", "--output-dir", "x"}, "--output?"},
      {{"tokenizer", "encode", "--tokenizer", "x"}, "--tokenizer_name?"},
      {{"tokenizer", "encode", "--jsom"}, "--json?"},
      {{"tokenizer", "decode", "--skip-special", "1"}, "--skip_special_tokens?"},
      {{"sample-data", "text", "out", "--sede", "1"}, "--seed?"},
      {{"generate", "--model", "x"}, "did you mean --model_name_or_path or"},
      {{"checkpoint", "export", "a", "b", "--shard_size", "1GB"}, "--max_shard_size?"},
      {{"checkpoint", "check"}, "verify?"},
      {{"tokenizer", "tokenize"}, "encode?"},
      {{"devices", "--jso"}, "--json?"},
      {{"doctor", "--josn"}, "--json?"},
      {{"cache", "clear"}, "prune?"},
      {{"cache", "prune", "--max-siz", "1GiB"}, "--max_size?"},
      {{"cache", "prune", "--max-size", "20"}, "20GiB"},
      {{"finetune"}, "train?"},
      {{"trian"}, "train?"},
      {{"gpus"}, "devices?"},
      {{"export"}, "checkpoint?"},
      {{"help"}, "hftrain --help"},
      {{"explain", "lr"}, "--learning_rate?"},
      {{"prepare", "--dataset", "x"}, "--train_file"},
  };
  for (const auto& [words, meant] : wrong) {
    INFO(words.front() + ' ' + words.back());
    const Outcome outcome = run(words);
    CHECK(outcome.exit_code == 2);
    for (const char* part : {"error: ", "\n  where: ", "\n  why: ", "\n  try: "})
      CHECK_THAT(outcome.err, Catch::Contains(part));
    CHECK_THAT(outcome.err, Catch::Contains(meant));
  }
  for (const Words& words :
       std::vector<Words>{{"tokenizer", "train"},
                          {"tokenizer", "train", "--vocab_size", "x", "--files", "f", "--output", "o"},
                          {"tokenizer", "train", "--vocab_size"},
                          {"sample-data", "text"},
                          {"sample-data", "text", "a", "b"},
                          {"sample-data", "text", "a.txt", "--size", "0"},
                          {"checkpoint", "verify"},
                          {"checkpoint"},
                          {"tokenizer"},
                          {"docs"},
                          {"docs", "poem"},
                          {"completion"},
                          {"completion", "tcsh"},
                          {"hosted", "x"},
                          {"explain"}}) {
    INFO(words.back());
    const Outcome outcome = run(words);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    for (const char* part : {"error: ", "\n  where: ", "\n  why: ", "\n  try: "})
      CHECK_THAT(outcome.err, Catch::Contains(part));
  }
}

TEST_CASE("one configuration file is one for every command that takes the flags of a run", "[process]") {
  const testing::TemporaryDirectory folder;
  for (const char* name : {"run.yaml", "run.yml", "run.json"}) {
    const std::string file = folder / name;
    std::ofstream(file) << "{\"no_flag_at_all\": 1}\n";
    for (const Words& command : std::vector<Words>{{}, {"train"}, {"plan"}, {"prepare"}}) {
      const Outcome outcome = run(with(command, file));
      INFO((command.empty() ? "hftrain" : command.front()) << ' ' << name << '\n' << outcome.err);
      CHECK(outcome.exit_code == 2);
      CHECK_THAT(outcome.err, Catch::Contains("no_flag_at_all") && Catch::Contains(file + ":1"));
      CHECK_THAT(outcome.err, !Catch::Contains("dry_run") && !Catch::Contains("values follow a flag"));
    }
  }
}

TEST_CASE("words of a command line from Python are told what stands for them", "[process]") {
  const auto told = [](const char* word, const char* instead) {
    return run({word, "--do_train"}).err.find(instead) != std::string::npos;
  };
  CHECK(told("examples/run_ner.py", "`hftrain --task token-classification FLAGS`"));
  CHECK(told("run_classification.py",
             "`hftrain --task text-classification FLAGS`, with the flags of run_glue"));
  CHECK(told("own.py", "it takes the flags of the example scripts, and runs no Python"));
  CHECK(told("sft", "`hftrain --task sft FLAGS`"));
  CHECK(told("text-classification", "`hftrain --task text-classification FLAGS`"));
  CHECK(told("torchrun", "`hftrain FLAGS` starts its ranks itself"));
  CHECK(told("serch", "did you mean search?"));
}

TEST_CASE("what no user types is named to none", "[process]") {
  const auto names_hosted = [](const std::string& text) { return text.find("hosted") != std::string::npos; };
  CHECK_FALSE(names_hosted(run({"nonsense"}).err));
  CHECK_FALSE(names_hosted(run({"--help"}).out));
  CHECK_FALSE(names_hosted(run({"completion", "bash"}).out));
}

TEST_CASE("what a command has no use for is refused, not passed over", "[process]") {
  const SmallTokenizer tokenizer;
  const std::string folder = tokenizer.folder / "tok";
  const std::vector<std::tuple<int, Words, std::string>> wrong = {
      {2, {"explain", "seed", "extra"}, "unexpected 'extra'"},
      {2, {"explain", "seed", "--json"}, "explain has no --json"},
      {2, {"plan", "--machines", "list", "--bogus"}, "--bogus"},
      {4, {"tokenizer", "encode", "--tokenizer_name", folder, "--file", folder}, "it is a folder"}};
  for (const auto& [code, words, meant] : wrong) {
    INFO(words.front() + ' ' + words.back());
    const Outcome outcome = run(words);
    CHECK(outcome.exit_code == code);
    CHECK(outcome.out.empty());
    for (const char* part : {"error: ", "\n  where: ", "\n  why: ", "\n  try: "})
      CHECK_THAT(outcome.err, Catch::Contains(part));
    CHECK_THAT(outcome.err, Catch::Contains(meant));
  }
  CHECK(run({"plan", "--machines", "list"}).exit_code == 0);
}

TEST_CASE("a dry run of prepare answers --json with JSON", "[process]") {
  const SmallTokenizer tokenizer;
  const std::string text = tokenizer.folder / "rows.txt";
  std::ofstream(text) << std::string(4000, 'a') << '\n';
  const Outcome outcome = run({"prepare", "--dry_run", "--json", "--train_file", text, "--tokenizer_name",
                               tokenizer.folder / "tok", "--model_type", "gpt2", "--block_size", "8",
                               "--output_dir", tokenizer.folder / "out"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  const Json document = parse_json(outcome.out, "the answer");
  CHECK(document.contains("schema"));
  CHECK(document["splits"]["train"]["exact"] == false);
}

TEST_CASE("prepare says nothing of an output folder, which it does not write", "[process]") {
  const SmallTokenizer tokenizer;
  const std::string text = tokenizer.folder / "rows.txt";
  std::ofstream(text) << std::string(4000, 'a') << '\n';
  const auto asked = [&](const Words& command) {
    const Outcome outcome = run(
        with(with(with(command, "--train_file=" + text), "--tokenizer_name=" + (tokenizer.folder / "tok")),
             "--model_type=gpt2"));
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    return outcome.err;
  };
  CHECK_THAT(asked({"prepare", "--dry_run", "--block_size=8"}), !Catch::Contains("trainer_output"));
  CHECK_THAT(asked({"plan", "--block_size=8"}), Catch::Contains("the output folder is trainer_output"));
}

TEST_CASE("words of small commands arrive as they were typed", "[process]") {
  const SmallTokenizer tokenizer;
  const Json file = read_json_file(tokenizer.folder / "tok/tokenizer.json");
  REQUIRE(file["added_tokens"].size() == 2);
  CHECK(file["added_tokens"][0]["content"] == "[CLS]");
  CHECK(file["added_tokens"][1]["content"] == "[a,b]");

  const Words nasty = {"[a, b]", "[x]",      "[]", "{}", "%%",  "a,b", "\"quoted\"", "'q'",
                       "a  b",   "/windows", "++", "-5", "010", "-",   "\\n",        "{\"a\":1}",
                       "#0",     "#1",       "$x", "*",  "=",   "a=b"};
  CHECK(tokenizer.texts(nasty) == nasty);
  for (const std::string& word : nasty) {
    INFO(word);
    CHECK(tokenizer.texts({word}) == Words{word});
  }
  CHECK(tokenizer.texts({"--", "--json", "-x", "--help", "--"}) == Words{"--json", "-x", "--help", "--"});
  // An empty text is a text, not standard input.
  CHECK(run({"tokenizer", "encode", "--tokenizer_name", tokenizer.folder / "tok", ""}).out == "\n");
  // What cannot be read is no end of it.
  const std::string command = "\"$0\" tokenizer encode --tokenizer_name \"$1\" < /; test $? = 4";
  Program shell(Words{"/bin/sh", "-c", command, kProgram, tokenizer.folder / "tok"});
  CHECK(shell.finish() == 0);
  // A value that is empty is not the next word.
  CHECK_THAT(run({"tokenizer", "encode", "--tokenizer_name=", "x"}).err,
             Catch::Contains("error: ") && !Catch::Contains("'x'"));
}

TEST_CASE("an empty path is refused by the small commands", "[process]") {
  for (const Words& words :
       {Words{"sample-data", "text", ""}, Words{"tokenizer", "train", "--files", "x", "--output", ""},
        Words{"tokenizer", "train", "--files", "", "--output", "x"},
        Words{"tokenizer", "encode", "--tokenizer_name=", "x"}, Words{"checkpoint", "export", "x", ""},
        Words{"checkpoint", "verify", ""}, Words{"report", ""}}) {
    INFO(join(words, " "));
    const Outcome outcome = run(words);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, Catch::Contains("'' does not fit") && Catch::Contains("this one is empty"));
  }
}

TEST_CASE("tokenizer encode reads lines as data files are read", "[process]") {
  const SmallTokenizer tokenizer;
  const std::string file = tokenizer.folder / "lines.txt";
  std::ofstream(file) << "some text\r\nmore\n\r\nlast\r";
  const Words lines = {"some text", "more", "", "last"};
  CHECK(tokenizer.texts({"--file", file}) == lines);
  Program gzip(Words{"/bin/sh", "-c", "gzip -k \"$0\"", file});
  REQUIRE(gzip.finish() == 0);
  CHECK(tokenizer.texts({"--file", file + ".gz"}) == lines);
  const std::string command =
      "test \"$(\"$0\" tokenizer encode --tokenizer_name \"$1\" < \"$2\")\" = "
      "\"$(\"$0\" tokenizer encode --tokenizer_name \"$1\" -- 'some text' more '' last)\"";
  Program shell(Words{"/bin/sh", "-c", command, kProgram, tokenizer.folder / "tok", file});
  CHECK(shell.finish() == 0);
}

TEST_CASE("a tokenizer learns the column text of records, and nothing of how they are written", "[process]") {
  const testing::TemporaryDirectory folder;
  const std::vector<std::pair<const char*, const char*>> files = {
      {"plain", "the river bends\nthe river sleeps\n"},
      {"rows.jsonl",
       "{\"id\": 1, \"text\": \"the river bends\\n\"}\n{\"id\": 2, \"text\": \"the river sleeps\\n\"}\n"},
      {"rows.json", "[{\"text\": \"the river bends\\n\"}, {\"text\": \"the river sleeps\\n\"}]"},
      {"rows.csv", "id,text\n1,\"the river bends\n\"\n2,\"the river sleeps\n\"\n"},
      {"rows.tsv", "id\ttext\n1\t\"the river bends\n\"\n2\t\"the river sleeps\n\"\n"}};
  const auto learnt = [&](const std::string& name) {
    const Outcome made = run({"tokenizer", "train", "--vocab_size", "300", "--files", folder / name,
                              "--output", folder / (name + "-tokenizer")});
    INFO(made.err);
    REQUIRE(made.exit_code == 0);
    return read_file(folder / (name + "-tokenizer/tokenizer.json"));
  };
  for (const auto& [name, content] : files) {
    std::ofstream(folder / name) << content;
    INFO(name);
    CHECK(learnt(name) == learnt("plain"));
  }
  std::ofstream(folder / "verses.csv") << "verse,id\n\"the river bends\n\",1\n\"the river sleeps\n\",2\n";
  const Outcome verses = run({"tokenizer", "train", "--vocab_size", "300", "--files", folder / "verses.csv",
                              "--output", folder / "verses"});
  CHECK(read_file(folder / "verses/tokenizer.json") == learnt("plain"));
  CHECK_THAT(verses.err, Catch::Contains("the column 'verse' is learnt: it has none called text"));
  CHECK(run({"tokenizer", "train", "--vocab_size", "300", "--files", folder / "rows.csv", "--output",
             folder / "rows"})
            .err.find("note: ") == std::string::npos);
  std::ofstream(folder / "broken.jsonl") << "{\"text\": \n";
  const Outcome refused = run({"tokenizer", "train", "--vocab_size", "300", "--files",
                               folder / "broken.jsonl", "--output", folder / "broken"});
  CHECK(refused.exit_code == 4);
  CHECK_THAT(refused.err, Catch::Contains("broken.jsonl:1"));
}

TEST_CASE("numbers of small commands are decimal", "[process]") {
  const testing::TemporaryDirectory folder;
  CHECK(run({"sample-data", "text", folder / "a.txt", "--size", "02000", "--seed", "010"}).exit_code == 0);
  CHECK(run({"sample-data", "text", folder / "b.txt", "--size=2000", "--seed=10"}).exit_code == 0);
  CHECK(read_file(folder / "a.txt") == read_file(folder / "b.txt"));
  CHECK(run({"sample-data", "text", folder / "c.txt", "--size", "0x100"}).exit_code == 2);
}

// A front program that waits for its configuration, which nobody writes.
struct WaitingProgram {
  testing::TemporaryDirectory folder;
  std::string pipe = folder / "run.yaml";
  std::unique_ptr<Program> program;
  FileDescriptor writer;

  explicit WaitingProgram(const std::string& before = "") {
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    program = std::make_unique<Program>(
        Words{"/bin/sh", "-c", before + "exec '" + kProgram + "' plan --config '" + pipe + "'"});
    for (int tries = 0; tries < 2000 && !writer; ++tries) {
      writer.reset(::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));  // once somebody reads
      if (!writer) ::poll(nullptr, 0, 10);
    }
    REQUIRE(writer);
  }
};

TEST_CASE("a crash of the front program is told with its stack", "[process]") {
  const WaitingProgram waiting;
  waiting.program->child().send(SIGSEGV);
  CHECK(waiting.program->finish() == 128 + SIGSEGV);
  CHECK_THAT(waiting.program->err(),
             Catch::Contains("error: internal: the program crashed: Segmentation fault\n") &&
                 Catch::Contains("bin/hftrain"));
}

TEST_CASE("the front program raises its limit of descriptors", "[process]") {
  const WaitingProgram waiting("ulimit -S -n 100 && ulimit -H -n 1000 && ");
  const std::string limits = read_file("/proc/" + std::to_string(waiting.program->child().pid()) + "/limits");
  CHECK(std::regex_search(limits, std::regex("Max open files +1000 +1000 ")));
}

TEST_CASE("a limit on the size of files is an error of the command that meets it, not its end", "[process]") {
  const testing::TemporaryDirectory folder;
  Program program(
      {"/bin/sh", "-c",
       "ulimit -f 8 && cd " + folder.path() + " && exec " + kProgram + " sample-data text texts.txt"});
  CHECK(program.finish() == 7);
  CHECK_THAT(program.err(), Catch::Contains("File too large") && Catch::Contains("(ulimit -f)"));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a current folder that is gone is told as that", "[process]") {
  const testing::TemporaryDirectory folder;
  Program program({"/bin/sh", "-c",
                   "mkdir " + folder / "gone && cd " + folder / "gone && rmdir ../gone && exec " + kProgram +
                       " report run"});
  CHECK(program.finish() == 3);
  CHECK_THAT(program.err(), Catch::Contains("error: the current folder is gone\n  where: ") &&
                                Catch::Contains("\n  why: ") &&
                                Catch::Contains("\n  try: cd to one that exists"));
}

}  // namespace hftrain
