#include "hftrain/plan/plugin_file.h"

#include <elf.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/plan/program_file.h"
#include "hftrain/plugin/plugin.h"
#include "hftrain/tasks/task_table.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::plan {
namespace {

using testing::TemporaryDirectory;

const std::string kAbi = "cxx11_abi=" HFTRAIN_PLUGIN_TEXT(_GLIBCXX_USE_CXX11_ABI) "\n";

template <typename Structure>
std::string bytes_of(const Structure& structure) {
  return {reinterpret_cast<const char*>(&structure), sizeof(structure)};
}

// The kind of machine that this program is for.
Elf64_Half machine_here() {
  Elf64_Ehdr header{};
  std::ifstream("/proc/self/exe", std::ios::binary)
      .read(reinterpret_cast<char*>(&header), static_cast<std::streamsize>(sizeof header));
  return header.e_machine;
}

using Sections = std::vector<std::pair<std::string, std::string>>;

// A shared library with nothing in it but these sections.
std::string library_with(const Sections& sections, Elf64_Half machine = machine_here()) {
  std::string names(1, '\0'), contents, headers;
  for (const auto& [name, content] : sections) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<Elf64_Word>(names.size());
    section.sh_offset = sizeof(Elf64_Ehdr) + contents.size();
    section.sh_size = content.size();
    names += name + '\0';
    contents += content;
    headers += bytes_of(section);
  }
  Elf64_Shdr of_names{};
  of_names.sh_offset = sizeof(Elf64_Ehdr) + contents.size();
  of_names.sh_size = names.size();
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = machine;
  header.e_shoff = sizeof(header) + contents.size() + names.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size() + 1);
  header.e_shstrndx = static_cast<Elf64_Half>(sections.size());
  return bytes_of(header) + contents + names + headers + bytes_of(of_names);
}

std::string plugin_saying(const std::string& note) {
  return library_with({{HFTRAIN_PLUGIN_SECTION, note + '\0'}});
}

// The code and the reason of the refusal.
std::pair<ExitCode, std::string> refusal(const std::function<void()>& refused) {
  try {
    refused();
  } catch (const Error& error) {
    return {error.code(), error.diagnostics().front().why};
  }
  return {ExitCode::kDone, ""};
}

TEST_CASE("a plug-in says what it was built for before it is loaded") {
  const TemporaryDirectory folder;
  const std::string path = folder / "mine.so";
  write_file_atomically(path, plugin_saying("interface=3\ntorch=2.11.0\n" + kAbi + "name=my \x1b plug-in\n"));
  const PluginPlan plugin = open_plugin(path, "2.11.0");
  CHECK(plugin.name == "my \\x1b plug-in");
  CHECK(plugin.path == path);
  CHECK(plugin.hash.size() == 32);
  CHECK(open_plugin(path, "").hash ==
        plugin.hash);  // a front program without LibTorch has nothing to compare with
}

TEST_CASE("a plug-in for another interface, LibTorch or C++ ABI is refused with both in words") {
  const auto check = [](const std::string& text) {
    return refusal(
        [&] { check_plugin_note(read_plugin_note(plugin_saying(text), "a.so"), "a.so", "2.11.0"); });
  };
  CHECK(check("interface=3\ntorch=none\n" + kAbi).first == ExitCode::kDone);
  CHECK(check("interface=7\ntorch=2.11.0\n" + kAbi) ==
        std::pair(ExitCode::kEnvironment,
                  std::string("it was built for plug-in interface 7, and this program has 3")));
  CHECK(check("interface=3\ntorch=2.10.1\n" + kAbi) ==
        std::pair(ExitCode::kEnvironment,
                  std::string("it was built for LibTorch 2.10.1, and this program has 2.11.0")));
  CHECK(check("interface=3\ntorch=2.11.0\ncxx11_abi=9\n").second ==
        "it was built for the C++ ABI _GLIBCXX_USE_CXX11_ABI 9, and this program has " HFTRAIN_PLUGIN_TEXT(
            _GLIBCXX_USE_CXX11_ABI));
}

