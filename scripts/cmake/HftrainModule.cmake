# One target per module. A module sees the headers of the modules it links and of no other: its include folder holds a
# single link hftrain/<module> -> lib/hftrain/<module>, so a wrong edge is a missing file.
#
#   hftrain_add_module(NAME [SHARED [PACKAGE p]] SOURCES a.cpp… LINKS PUBLIC t… PRIVATE t…)    -> target hftrain_NAME, hftrain::NAME
#   hftrain_add_test(NAME [OPTIMISED] SOURCES a.cpp… LINKS t… [LABELS l…])          -> executable test_NAME, one ctest per case
#                     (tags of a case become labels, [alone] runs beside no other but, in scripts/test, one such; HFTRAIN_SKIP counts as skipped)

add_library(hftrain_warnings INTERFACE)
# Left out is what g++ 12 gets wrong: overlapping, endless or misplaced copies in std::string (its bug 105651), and a designated initialiser that
# relies on a member's default. As mere warnings they would be errors where a precompiled header is used: there it forgets what
# -Wno-error= said.
set(errors $<$<BOOL:${HFTRAIN_WERROR}>:-Werror>)
target_compile_options(hftrain_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wno-missing-field-initializers ${errors}>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds>)

# What a run needs beside LibTorch: the programs and the plug-ins they load. scripts/hftrain builds this target and no other.
add_custom_target(programs)

# Four headers are compiled once and put before every source (precompiled/): those of the C++ library and of JSON, those of LibTorch,
# and both again with Catch2 for tests. Without that, headers are two thirds of the time of a clean build.
option(HFTRAIN_PRECOMPILED_HEADERS "Compile common headers once; off: sources as lint sees them" ON)

