include(direction)
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR}
  CALL keel_check_direction ${CMAKE_SOURCE_DIR}/src)

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
