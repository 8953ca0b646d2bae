# ccache makes the second build cheap, mold makes each link cheap. Both are optional.
find_program(KEEL_CCACHE ccache)
if(KEEL_CCACHE)
  # By the compiler's own list of what it read: a miss need not preprocess first. The rest is what
  # ccache asks for where headers are precompiled.
  set(launcher env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${KEEL_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

find_program(KEEL_MOLD mold)
if(KEEL_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
