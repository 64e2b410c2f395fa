# Sourced by setup, hftrain and test: where things lie and which LibTorch this machine needs. Defines names, runs nothing.

torch_version=2.11.0
pyarrow_version=26.0.1  # of its libraries and headers; lib/hftrain/data/parquet is written for this major version
source_dir=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
build_dir=$source_dir/build
programs_target=programs  # all that a run loads; CMake keeps the list (HftrainModule.cmake)
torch_environment=${XDG_CACHE_HOME:-$HOME/.cache}/hftrain/torch-$torch_version
ready_mark=$torch_environment/.hftrain-ready        # one word per complete installation; written last
incomplete_mark=$torch_environment/.hftrain-incomplete

# As CMake's cache has it: a relative one counts from where the script was called, which scripts/test leaves.
[[ -z ${HFTRAIN_TORCH_DIR:-} ]] || HFTRAIN_TORCH_DIR=$(realpath -sm -- "$HFTRAIN_TORCH_DIR")

# What tests compare with, besides torch, and the linter.
test_requirements=(transformers==5.17.0 accelerate==1.15.0 tensorboard datasets pyarrow==$pyarrow_version numpy pyyaml
  peft==0.21.2 scikit-learn==1.9.1 seqeval==1.2.2 rouge-score==0.1.2 sacrebleu==2.6.0 clang-tidy==22.1.8)

# ccache finds the same object again from another checkout, and takes precompiled headers by what they are made of.
export CCACHE_BASEDIR=$source_dir CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_INODECACHE=1 CCACHE_PCH_EXTSUM=1

say() { printf 'hftrain: %s\n' "$*" >&2; }
die() { say "error: $*"; exit 3; }

has_gpu() { compgen -G '/dev/nvidia[0-9]*' > /dev/null; }
has_nvcc() { type -P nvcc > /dev/null || [[ -x /usr/local/cuda/bin/nvcc ]]; }

# The installations: cpu (torch and the two CUDA libraries that libtorch_cpu itself loads), nccl (what the CUDA plug-in
# is compiled against where nvcc is present), gpu (all of torch), tests-SUM (all of torch and the packages of a list of
# requirements with that sum, so that one which grew is installed again).
# Prints those that are wanted for "run" or "tests", one per line.
wanted_installations() {
  if [[ $1 == tests ]]; then echo "tests-$(cksum <<< "${test_requirements[*]}" | cut -d ' ' -f 1)"
  elif has_gpu; then echo gpu
  elif has_nvcc; then printf 'cpu\nnccl\n'
  else echo cpu
  fi
}

# Whether installation $1 is there. A larger one contains the smaller.
is_installed() {
  local ready=" "
  [[ -e $ready_mark && ! -e $incomplete_mark ]] && ready=" $(< "$ready_mark") "
  ready=${ready//$'\n'/ }
  case $1 in
    tests-*) [[ $ready == *" $1 "* ]] ;;
    gpu) [[ $ready == *" gpu "* || $ready == *" tests"[\ -]* ]] ;;
    nccl) [[ $ready == *" nccl "* || $ready == *" gpu "* || $ready == *" tests"[\ -]* ]] ;;
    cpu) [[ $ready == *" "[cgt]* ]] ;;
  esac
}

# Whether the torch environment holds all that "run" or "tests" wants.
torch_is_installed() {
  local installation
  for installation in $(wanted_installations "$1"); do
    is_installed "$installation" || return 1
  done
}

# Whether the wheel pyarrow is there, beside LibTorch's; pip writes RECORD when all else is. Its only use is reading Parquet
# files: without it a plug-in is left out of the build.
pyarrow_is_installed() { compgen -G "$torch_environment/lib/python3.*/site-packages/pyarrow-$pyarrow_version.dist-info/RECORD" > /dev/null; }

# The folder `torch` of the wheel: HFTRAIN_TORCH_DIR, or the private environment's.
torch_dir() {
  if [[ -n ${HFTRAIN_TORCH_DIR:-} ]]; then
    printf '%s\n' "$HFTRAIN_TORCH_DIR"
    return
  fi
  local folders=("$torch_environment"/lib/python3.*/site-packages/torch)
  printf '%s\n' "${folders[0]}"
}

# ON with the compiler that CI has, Debian 12's for x86-64. Another one may warn of what nobody has seen, and a build does not end for
# that. CXX may be several words, as for CMake: "ccache g++".
warnings_are_errors() {
  local compiler=()
  read -ra compiler <<< "${CXX:-c++}"
  [[ $("${compiler[@]}" -dumpfullversion -dumpversion 2> /dev/null) == 12.2.* && $(uname -m) == x86_64 ]] && echo ON || echo OFF
}

# Configures the build folder; "$@": what scripts/hftrain and scripts/test do not share. Options that change how a source is compiled
# stand here alone, so that each takes what the other has built.
configure_build() {
  cmake -S "$source_dir" -B "$build_dir" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DHFTRAIN_WERROR=$(warnings_are_errors)" \
    "-DTORCH_WHEEL_DIR=$(torch_dir)" "$@"
}
