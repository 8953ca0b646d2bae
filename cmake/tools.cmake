# ccache makes the second build cheap, mold makes each link cheap. Both are optional.
find_program(KEEL_CCACHE ccache)
if(KEEL_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${KEEL_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${KEEL_CCACHE})
endif()

find_program(KEEL_MOLD mold)
if(KEEL_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
