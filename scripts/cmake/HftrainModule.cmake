# One target per module. A module sees the headers of the modules it links and of no other: its include folder holds a
# single link hftrain/<module> -> lib/hftrain/<module>, so a wrong edge is a missing file.
#
#   hftrain_add_module(NAME [SHARED] SOURCES a.cpp… LINKS PUBLIC t… PRIVATE t…)     -> target hftrain_NAME, hftrain::NAME
#   hftrain_add_test(NAME SOURCES a.cpp… LINKS t… [LABELS l…])                      -> executable test_NAME, one ctest per case
#                     (tags of a case become labels; a case that prints "SKIPPED: reason" counts as skipped)

add_library(hftrain_warnings INTERFACE)
# Not errors: g++ 12 sees overlapping copies in std::string where there are none (its bug 105651), and takes a designated
# initialiser that relies on a member's default for a mistake.
set(errors $<$<BOOL:${HFTRAIN_WERROR}>:-Werror> $<$<BOOL:${HFTRAIN_WERROR}>:-Wno-error=restrict>
  $<$<BOOL:${HFTRAIN_WERROR}>:-Wno-error=missing-field-initializers>)
target_compile_options(hftrain_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow ${errors}>)

function(hftrain_add_module NAME)
  cmake_parse_arguments(ARG "SHARED" "" "SOURCES;LINKS" ${ARGN})
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
endfunction()

function(hftrain_add_test NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;LABELS" ${ARGN})
  set(target test_${NAME})
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE hftrain_catch_main ${ARG_LINKS} hftrain_warnings)
  target_compile_definitions(${target} PRIVATE
    HFTRAIN_SOURCE_DIR="${PROJECT_SOURCE_DIR}" HFTRAIN_BINARY_DIR="${PROJECT_BINARY_DIR}"
    HFTRAIN_TEST_PYTHON="${HFTRAIN_TEST_PYTHON}")
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
