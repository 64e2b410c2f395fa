#include "hftrain/machine/elf_run_path.h"

#include <elf.h>

#include <cstring>
#include <filesystem>
#include <string_view>

#include "hftrain/base/file.h"
#include "hftrain/base/text.h"

namespace hftrain::machine {
namespace {

// Reads structures out of a file that may be cut short anywhere.
class ElfFile {
 public:
  explicit ElfFile(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  std::optional<T> at(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  std::string text(uint64_t offset) const {
    if (offset >= bytes_.size()) return "";
    const std::string_view rest = bytes_.substr(offset);
    return std::string(rest.substr(0, rest.find('\0')));
  }
  std::vector<Elf64_Phdr> segments() const {
    std::vector<Elf64_Phdr> list;
    const auto header = at<Elf64_Ehdr>(0);
    const bool elf = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                     header->e_ident[EI_CLASS] == ELFCLASS64;
    for (int i = 0; elf && i < header->e_phnum; ++i) {
      const auto segment = at<Elf64_Phdr>(header->e_phoff + static_cast<uint64_t>(i) * sizeof(Elf64_Phdr));
      if (segment) list.push_back(*segment);
    }
    return list;
  }

 private:
  std::string_view bytes_;
};

// File offset of a virtual address.
uint64_t offset_of(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    const bool holds = segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                       address - segment.p_vaddr < segment.p_filesz;
    if (holds) return address - segment.p_vaddr + segment.p_offset;
  }
  return UINT64_MAX;
}

std::string run_path_text(const ElfFile& file) {
  const std::vector<Elf64_Phdr> segments = file.segments();
  uint64_t strings = UINT64_MAX;
  std::optional<uint64_t> run_path, old_run_path;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (uint64_t at = 0; at < segment.p_filesz; at += sizeof(Elf64_Dyn)) {
      const auto entry = file.at<Elf64_Dyn>(segment.p_offset + at);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_STRTAB) strings = offset_of(segments, entry->d_un.d_ptr);
      if (entry->d_tag == DT_RUNPATH) run_path = entry->d_un.d_val;
      if (entry->d_tag == DT_RPATH) old_run_path = entry->d_un.d_val;
    }
  }
  const std::optional<uint64_t> chosen = run_path ? run_path : old_run_path;
  return chosen && strings != UINT64_MAX ? file.text(strings + *chosen) : "";
}

std::string with_origin(std::string folder, const std::string& origin) {
  for (const std::string token : {"${ORIGIN}", "$ORIGIN"}) {
    const size_t at = folder.find(token);
    if (at != std::string::npos) folder.replace(at, token.size(), origin);
  }
  return folder;
}

}  // namespace

std::vector<std::string> elf_run_path(const std::string& program) {
  const MappedFile file(program);
  const std::string origin = std::filesystem::path(program).parent_path().string();
  std::vector<std::string> folders;
  for (const std::string& folder : split(run_path_text(ElfFile(file.bytes())), ':')) {
    if (!folder.empty()) folders.push_back(with_origin(folder, origin));
  }
  return folders;
}

std::optional<std::string> find_library(const std::string& program, const std::string& library,
                                        const Environment& environment) {
  std::vector<std::string> folders = split(environment.get_or("LD_LIBRARY_PATH", ""), ':');
  for (std::string& folder : elf_run_path(program)) folders.push_back(std::move(folder));
  for (const std::string& folder : folders) {
    if (!folder.empty() && path_exists(folder + '/' + library)) {
      return std::filesystem::path(folder + '/' + library).lexically_normal().string();
    }
  }
  return std::nullopt;
}

}  // namespace hftrain::machine
