include(direction)
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR}
  CALL keel_check_direction ${CMAKE_SOURCE_DIR}/src)

# What ./check runs through hundreds of simulated worlds.
set(keel_simulated base model share timeline core control agent sim)

# keel_layer(NAME [DEPENDS TARGET...] [TEST_DEPENDS TARGET...] [TEST_LABELS LABEL...]): all .cpp of
# the calling folder but tests and test fakes make the static library keel_NAME; all *_test.cpp make
# the program NAME_test. Linking names only the layers below, so an include that points upward also
# fails to link.
function(keel_layer name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;TEST_DEPENDS;TEST_LABELS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(sources)
    add_library(keel_${name} STATIC ${sources})
    target_include_directories(keel_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(keel_${name} PUBLIC ${ARG_DEPENDS} PRIVATE keel_warnings)
    if(name IN_LIST keel_simulated)
      keel_optimise_check(keel_${name})
    endif()
    keel_unite(keel_${name})
    keel_sees_wire(keel_${name} sees)
    if(sees)
      target_precompile_headers(keel_${name} REUSE_FROM keel_library_headers)
    endif()
  else()
    add_library(keel_${name} INTERFACE)
    target_include_directories(keel_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(keel_${name} INTERFACE ${ARG_DEPENDS})
  endif()
  if(tests)
    keel_test(${name}_test ${tests}
      LABELS ${ARG_TEST_LABELS} DEPENDS keel_${name} ${ARG_TEST_DEPENDS})
  endif()
endfunction()

# keel_program(NAME SOURCE... DEPENDS TARGET...): a program in bin/.
function(keel_program name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} keel_warnings)
endfunction()

# keel_unite(TARGET): ./check compiles sources in batches, as most of the time goes into what they
# share. So a name at the top of a file is a name in its whole folder, unnamed namespaces included.
function(keel_unite target)
  if(KEEL_SANITIZE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
endfunction()

# keel_apart(SOURCE...): these are compiled alone, as they use the same short words as others.
function(keel_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# Only what ./check builds. At -O3 GCC 12 sees overflows in strings of precompiled headers; and
# what ships shows that each file includes what it needs.
if(NOT KEEL_SANITIZE)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

# keel_headers(NAME PIC HEADER... DEPENDS TARGET...): heavy headers, parsed once for all that says
# target_precompile_headers(… REUSE_FROM NAME). They serve what is compiled as they are: PIC is ON
# for libraries and OFF for programs.
function(keel_headers name pic)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_library(${name} OBJECT ${CMAKE_SOURCE_DIR}/cmake/empty.cpp)
  target_link_libraries(${name} PRIVATE keel_warnings ${ARG_DEPENDS})
  target_precompile_headers(${name} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ${pic})
  if(NOT pic)
    target_compile_options(${name} PRIVATE -fPIE)
  endif()
endfunction()

set(gtest_headers <gmock/gmock.h> <gtest/gtest.h>)
set(wire_headers <keel/v1/agents.pb.h> <keel/v1/api.pb.h> <keel/v1/local.pb.h>)
keel_headers(keel_test_headers OFF ${gtest_headers} DEPENDS GTest::gmock GTest::gtest)

# Those of the wire contract, too, once its target is there.
function(keel_wire_headers)
  keel_headers(keel_library_headers ON ${wire_headers} DEPENDS keel_proto)
  keel_headers(keel_wire_test_headers OFF ${gtest_headers} ${wire_headers}
    DEPENDS keel_proto GTest::gmock GTest::gtest)
endfunction()

# Whether `target` sees the wire contract.
function(keel_sees_wire target result)
  set(${result} FALSE PARENT_SCOPE)
  if(target STREQUAL "keel_proto")
    set(${result} TRUE PARENT_SCOPE)
  elseif(TARGET ${target})
    get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
    foreach(link ${links})
      keel_sees_wire("${link}" sees)
      if(sees)
        set(${result} TRUE PARENT_SCOPE)
      endif()
    endforeach()
  endif()
endfunction()

# The test programs with the label tsan: what ./check --full builds with ThreadSanitizer.
add_custom_target(tsan_tests)

# keel_test(NAME SOURCE... [SERIAL] [TIMEOUT SECONDS] [LABELS LABEL...] DEPENDS TARGET...): a
# GoogleTest program; each case is a CTest test. Tests find the source tree by SOURCE_DIR and the
# programs by PROGRAM_DIR. Labels have a meaning for ./check: "slow" tests run with --full only,
# "tsan" tests a second time, under ThreadSanitizer. SERIAL: nothing else runs meanwhile.
function(keel_test name)
  cmake_parse_arguments(ARG "SERIAL" "TIMEOUT" "DEPENDS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  target_compile_definitions(${name} PRIVATE
    SOURCE_DIR="${CMAKE_SOURCE_DIR}" PROGRAM_DIR="${CMAKE_BINARY_DIR}/bin")
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} keel_warnings GTest::gmock GTest::gtest_main)
  set(headers keel_test_headers)
  foreach(link ${ARG_DEPENDS})
    keel_sees_wire(${link} sees)
    if(sees)
      set(headers keel_wire_test_headers)
    endif()
  endforeach()
  target_precompile_headers(${name} REUSE_FROM ${headers})
  keel_unite(${name})
  set(properties TIMEOUT ${ARG_TIMEOUT})
  if(ARG_SERIAL)
    list(APPEND properties RUN_SERIAL TRUE)
  endif()
  if(ARG_LABELS)
    # gtest_discover_tests cannot hand on a list; ctest -L and -LE are content with a part.
    list(JOIN ARG_LABELS "-" label)
    list(APPEND properties LABELS ${label})
  endif()
  if("tsan" IN_LIST ARG_LABELS)
    add_dependencies(tsan_tests ${name})
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()
