# For projects that generate their kernels while they build. Both functions work after
# find_package(attngen CONFIG) and after add_subdirectory.

# attngen_generate(<variable> SPECS <file>... [TARGETS <name>...] [OUTPUT_DIR <dir>])
#
# Adds the commands that generate the specs' kernels, headers and manifests for the targets (h100 by
# default) into the folder (the current binary folder by default), and sets the variable to their
# paths. A spec that changes, and a new attngen, generate anew.
function(attngen_generate variable)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "OUTPUT_DIR" "SPECS;TARGETS")
  if(ARG_UNPARSED_ARGUMENTS OR NOT ARG_SPECS)
    message(FATAL_ERROR "attngen_generate(<variable> SPECS <file>... [TARGETS <name>...] "
                        "[OUTPUT_DIR <dir>])")
  endif()
  if(NOT ARG_TARGETS)
    set(ARG_TARGETS h100)
  endif()
  if(NOT ARG_OUTPUT_DIR)
    set(ARG_OUTPUT_DIR .)
  endif()
  get_filename_component(folder ${ARG_OUTPUT_DIR} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_BINARY_DIR})
  list(JOIN ARG_TARGETS "," targets)
  set(files)
  foreach(spec IN LISTS ARG_SPECS)
    get_filename_component(spec ${spec} ABSOLUTE)
    attngen_outputs_of(outputs ${spec} ${folder} ${targets})
    list(GET outputs 0 first)
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND attngen::attngen ${spec} -o ${folder} --target ${targets} --depfile ${first}.d
      DEPENDS ${spec} attngen::attngen
      DEPFILE ${first}.d
      COMMENT "Generating attention kernels from ${spec}"
      VERBATIM)
    list(APPEND files ${outputs})
  endforeach()
  set(${variable} ${files} PARENT_SCOPE)
endfunction()

# attngen_add_library(<target> SPECS <file>... [TARGETS <name>...] [OUTPUT_DIR <dir>])
#
# A static library of the kernels; what links it finds the headers. The project must have enabled
# the language CUDA, or HIP for mi250. Targets of one vendor: all define the same functions.
function(attngen_add_library target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "OUTPUT_DIR" "SPECS;TARGETS")
  set(language CUDA)
  if("mi250" IN_LIST ARG_TARGETS)
    set(language HIP)
    list(LENGTH ARG_TARGETS count)
    if(count GREATER 1)
      message(FATAL_ERROR "attngen_add_library: mi250 needs a library of its own")
    endif()
  endif()
  if(NOT CMAKE_${language}_COMPILER)
    message(FATAL_ERROR "attngen_add_library: enable the language ${language} first: "
                        "project(... LANGUAGES CXX ${language})")
  endif()
  if(NOT ARG_OUTPUT_DIR)
    set(ARG_OUTPUT_DIR ${target})
  endif()
  attngen_generate(files SPECS ${ARG_SPECS} TARGETS ${ARG_TARGETS} OUTPUT_DIR ${ARG_OUTPUT_DIR})
  get_filename_component(folder ${ARG_OUTPUT_DIR} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_BINARY_DIR})
  add_library(${target} STATIC ${files})
  set_target_properties(${target} PROPERTIES ${language}_STANDARD 17 ${language}_STANDARD_REQUIRED ON
                                             POSITION_INDEPENDENT_CODE ON)
  if(language STREQUAL HIP)
    set(sources ${files})
    list(FILTER sources INCLUDE REGEX "\\.hip$")
    set_source_files_properties(${sources} PROPERTIES LANGUAGE HIP)
    set_target_properties(${target} PROPERTIES HIP_ARCHITECTURES gfx90a)
    target_compile_options(${target} PRIVATE -fgpu-flush-denormals-to-zero)
  else()
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES 90a-real)
  endif()
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${folder}>)
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

function(attngen_ask variable spec folder targets)
  foreach(configuration "" _RELEASE _RELWITHDEBINFO _NOCONFIG _DEBUG _MINSIZEREL)
    get_target_property(location attngen::attngen IMPORTED_LOCATION${configuration})
    if(location)
      break()
    endif()
  endforeach()
  execute_process(COMMAND ${location} ${spec} -o ${folder} --target ${targets} --print-outputs
                  OUTPUT_VARIABLE lines ERROR_VARIABLE error RESULT_VARIABLE status
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${error}")
  endif()
  string(REPLACE "\n" ";" lines "${lines}")
  set(${variable} ${lines} PARENT_SCOPE)
endfunction()

# `name: llama` of YAML, `"name": "llama"` of JSON.
function(attngen_read_name variable spec)
  file(READ ${spec} text)
  if(NOT text MATCHES "(^|[\n{,])[ \t]*[\"']?name[\"']?[ \t]*:[ \t]*[\"']?([A-Za-z_][A-Za-z0-9_]*)")
    message(FATAL_ERROR "${spec}: no name")
  endif()
  set(${variable} ${CMAKE_MATCH_2} PARENT_SCOPE)
endfunction()
