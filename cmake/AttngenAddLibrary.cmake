# For projects that generate their kernels while they build. Both functions work after
# find_package(attngen CONFIG) and after add_subdirectory.

# attngen_generate(<variable> SPECS <file>... [TARGETS <name>...] [OUTPUT_DIR <dir>])
#
# Adds the commands that generate the specs' kernels, headers and manifests for the targets (h100 by
# default) into the folder (the current binary folder by default), and sets the variable to their
# paths. A spec that changes, and a new attngen, generate anew.
function(attngen_generate variable)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "OUTPUT_DIR" "SPECS;TARGETS")
  attngen_check_values(attngen_generate "${ARG_KEYWORDS_MISSING_VALUES}")
  attngen_check_arguments(attngen_generate "${ARG_UNPARSED_ARGUMENTS}" "${ARG_SPECS}")
  if(NOT ARG_TARGETS)
    set(ARG_TARGETS h100)
  endif()
  if(NOT ARG_OUTPUT_DIR)
    set(ARG_OUTPUT_DIR .)
  endif()
  get_filename_component(folder "${ARG_OUTPUT_DIR}" ABSOLUTE BASE_DIR ${CMAKE_CURRENT_BINARY_DIR})
  list(JOIN ARG_TARGETS "," targets)
  set(files)
  foreach(spec IN LISTS ARG_SPECS)
    get_filename_component(spec ${spec} ABSOLUTE)
    attngen_outputs_of(outputs ${spec} ${folder} ${targets})
    attngen_write_once(${spec} ${outputs})
    # attngen leaves equal files untouched, but make takes what is older than its input for old.
    set(touch)
    if(CMAKE_GENERATOR MATCHES "Makefiles")
      set(touch COMMAND ${CMAKE_COMMAND} -E touch ${outputs})
    endif()
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND attngen::attngen ${spec} -o ${folder} --target ${targets}
      ${touch}
      DEPENDS ${spec} attngen::attngen
      COMMENT "Generating attention kernels from ${spec}"
      VERBATIM)
    list(APPEND files ${outputs})
  endforeach()
  set(${variable} ${files} PARENT_SCOPE)
endfunction()

# attngen_add_library(<target> SPECS <file>... [TARGETS <name>] [OUTPUT_DIR <dir>])
#
# A static library of the kernels for one target (h100 by default), in a folder of the target's name
# by default; what links it finds the headers. For NVIDIA the project must have enabled the language
# CUDA. Kernels for mi250 are compiled by hipcc, and the library brings libamdhip64; the project needs
# the language CXX and not HIP.
function(attngen_add_library target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "OUTPUT_DIR" "SPECS;TARGETS")
  attngen_check_values(attngen_add_library "${ARG_KEYWORDS_MISSING_VALUES}")
  attngen_check_arguments(attngen_add_library "${ARG_UNPARSED_ARGUMENTS}" "${ARG_SPECS}")
  list(LENGTH ARG_TARGETS count)
  if(count GREATER 1)
    list(JOIN ARG_TARGETS " " targets)
    message(FATAL_ERROR "attngen_add_library: the kernels for ${targets} define the same functions: "
                        "a library has one target (h100's and h200's run on both)")
  endif()
  # A compiler in the cache alone, as of another configuring, is no language of the project.
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("mi250" IN_LIST ARG_TARGETS)
    set(hip ON)
    if(NOT "CXX" IN_LIST languages)  # which links what hipcc compiled
      message(FATAL_ERROR "attngen_add_library: enable the language CXX first: "
                          "project(... LANGUAGES CXX)")
    endif()
  elseif(NOT "CUDA" IN_LIST languages)
    message(FATAL_ERROR "attngen_add_library: enable the language CUDA first: "
                        "project(... LANGUAGES CXX CUDA)")
  endif()
  if(NOT ARG_OUTPUT_DIR)
    set(ARG_OUTPUT_DIR ${target})
  endif()
  if(NOT ARG_TARGETS)
    set(ARG_TARGETS h100)
  endif()
  attngen_generate(files SPECS ${ARG_SPECS} TARGETS ${ARG_TARGETS} OUTPUT_DIR "${ARG_OUTPUT_DIR}")
  get_filename_component(folder "${ARG_OUTPUT_DIR}" ABSOLUTE BASE_DIR ${CMAKE_CURRENT_BINARY_DIR})
  if(hip)
    attngen_compile_with_hipcc(files ${files})
    add_library(${target} STATIC ${files})
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(${target} INTERFACE ${ATTNGEN_AMDHIP64})
  else()
    add_library(${target} STATIC ${files})
    set_target_properties(${target} PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON
                                               POSITION_INDEPENDENT_CODE ON
                                               CUDA_ARCHITECTURES 90a-real
                                               CUDA_SEPARABLE_COMPILATION OFF
                                               UNITY_BUILD OFF)
  endif()
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${folder}>)
endfunction()