TEST_CASE(
    "a task that a plug-in describes is known once its file was read, and one that cannot be is refused") {
  const TemporaryDirectory folder;
  const std::string path = folder / "mine.so", note = "interface=3\ntorch=none\n" + kAbi + "name=mine\n";
  const auto write = [&](const std::string& task) {
    write_file_atomically(path, library_with({{HFTRAIN_PLUGIN_SECTION, note + '\0'},
                                              {HFTRAIN_TASK_SECTION, task + '\0' + "behind"}}));
  };
  write(
      R"({"name": "of-a-file", "head": "causal_lm", "text": "a", "labels": {"column": "b", "kind": "text"}})");
  CHECK_FALSE(tasks::task_named("of-a-file"));
  CHECK(open_plugin(path, "").name == "mine");
  REQUIRE(tasks::task_named("of-a-file"));
  CHECK(tasks::row_of(*tasks::task_named("of-a-file")).head == architectures::Head::kCausalLm);
  write(R"({"name": "another"})");
  CHECK(refusal([&] { open_plugin(path, ""); }) ==
        std::pair(ExitCode::kUsage, std::string("it lacks the key 'head'")));
}

TEST_CASE("a plan's plug-in is found before anybody reads the plan, whatever else stands there") {
  const auto plugin =
      plugin_of_plan({{"plugin", {{"name", "mine"}, {"path", "/p/mine.so"}, {"hash", "12ab"}}}});
  REQUIRE(plugin);
  CHECK(plugin->path == "/p/mine.so");
  CHECK(plugin->hash == "12ab");
  CHECK_FALSE(plugin_of_plan({{"plugin", nullptr}}));
  CHECK_FALSE(plugin_of_plan(Json::object()));
  CHECK_FALSE(plugin_of_plan(Json::array({"plugin"})));
  CHECK(plugin_of_plan({{"plugin", {{"path", 3}}}})->path.empty());
}

TEST_CASE("what is no plug-in is a mistake of the command line") {
  const TemporaryDirectory folder;
  const auto open = [&](const std::string& bytes) {
    write_file_atomically(folder / "a.so", bytes);
    return refusal([&] { open_plugin(folder / "a.so", ""); });
  };
  const std::pair another(ExitCode::kUsage, std::string("it is a shared library and no plug-in of hftrain"));
  const std::pair no_library(ExitCode::kUsage, std::string("it is no shared library for this machine"));
  CHECK(open("#!/bin/sh\n") == no_library);
  CHECK(open(library_with({{HFTRAIN_PLUGIN_SECTION, "interface=3\n"}}, EM_S390)) == no_library);
  CHECK(open(library_with({{".text", "interface=3\n"}})) == another);
  CHECK(open(plugin_saying("no lines of a note")) == another);
  CHECK(refusal([&] { open_plugin(folder / "gone.so", ""); }) ==
        std::pair(ExitCode::kUsage, std::string("there is no such file")));
  CHECK(refusal([&] { open_plugin(folder.path(), ""); }).second == "it is a folder");
}

TEST_CASE("a program says what it was built for, and another one is refused before it is started") {
  const TemporaryDirectory folder;
  const auto open = [&](const std::string& bytes, std::filesystem::perms more) {
    write_file_atomically(folder / "mine", bytes);
    std::filesystem::permissions(folder / "mine", more, std::filesystem::perm_options::add);
    return refusal([&] { open_program(folder / "mine", "2.11.0"); });
  };
  const auto run = std::filesystem::perms::owner_exec;
  const auto none = std::filesystem::perms::none;
  CHECK(open(plugin_saying("program_interface=1\ntorch=2.11.0\n" + kAbi), none).second ==
        "it may not be executed");
  CHECK(open(plugin_saying("program_interface=1\ntorch=2.11.0\n" + kAbi), run).first == ExitCode::kDone);
  CHECK(open_program(folder / "mine", "2.11.0") == folder / "mine");
  CHECK(open(plugin_saying("program_interface=7\ntorch=2.11.0\n" + kAbi), run) ==
        std::pair(ExitCode::kEnvironment,
                  std::string("it was built for interface for programs 7, and this program has 1")));
  CHECK(open(plugin_saying("program_interface=1\ntorch=2.10.1\n" + kAbi), run).second ==
        "it was built for LibTorch 2.10.1, and this program has 2.11.0");
  const std::pair another(ExitCode::kUsage,
                          std::string("it is no position-independent program with a Trainer of hftrain"));
  CHECK(open(plugin_saying("interface=3\ntorch=2.11.0\n" + kAbi), run) == another);  // a plug-in
  CHECK(open("#!/bin/sh\n", run) == another);
  CHECK(refusal([&] { open_program(folder / "gone", ""); }).second == "there is no such file");
}

}  // namespace
}  // namespace hftrain::plan