# The target that owns precompiled header KIND. The rest are libraries whose include paths and definitions it is made with.
function(hftrain_precompile KIND)
  set(owner hftrain_precompiled_${KIND})
  set(source "${PROJECT_BINARY_DIR}/precompiled/${KIND}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Owns a precompiled header.\n")
  add_library(${owner} OBJECT EXCLUDE_FROM_ALL "${source}")
  target_compile_options(${owner} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  target_link_libraries(${owner} PRIVATE hftrain_warnings nlohmann_json::nlohmann_json fmt::fmt ${ARGN})
  if(KIND MATCHES "tests")
    target_compile_options(${owner} PRIVATE ${test_options})
  endif()
  # In angle brackets: a header that names no checkout is found by the compiler cache from any.
  target_include_directories(${owner} PRIVATE "${PROJECT_SOURCE_DIR}/scripts/cmake")
  target_precompile_headers(${owner} PRIVATE <precompiled/${KIND}.h>)
  # g++ writes other bytes each time. The compiler cache takes this text for them (CCACHE_PCH_EXTSUM): all that the header is made of.
  file(GLOB headers "${PROJECT_SOURCE_DIR}/scripts/cmake/precompiled/*.h")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
  set(text "")
  foreach(header IN LISTS headers)
    file(READ "${header}" part)
    string(APPEND text "${part}")
  endforeach()
  file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/CMakeFiles/${owner}.dir/cmake_pch.hxx.gch.sum" CONTENT
    "${KIND} ${text}${CMAKE_CXX_COMPILER_VERSION} $<CONFIG> ${CMAKE_CXX_FLAGS}
json ${nlohmann_json_VERSION} fmt ${fmt_VERSION} Catch2 ${Catch2_VERSION} torch ${TorchWheel_VERSION}\n")
endfunction()

# Tests run once after they were compiled: what they test is optimised, they are not. Where templates of both are the same, the
# linker takes those of the tests; a test program that spends long in them is OPTIMISED, without the tests' precompiled header.
set(test_options $<$<CONFIG:Release>:-O0>)

# For modules that decide and never compute: half the time to compile, no difference to a user.
function(hftrain_compile_quickly TARGET)
  target_compile_options(${TARGET} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# Gives the sources of TARGET the precompiled header "standard", or "torch" where LibTorch is among the libraries that follow. Sources
# with options of their own do without: g++ takes a precompiled header only where the same macros are defined (levels of optimisation
# may differ, but for -O0). Called at the end of a folder's CMakeLists.txt, when those options are known.
function(hftrain_use_precompiled TARGET SUFFIX)
  if(NOT HFTRAIN_PRECOMPILED_HEADERS)
    return()
  endif()
  set(kind standard)
  list(TRANSFORM below_the_line PREPEND "hftrain::" OUTPUT_VARIABLE with_torch)
  foreach(library IN LISTS with_torch ITEMS TorchWheel::cpu hftrain_rank_processes)
    if(library IN_LIST ARGN)
      set(kind torch)
    endif()
  endforeach()
  target_precompile_headers(${TARGET} REUSE_FROM hftrain_precompiled_${kind}${SUFFIX})
  # The compiler cache preprocesses a source before it looks: with this the header is named there instead of read again.
  target_compile_options(${TARGET} PRIVATE -fPIC $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # programs too, as the header is made
  get_target_property(sources ${TARGET} SOURCES)
  foreach(source IN LISTS sources)
    get_source_file_property(options "${source}" COMPILE_OPTIONS)
    if(options)
      set_source_files_properties("${source}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

function(hftrain_add_module NAME)
  cmake_parse_arguments(ARG "SHARED" "PACKAGE" "SOURCES;LINKS" ${ARGN})
  set(include_root "${PROJECT_BINARY_DIR}/modules/${NAME}")
  file(MAKE_DIRECTORY "${include_root}/hftrain")
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}" "${include_root}/hftrain/${NAME}" SYMBOLIC)
  set(target hftrain_${NAME})
  if(NOT ARG_SOURCES)
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE "${include_root}")
  else()
    if(ARG_SHARED)
      add_library(${target} SHARED ${ARG_SOURCES})
    else()
      add_library(${target} STATIC ${ARG_SOURCES})
    endif()
    target_include_directories(${target} PUBLIC "${include_root}")
    target_link_libraries(${target} PRIVATE hftrain_warnings)
  endif()
  add_library(hftrain::${NAME} ALIAS ${target})
  if(ARG_LINKS)
    target_link_libraries(${target} ${ARG_LINKS})
  endif()
  if(ARG_SHARED)
    add_dependencies(programs ${target})
    set(package Unspecified)  # of Debian's; the others are named in Packages.cmake
    if(ARG_PACKAGE)
      set(package ${ARG_PACKAGE})
    endif()
    install(TARGETS ${target} LIBRARY DESTINATION lib COMPONENT ${package})
  endif()
  if(ARG_SOURCES)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL hftrain_use_precompiled ${target} [[]] hftrain::${NAME} ${ARG_LINKS})")
  endif()
endfunction()

function(hftrain_add_test NAME)
  cmake_parse_arguments(ARG "OPTIMISED" "" "SOURCES;LINKS;LABELS" ${ARGN})
  set(target test_${NAME})
  set(precompiled _tests)
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE hftrain_catch_main ${ARG_LINKS} hftrain_warnings)
  if(ARG_OPTIMISED)
    hftrain_compile_quickly(${target})
    set(precompiled "[[]]")
  else()
    target_compile_options(${target} PRIVATE ${test_options})
  endif()
  cmake_language(EVAL CODE "cmake_language(DEFER CALL hftrain_use_precompiled ${target} ${precompiled} ${ARG_LINKS})")
  set(cases "${CMAKE_CURRENT_BINARY_DIR}/${target}-cases.cmake")
  string(REPLACE ";" "," labels "${NAME};${ARG_LABELS}")
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM COMMAND "${CMAKE_COMMAND}"
    -D "PROGRAM=$<TARGET_FILE:${target}>" -D "MODULE=${NAME}" -D "LABELS=${labels}" -D "OUTPUT=${cases}"
    -P "${PROJECT_SOURCE_DIR}/scripts/cmake/DiscoverTests.cmake")
  # A test program that was not built is one failing test, so that it cannot be overlooked.
  set(guard "${CMAKE_CURRENT_BINARY_DIR}/${target}-include.cmake")
  file(WRITE "${guard}" "if(EXISTS \"${cases}\")\n  include(\"${cases}\")\nelse()\n"
    "  add_test(\"${NAME}: not built\" ${target})\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${guard}")
endfunction()