# A list that is empty by mistake is not left out.
function(attngen_check_values name missing)
  if(missing)
    list(JOIN missing " and " words)
    message(FATAL_ERROR "${name}: ${words} without a value")
  endif()
endfunction()

# A word that neither function knows counts to the list before it, and is no file then.
function(attngen_check_arguments name unparsed specs)
  if(unparsed)
    list(GET unparsed 0 word)
    message(FATAL_ERROR "${name}: unknown argument '${word}': it takes SPECS, TARGETS and OUTPUT_DIR")
  endif()
  if(NOT specs)
    message(FATAL_ERROR "${name}: SPECS <file>... is missing")
  endif()
  foreach(spec IN LISTS specs)
    get_filename_component(path "${spec}" ABSOLUTE)
    # Lists, generator expressions and every build tool's files take them for something else.
    if("${spec} ${path}" MATCHES "[;|\\]|\\$<")
      message(FATAL_ERROR "${name}: '${spec}' in SPECS: CMake builds nothing from a path with ; | \\ or "
                          "$<, or with [ or ] alone")
    endif()
    if(NOT EXISTS ${path})
      message(FATAL_ERROR "${name}: '${spec}' in SPECS is no file")
    endif()
  endforeach()
endfunction()

# Replaces the .hip files of a list by the objects that hipcc makes of them. CMake's own language HIP
# is not to be had everywhere: Debian 12's CMake does not find Debian 12's HIP.
function(attngen_compile_with_hipcc variable)
  find_program(ATTNGEN_HIPCC NAMES hipcc HINTS ENV ROCM_PATH /opt/rocm PATH_SUFFIXES bin)
  find_library(ATTNGEN_AMDHIP64 NAMES amdhip64 HINTS ENV ROCM_PATH /opt/rocm PATH_SUFFIXES lib)
  if(NOT ATTNGEN_HIPCC OR NOT ATTNGEN_AMDHIP64)
    message(FATAL_ERROR "attngen_add_library: mi250 needs hipcc and libamdhip64, in the system's "
                        "folders, in /opt/rocm or where ROCM_PATH points")
  endif()
  set(files)
  foreach(file IN LISTS ARGN)
    if(file MATCHES "\\.hip$")
      add_custom_command(
        OUTPUT ${file}.o
        COMMAND ${ATTNGEN_HIPCC} --offload-arch=gfx90a -std=c++17 -O3 -fPIC
                -fgpu-flush-denormals-to-zero -c ${file} -o ${file}.o
        DEPENDS ${file}
        COMMENT "Compiling ${file}"
        VERBATIM)
      set(file ${file}.o)
    endif()
    list(APPEND files ${file})
  endforeach()
  set(${variable} ${files} PARENT_SCOPE)
endfunction()

