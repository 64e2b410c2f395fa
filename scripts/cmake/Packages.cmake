# What `cmake --install` writes besides programs and plug-ins, and the packages that CPack makes of it: a tarball and Debian packages.
#   cpack --config build/CPackConfig.cmake -B OUT            both; -G TGZ or -G DEB one of them
# The tree is the same in all of them and can be moved; the Debian packages have it in /opt/hftrain and link from /usr to it.

install(FILES README.md DESTINATION share/hftrain)
install(DIRECTORY configs docs DESTINATION share/hftrain)
install(PROGRAMS scripts/hftrain-libtorch DESTINATION bin)

# find_package(hftrain), for plug-ins.
include(CMakePackageConfigHelpers)
configure_file(scripts/cmake/package/hftrain-config.cmake.in package/hftrain-config.cmake @ONLY)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/hftrain-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/hftrain-config.cmake" "${PROJECT_BINARY_DIR}/package/hftrain-config-version.cmake"
  DESTINATION lib/cmake/hftrain)

# The man page and the completions are what the installed program prints.
install(CODE "
  set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  function(write_document FILE)
    get_filename_component(folder \"\${root}/\${FILE}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:hftrain>\" \${ARGN} OUTPUT_FILE \"\${root}/\${FILE}\" COMMAND_ERROR_IS_FATAL ANY)
  endfunction()
  write_document(share/man/man1/hftrain.1 docs man)
  write_document(share/bash-completion/completions/hftrain completion bash)
  write_document(share/zsh/site-functions/_hftrain completion zsh)
  write_document(share/fish/vendor_completions.d/hftrain.fish completion fish)
  execute_process(COMMAND gzip -9nf \"\${root}/share/man/man1/hftrain.1\" COMMAND_ERROR_IS_FATAL ANY)")

# Libraries whose headers become part of the programs: their licences go where the programs go.
foreach(package libcli11-dev nlohmann-json3-dev libfmt-dev libyaml-cpp-dev libgloo-dev)
  install(FILES "/usr/share/doc/${package}/copyright" DESTINATION share/doc/hftrain/licences RENAME "${package}" OPTIONAL)
endforeach()

set(CPACK_PACKAGE_NAME hftrain)
set(CPACK_PACKAGE_VENDOR "hftrain")
set(CPACK_PACKAGE_CONTACT "hftrain <hftrain@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "trains Hugging Face models from the shell, without Python")
set(CPACK_PACKAGE_DESCRIPTION "Reads the flags and YAML files of the Trainer, starts a worker per GPU or CPU rank and trains. LibTorch comes
 from the Python index, without Python: hftrain-libtorch fetch.")
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/scripts/cmake/PreparePackage.cmake")

# The plug-ins of Open MPI are a package of their own, so that nobody else needs Open MPI.
set(CPACK_COMPONENTS_ALL Unspecified mpi)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME hftrain)
set(CPACK_DEBIAN_UNSPECIFIED_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_DEPENDS "curl, unzip, ca-certificates")
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_RECOMMENDS "libcurl4")
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_SUGGESTS "hftrain-mpi, openssh-client")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME hftrain-mpi)
set(CPACK_DEBIAN_MPI_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "hftrain (= ${PROJECT_VERSION}), openmpi-bin")
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/scripts/cmake/debian/prerm")
set(CPACK_COMPONENT_MPI_DESCRIPTION "Ranks of hftrain under Open MPI's mpirun")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS OFF)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
# Libraries of the wheels, which no Debian package has.
if(TORCH_WHEEL_DIR)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${TORCH_WHEEL_DIR}/lib" "${TORCH_WHEEL_DIR}/../nvidia/nccl/lib" "${TORCH_WHEEL_DIR}/../pyarrow")
endif()
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/scripts/cmake/PackageOptions.cmake")
include(CPack)
