// Names that specs, inputs, constants and rows cannot have.
#include <doctest/doctest.h>

#include "errors_of.h"

namespace attngen::spec {
namespace {

std::string name_error(const std::string& name) {
  return errors_of("attngen: 1\nname: " + name +
                   "\ndtype: bf16\nheads: {q: 1, kv: 1}\nhead_dim: {qk: 8, v: 8}\n");
}

TEST_CASE("names that are no symbols or files") {
  CHECK(name_error("../../etc/x") ==
        "s.yaml:2:7: error: name must be a C identifier that begins with a letter, got "
        "'../../etc/x'\n"
        "    2 | name: ../../etc/x\n"
        "      |       ^~~~~~~~~~~\n"
        "help: it must begin with a letter of ASCII\n");
  CHECK(name_error("a-b").ends_with("help: use ASCII letters, digits and underscores\n"));
  CHECK(name_error("while") ==
        "s.yaml:2:7: error: a spec cannot be named 'while'\n"
        "    2 | name: while\n"
        "      |       ^~~~~\n"
        "help: it is a word of C, C++ or CUDA\n");
  CHECK(name_error("''").find("help: it is empty") != std::string::npos);
  CHECK(name_error(std::string(65, 'a')).find("help: it is longer than 64 bytes") !=
        std::string::npos);
  CHECK(name_error("\"a\\nb\"").find("must be a C identifier that begins with a letter") !=
        std::string::npos);
  CHECK(name_error(std::string(64, 'a')).empty());
  CHECK(errors_with("targets: [../h100]\n") ==
        "s.yaml:6:11: error: targets[0] must be a C identifier that begins with a letter, got "
        "'../h100'\n"
        "    6 | targets: [../h100]\n"
        "      |           ^~~~~~~\n"
        "help: it must begin with a letter of ASCII\n");
  CHECK(errors_with("inputs: {\xC3\xA9: {dtype: f32, shape: []}}\n") ==
        "s.yaml:6:10: error: '\xC3\xA9' must be a C identifier that begins with a letter\n"
        "    6 | inputs: {\xC3\xA9: {dtype: f32, shape: []}}\n"
        "      |          ^\n"
        "help: it must begin with a letter of ASCII\n");
}

TEST_CASE("names that no spec can have") {
  CHECK(name_error("stdint") ==
        "s.yaml:2:7: error: a spec cannot be named 'stdint'\n"
        "    2 | name: stdint\n"
        "      |       ^~~~~~\n"
        "help: stdint.h is a header of C, POSIX or CUDA already\n");
  CHECK(name_error("R") ==
        "s.yaml:2:7: error: a spec cannot be named 'R'\n"
        "    2 | name: R\n"
        "      |       ^\n"
        "help: R_OK is a macro of <unistd.h>\n");
  for (const std::string name :
       {"assert", "Math", "wordexp", "alloca", "cuda", "vector_types", "sm_20_intrinsics", "mma",
        "cuda_pipeline", "cuComplex", "curand_kernel", "cublasLt", "nvrtc", "f", "mm", "X"}) {
    CHECK(name_error(name).find("error: a spec cannot be named '" + name + "'\n") !=
          std::string::npos);
  }
  // It only begins names.
  for (const std::string name :
       {"unix", "I", "EDOM", "cuda_attention", "nv_attention", "sm_all", "q", "std"}) {
    CHECK(name_error(name) == "");
  }
  // Inputs name no headers.
  CHECK(errors_with("inputs: {x: {dtype: f32, shape: []}}\nconstants: {math: 1}\n"
                    "score: score + x + math\n") == "");
}

TEST_CASE("names that macros have") {
  CHECK(errors_with("inputs: {I: {dtype: f32, shape: [heads]}}\n") ==
        "s.yaml:6:10: error: 'I' cannot name an input\n"
        "    6 | inputs: {I: {dtype: f32, shape: [heads]}}\n"
        "      |          ^\n"
        "help: a macro of C's headers or of a compiler has that name already\n");
  CHECK(errors_with("normalize: {rows: {errno: 1}, weight: score, save: {unix: 1}}\n") ==
        "s.yaml:6:20: error: 'errno' cannot name a row value\n"
        "    6 | normalize: {rows: {errno: 1}, weight: score, save: {unix: 1}}\n"
        "      |                    ^~~~~\n"
        "help: a macro of C's headers or of a compiler has that name already\n"
        "s.yaml:6:53: error: 'unix' cannot name a saved value\n"
        "    6 | normalize: {rows: {errno: 1}, weight: score, save: {unix: 1}}\n"
        "      |                                                     ^~~~\n"
        "help: a macro of C's headers or of a compiler has that name already\n");
  CHECK(errors_with("inputs: {M_PIf: {dtype: f32, shape: []}}\n") ==
        "s.yaml:6:10: error: 'M_PIf' cannot name an input\n"
        "    6 | inputs: {M_PIf: {dtype: f32, shape: []}}\n"
        "      |          ^~~~~\n"
        "help: macros of <math.h> have such names\n");
  CHECK(errors_with("inputs: {EDOM: {dtype: f32, shape: []}}\n") ==
        "s.yaml:6:10: error: 'EDOM' cannot name an input\n"
        "    6 | inputs: {EDOM: {dtype: f32, shape: []}}\n"
        "      |          ^~~~\n"
        "help: names in capitals are left to macros, such as those of C's headers\n");
  const auto help_on = [](const std::string& name) {
    const std::string errors = errors_with("inputs: {" + name + ": {dtype: f32, shape: []}}\n");
    const size_t help = errors.find("help: ");
    return help == std::string::npos ? "" : errors.substr(help);
  };
  for (const std::string name :
       {"EOF", "CHAR_BIT", "BUFSIZ", "DBL_MAX", "INT64_MAX", "SIGINT", "NDEBUG", "R_OK", "MASK1"}) {
    CHECK(help_on(name).starts_with("help: names in capitals are left to macros"));
  }
  for (const std::string name : {"complex", "stdout", "L_tmpnam", "h_addr", "sa_handler"}) {
    CHECK(help_on(name).starts_with("help: a macro of C's headers"));
  }
  CHECK(help_on("PRId64") == "help: macros of <inttypes.h> have such names\n");
  CHECK(help_on("si_value") == "help: macros of <signal.h> have such names\n");
  CHECK(help_on("cudaStreamDefault") == "help: macros of CUDA have such names\n");
  CHECK(help_on("hipBlockDim_x") == "help: macros of HIP have such names\n");
  for (const std::string name : {"W", "K2", "Bias", "cuda_scale", "cu", "hip_", "side", "m_pi"}) {
    CHECK(help_on(name) == "");
  }
  // In a struct they would hide the type of the fields behind them.
  CHECK(help_on("uint8_t") == "help: the argument struct or emitted code uses that name already\n");
  // A constant is a number in the code.
  CHECK(errors_with("constants: {M_PI: 3.14, EPS: 1e-6}\nscore: score * M_PI + EPS\n") == "");
}

TEST_CASE("names that are taken") {
  CHECK(errors_with("constants: {exp: 1}\n") ==
        "s.yaml:6:13: error: 'exp' cannot name a constant\n"
        "    6 | constants: {exp: 1}\n"
        "      |             ^~~\n"
        "help: expressions use that name already\n");
  CHECK(errors_with("inputs: {half: {dtype: f32, shape: []}}\n") ==
        "s.yaml:6:10: error: 'half' cannot name an input\n"
        "    6 | inputs: {half: {dtype: f32, shape: []}}\n"
        "      |          ^~~~\n"
        "help: it is a word of C, C++ or CUDA\n");
  // A constant is a number in the code, and a name of let the text that it stands for.
  CHECK(errors_with("constants: {half: 0.5, float: 2}\nlet: {double: 2 * score}\n"
                    "score: half * double - float\n") == "");
  CHECK(errors_with("score: half * score\n").ends_with("help: declare it in constants\n"));
  for (const std::string word : {"and", "int", "true"}) {
    CHECK(errors_with("constants: {" + word + ": 1}\n")
              .ends_with("help: expressions use that name already\n"));
  }
  CHECK(errors_with("inputs: {stream: {dtype: f32, shape: []}}\n") ==
        "s.yaml:6:10: error: 'stream' cannot name an input\n"
        "    6 | inputs: {stream: {dtype: f32, shape: []}}\n"
        "      |          ^~~~~~\n"
        "help: the argument struct or emitted code uses that name already\n");
  CHECK(errors_with("inputs: {lse: {dtype: f32, shape: []}}\n") ==
        "s.yaml:6:10: error: 'lse' cannot name an input\n"
        "    6 | inputs: {lse: {dtype: f32, shape: []}}\n"
        "      |          ^~~\n"
        "help: a value of softmax has that name already\n");
  CHECK(errors_with(
            "inputs: {lse: {dtype: f32, shape: []}}\nnormalize: none\nscore: score + lse\n") == "");
  // An output alone, or saved values, leave the rest to softmax.
  CHECK(errors_with("constants: {m: 2}\nnormalize: {output: acc / l * m}\n") ==
        "s.yaml:6:13: error: 'm' cannot name a constant\n"
        "    6 | constants: {m: 2}\n"
        "      |             ^\n"
        "help: a value of softmax has that name already\n");
  const std::string lse = "inputs: {lse: {dtype: f32, shape: [heads]}}\nscore: score + lse[h]\n";
  CHECK(errors_with(lse + "normalize: {output: acc}\n").ends_with("has that name already\n"));
  CHECK(errors_with(lse + "normalize: {save: {m: m}}\n") == "");
  CHECK(errors_with("normalize: {save: {lse: log(l) + m, m: m}}\n") == "");
  CHECK(errors_with("inputs: {x: {dtype: f32, shape: []}}\nconstants: {x: 1}\n") ==
        "s.yaml:7:13: error: 'x' cannot name a constant\n"
        "    7 | constants: {x: 1}\n"
        "      |             ^\n"
        "help: an input has that name already\n");
  CHECK(errors_with("normalize: {rows: {old_m: 1, max_1: 2}, weight: score, save: {q: 1}}\n") ==
        "s.yaml:6:20: error: 'old_m' cannot name a row value\n"
        "    6 | normalize: {rows: {old_m: 1, max_1: 2}, weight: score, save: {q: 1}}\n"
        "      |                    ^~~~~\n"
        "help: emitted code uses such names\n"
        "s.yaml:6:30: error: 'max_1' cannot name a row value\n"
        "    6 | normalize: {rows: {old_m: 1, max_1: 2}, weight: score, save: {q: 1}}\n"
        "      |                              ^~~~~\n"
        "help: emitted code uses such names\n"
        "s.yaml:6:63: error: 'q' cannot name a saved value\n"
        "    6 | normalize: {rows: {old_m: 1, max_1: 2}, weight: score, save: {q: 1}}\n"
        "      |                                                               ^\n"
        "help: q, k, v and o are the tensors of a call\n");
  CHECK(errors_with("inputs: {attn_tables: {dtype: f32, shape: []}}\n")
            .ends_with("help: the argument struct or emitted code uses that name already\n"));
  CHECK(errors_with("inputs: {attn_mask: {dtype: f32, shape: []}}\nscore: score + attn_mask\n") ==
        "");
  CHECK(errors_with("constants: {k: 7}\n") ==
        "s.yaml:6:13: error: 'k' cannot name a constant\n"
        "    6 | constants: {k: 7}\n"
        "      |             ^\n"
        "help: q, k, v and o are the tensors of a call\n");
}

TEST_CASE("names that are taken in one pattern") {
  CHECK(errors_with(
            "inputs: {t: {dtype: f32, shape: [heads]}, heads: {dtype: f32, shape: []}}\n"
            "constants: {heads_v: 2}\n"
            "score: (score + heads) * t[h] / heads_v\n"
            "normalize: {rows: {seq: rowmax(score)}, weight: score - seq, save: {dim: seq}}\n") ==
        "");
  CHECK(errors_with_recurrent("constants: {t: 1}\n") ==
        "s.yaml:7:13: error: 't' cannot name a constant\n"
        "    7 | constants: {t: 1}\n"
        "      |             ^\n"
        "help: pattern recurrent uses that name already\n");
  CHECK(errors_with_recurrent("constants: {q_idx: 1}\n") ==
        "s.yaml:7:13: error: 'q_idx' cannot name a constant\n"
        "    7 | constants: {q_idx: 1}\n"
        "      |             ^~~~~\n"
        "help: it is reserved for pattern parallel\n");
}

}  // namespace
}  // namespace attngen::spec