# The paths that `attngen <spec> -o <folder> --target <targets>` writes. An installed attngen is
# asked; one that is part of this build does not exist yet, and the spec's text tells its name.
function(attngen_outputs_of variable spec folder targets)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${spec})
  get_target_property(imported attngen::attngen IMPORTED)
  if(imported)
    attngen_ask(outputs ${spec} ${folder} ${targets})
  else()
    attngen_read_name(name ${spec})
    set(outputs)
    string(REPLACE "," ";" targets ${targets})
    foreach(target IN LISTS targets)
      set(extension cu)
      if(target STREQUAL mi250)
        set(extension hip)
      endif()
      list(APPEND outputs ${folder}/${name}_${target}.${extension})
    endforeach()
    list(APPEND outputs ${folder}/${name}.h ${folder}/${name}.json)
  endif()
  set(${variable} ${outputs} PARENT_SCOPE)
endfunction()

# Refuses outputs that another command writes too: the two would take turns at the header and the
# manifest, which are of all targets of one call.
function(attngen_write_once spec)
  foreach(output IN LISTS ARGN)
    get_property(written GLOBAL PROPERTY attngen_outputs)
    if(output IN_LIST written)
      message(FATAL_ERROR "attngen_generate: ${output}, of ${spec}, would be written twice: give one "
                          "call all TARGETS, or each call an OUTPUT_DIR of its own")
    endif()
    set_property(GLOBAL APPEND PROPERTY attngen_outputs ${output})
  endforeach()
endfunction()

function(attngen_ask variable spec folder targets)
  get_target_property(location attngen::attngen LOCATION)  # of any configuration that is installed
  execute_process(COMMAND ${location} ${spec} -o ${folder} --target ${targets} --print-outputs
                  OUTPUT_VARIABLE lines ERROR_VARIABLE error RESULT_VARIABLE status
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${location} of ${spec}: status ${status}\n${error}")
  endif()
  string(REPLACE "\n" ";" lines "${lines}")
  set(${variable} ${lines} PARENT_SCOPE)
endfunction()

# The name in a spec's text: JSON, a YAML map in braces, or one by lines, where the key and its value
# must share a line, `name: llama`. A spec with `? name` or `name: >-` is told to write that.
function(attngen_read_name variable spec)
  file(READ ${spec} text)
  string(REPLACE "\r" "" text "${text}")
  # Before the map: a byte order mark, empty lines, comments, `%YAML 1.2` and `---`.
  string(ASCII 239 187 191 mark)
  string(REGEX MATCH "^(${mark})?([ \t]*([#%][^\n]*)?\n|---)*([ \t]*)([^ \t\n].*)$" text "${text}")
  set(indent "${CMAKE_MATCH_4}")
  set(map "${CMAKE_MATCH_5}")
  set(name)
  if(map MATCHES "^{")
    attngen_name_in_braces(name "${map}")
  elseif("\n${indent}${map}" MATCHES
         "\n${indent}[\"']?name[\"']?[ \t]*:[ \t]*[\"']?([A-Za-z_][A-Za-z0-9_]*)")
    set(name ${CMAKE_MATCH_1})
  endif()
  if(NOT name)
    message(FATAL_ERROR "${spec}: no name found: write `name: <name>` on a line of its own, indented "
                        "as the other keys are")
  endif()
  set(${variable} ${name} PARENT_SCOPE)
endfunction()

# The key `name` of the outermost braces of JSON; of YAML in braces the first that stands there at all.
function(attngen_name_in_braces variable map)
  string(JSON name ERROR_VARIABLE no_json GET "${map}" name)
  if(no_json)
    set(name)
    if(map MATCHES "[\n{,][ \t]*[\"']?name[\"']?[ \t]*:[ \t]*[\"']?([A-Za-z_][A-Za-z0-9_]*)")
      set(name ${CMAKE_MATCH_1})
    endif()
  endif()
  set(${variable} ${name} PARENT_SCOPE)
endfunction()
