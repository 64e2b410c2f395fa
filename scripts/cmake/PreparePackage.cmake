# Run by CPack between installing and packing. Programs and plug-ins look for LibTorch behind links of their own tree alone, never in the
# folder of the machine that built them; and a Debian package has links in /usr, where shells and man look.
file(GLOB_RECURSE programs "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*/hftrain*" "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*/libhftrain*.so")
foreach(program IN LISTS programs)
  if(IS_SYMLINK "${program}" OR NOT program MATCHES "/(bin/hftrain(-worker)?|lib/libhftrain(_[a-z]+)?\\.so)$")
    continue()
  endif()
  file(READ_ELF "${program}" RUNPATH path)
  list(FILTER path INCLUDE REGEX "^(\\$ORIGIN|/usr/lib/)")
  list(JOIN path ":" path)
  file(RPATH_SET FILE "${program}" NEW_RPATH "${path}")
endforeach()

# So does find_package(hftrain).
file(GLOB_RECURSE configurations "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/hftrain-config.cmake")
foreach(configuration IN LISTS configurations)
  file(READ "${configuration}" text)
  string(REGEX REPLACE "set\\(hftrain_torch \"/[^\"]*\"\\)" "set(hftrain_torch \"\")" text "${text}")
  file(WRITE "${configuration}" "${text}")
endforeach()

if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(root "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/Unspecified")
foreach(link
    usr/bin/hftrain:bin/hftrain
    usr/bin/hftrain-libtorch:bin/hftrain-libtorch
    usr/share/man/man1/hftrain.1.gz:share/man/man1/hftrain.1.gz
    usr/share/bash-completion/completions/hftrain:share/bash-completion/completions/hftrain
    usr/share/zsh/vendor-completions/_hftrain:share/zsh/site-functions/_hftrain
    usr/share/fish/vendor_completions.d/hftrain.fish:share/fish/vendor_completions.d/hftrain.fish)
  string(REGEX MATCH "^([^:]*):(.*)$" unused "${link}")
  set(from "${CMAKE_MATCH_1}")
  set(to "/opt/hftrain/${CMAKE_MATCH_2}")
  get_filename_component(folder "/${from}" DIRECTORY)
  file(RELATIVE_PATH to "${folder}" "${to}")
  file(MAKE_DIRECTORY "${root}${folder}")
  file(CREATE_LINK "${to}" "${root}/${from}" SYMBOLIC)
endforeach()
