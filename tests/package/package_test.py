"""Installs attngen, moves the prefix, and builds users of it; then one by add_subdirectory.

usage: package_test.py <source folder> <build folder> [<test>...]
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1])
BUILD = pathlib.Path(sys.argv[2])
SKIPPED = 77
del sys.argv[1:3]


def run(*words, status=(0,), folder=None):
    result = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, cwd=folder,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                            text=True, timeout=600)
    if result.returncode not in status:
        raise AssertionError(f"{' '.join(map(str, words))}: {result.returncode}\n{result.stdout}")
    return result


class Package(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def install_and_move(self):
        """A prefix that is not where it was installed."""
        run("cmake", "--install", BUILD, "--prefix", self.folder / "there")
        return (self.folder / "there").rename(self.folder / "a prefix")

    def configure(self, source, *options):
        build = self.folder / "build"
        run("cmake", "-G", "Ninja", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
            *options)
        return build

    def check_generation(self, *options):
        """Generates at the first build, again when the spec changed, and never otherwise."""
        source = self.folder / "project"
        shutil.copytree(SOURCE / "tests/package/generate", source)
        build = self.configure(source, *options)
        run("cmake", "--build", build)
        for name in ("tiny_h100.cu", "tiny.h", "tiny.json"):
            self.assertTrue((build / "kernels" / name).stat().st_size > 0)
        self.assertIn("no work to do", run("cmake", "--build", build).stdout)

        spec = source / "my spec.yaml"
        spec.write_text(spec.read_text().replace("kv: 4", "kv: 2"))
        self.assertIn("Generating attention kernels", run("cmake", "--build", build).stdout)
        self.assertIn("must be 2", (build / "kernels/tiny.h").read_text())
        self.assertIn("no work to do", run("cmake", "--build", build).stdout)
        return build

    def test_installed_files(self):
        prefix = self.install_and_move()
        run(prefix / "bin/attngen", prefix / "share/attngen/specs/models/llama3_8b.yaml", "-o",
            self.folder / "out")
        self.assertEqual((prefix / "share/attngen/attngen.schema.json").read_text(),
                         run(prefix / "bin/attngen", "--schema").stdout)

    def test_find_package(self):
        prefix = self.install_and_move()
        build = self.check_generation(f"-DCMAKE_PREFIX_PATH={prefix}")
        (prefix / "bin/attngen").touch()  # as a new one
        self.assertIn("Generating attention kernels", run("cmake", "--build", build).stdout)
        self.assertIn("no work to do", run("cmake", "--build", build).stdout)

    def test_add_subdirectory(self):
        # Unoptimised and a room at once, since all of attngen is built once more.
        self.check_generation(f"-DATTNGEN_SOURCE={SOURCE}", "-DCMAKE_BUILD_TYPE=None",
                              "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0")

    def warnings_are_errors(self, build):
        """Whether all of the generator is compiled so."""
        commands = json.loads((build / "compile_commands.json").read_text())
        own = [command["command"].split() for command in commands if "/attngen_" in command["command"]]
        self.assertGreater(len(own), 5)
        strict = {"-Werror" in command for command in own}
        self.assertEqual(len(strict), 1)
        return strict.pop()

    def test_warnings(self):
        """The warning that a newer compiler adds breaks no user's build."""
        build = self.configure(SOURCE, "-DATTNGEN_BUILD_TESTS=OFF")
        self.assertFalse(self.warnings_are_errors(build))
        shutil.rmtree(build)
        build = self.configure(SOURCE / "tests/package/generate", f"-DATTNGEN_SOURCE={SOURCE}")
        self.assertFalse(self.warnings_are_errors(build))
        shutil.rmtree(build)
        run("cmake", "--preset", "release", "-B", build, "-DATTNGEN_BUILD_TESTS=OFF", folder=SOURCE)
        self.assertTrue(self.warnings_are_errors(build))

    def write_project(self, *calls):
        """A project without languages, which calls the functions on a.yaml."""
        source = self.folder / "project"
        source.mkdir(exist_ok=True)
        shutil.copy(SOURCE / "tests/package/generate/my spec.yaml", source / "a.yaml")
        (source / "CMakeLists.txt").write_text("\n".join([
            "cmake_minimum_required(VERSION 3.25)", "project(functions LANGUAGES NONE)",
            f"include({SOURCE}/cmake/AttngenAddLibrary.cmake)",
            "add_executable(attngen::attngen IMPORTED)",
            f"set_target_properties(attngen::attngen PROPERTIES IMPORTED_LOCATION {BUILD}/attngen)",
            *calls, ""]))
        return source

    def test_wrong_calls(self):
        twice = "attngen_generate(files SPECS a.yaml TARGETS {} OUTPUT_DIR there)"
        library = "attngen_add_library"
        for error, *calls in (
                ("attngen_add_library: the kernels for h100 h200 define the same functions",
                 f"{library}(kernels SPECS a.yaml TARGETS h100 h200)"),
                ("attngen_add_library: enable the language CUDA", f"{library}(kernels SPECS a.yaml)"),
                ("attngen_add_library: enable the language CXX",
                 f"{library}(kernels SPECS a.yaml TARGETS mi250)"),
                ("attngen_add_library: SPECS <file>... is missing", f"{library}(kernels TARGETS mi250)"),
                ("attngen_generate: OUTPUT_DIR and TARGETS without a value",
                 "attngen_generate(files SPECS a.yaml TARGETS OUTPUT_DIR)"),
                ("attngen_add_library: TARGETS without a value",
                 f"{library}(kernels SPECS a.yaml TARGETS)"),
                ("attngen_add_library: unknown argument 'a.yaml'", f"{library}(kernels a.yaml)"),
                ("attngen_add_library: 'TARGET' in SPECS is no file",
                 f"{library}(kernels SPECS a.yaml TARGET mi250)"),
                ("attngen_generate: unknown argument 'TARGET'",
                 "attngen_generate(files OUTPUT_DIR out TARGET h100 SPECS a.yaml)"),
                ("attngen_add_library: enable the language CUDA",
                 "set(CMAKE_CUDA_COMPILER nvcc CACHE FILEPATH x)", f"{library}(kernels SPECS a.yaml)"),
                ("attngen_add_library: enable the language CXX",
                 "set(CMAKE_CXX_COMPILER c++ CACHE FILEPATH x)",
                 f"{library}(kernels SPECS a.yaml TARGETS mi250)"),
                ("/none of " + str(self.folder / "project/a.yaml: status No such file or directory"),
                 "set_target_properties(attngen::attngen PROPERTIES IMPORTED_LOCATION /none)",
                 twice.format("h100")),
                ("would be written twice: give one call all TARGETS",
                 twice.format("h100"), twice.format("h200")),
                ("attngen_generate: 'b;c.yaml' in SPECS: CMake builds nothing from a path with ;",
                 "attngen_generate(files SPECS [=[b;c.yaml]=])"),
                ("attngen_generate: 'b[c.yaml;a.yaml' in SPECS: CMake builds nothing",
                 "attngen_generate(files SPECS [=[b[c.yaml]=] a.yaml)"),
                ("attngen_generate: 'b|c.yaml' in SPECS: CMake builds nothing",
                 "attngen_generate(files SPECS b|c.yaml)")):
            with self.subTest(calls):
                output = run("cmake", "-G", "Ninja", "-S", self.write_project(*calls), "-B",
                             self.folder / "build", status=(1,)).stdout
                self.assertIn(error, " ".join(output.split()))

    def test_build_type(self):
        """attngen of a build type that cmake does not know."""
        source = self.write_project(
            "set_property(TARGET attngen::attngen PROPERTY IMPORTED_LOCATION)",
            "set_target_properties(attngen::attngen PROPERTIES IMPORTED_CONFIGURATIONS ASAN",
            f"                      IMPORTED_LOCATION_ASAN {BUILD}/attngen)",
            "attngen_generate(files SPECS a.yaml)",
            "add_custom_target(kernels ALL DEPENDS ${files})")
        run("cmake", "--build", self.configure(source))

    def check_rest(self, generator):
        """A change of a spec that changes no output: attngen leaves them, and make would ask again."""
        self.folder /= "Bob's R&D"  # which Ninja does not know again in a depfile
        self.folder.mkdir()
        source, build = self.write_project(
            "attngen_generate(files SPECS a.yaml TARGETS mi250)",
            "add_custom_target(kernels ALL DEPENDS ${files})"), self.folder / "build"
        run("cmake", "-G", generator, "-S", source, "-B", build)
        generating = "Generating attention kernels"
        self.assertIn(generating, run("cmake", "--build", build).stdout)
        self.assertNotIn(generating, run("cmake", "--build", build).stdout)
        with (source / "a.yaml").open("a") as spec:
            spec.write("# the same\n")
        self.assertIn(generating, run("cmake", "--build", build).stdout)
        self.assertNotIn(generating, run("cmake", "--build", build).stdout)

    def test_makefiles(self):
        self.check_rest("Unix Makefiles")

    def test_ninja(self):
        self.check_rest("Ninja")

    def read_name(self, text, status=0):
        """What cmake prints, asked for the name in a spec's text."""
        script, spec = self.folder / "names.cmake", self.folder / "spec.yaml"
        script.write_text(f"include({SOURCE}/cmake/AttngenAddLibrary.cmake)\n"
                          "attngen_read_name(name ${CMAKE_ARGV3})\nmessage(STATUS ${name})\n")
        spec.write_text(text)
        return run("cmake", "-P", script, spec, status=(status,)).stdout

    def test_names(self):
        """Of specs whose other values look like a name."""
        for text in ("name: good", 'doc: "x, name: bad"\nname: good', "mask: |\n  name: bad\nname: good",
                     "{attngen: 1, name: good}", '# json\n{"doc": "\\"name\\": bad",\n "name": "good"}',
                     "---\n\"name\": 'good'\n", "%YAML 1.2\n# x\n---\n\nname: good\n", "--- {name: good}",
                     "\ufeffname: good", "# x\r\n  attngen: 1\r\n  name: good\r\n",
                     "  rows:\n    name: bad\n  name: good\n",
                     '{"rows": {"name": "bad"}, "doc": "a;b [c", "name": "good"}',
                     "{attngen: 1,\n 'name' : \"good\", rows: {name: bad}}"):
            with self.subTest(text):
                self.assertEqual(self.read_name(text), "-- good\n")

    def test_no_name(self):
        for text in ("", "name: >-\n  bad", "rows:\n  name: bad\n", '{"doc": "name: bad"}'):
            with self.subTest(text):
                output = " ".join(self.read_name(text, status=1).split())
                self.assertIn("spec.yaml: no name found: write `name: <name>` on a line of its own", output)

    def check_consumer(self, gpu):
        build = self.configure(SOURCE / "examples/cmake_consumer", f"-DGPU={gpu}",
                               f"-DCMAKE_PREFIX_PATH={self.install_and_move()}")
        run("cmake", "--build", build)
        self.assertIn("no work to do", run("cmake", "--build", build).stdout)
        print(run(build / "consumer", status=(0, SKIPPED)).stdout, end="")

    def test_example_consumer(self):
        self.check_consumer("h100")

    def test_example_consumer_hip(self):
        self.check_consumer("mi250")

    def test_example_flags(self):
        """Of a project that compiles its own files so."""
        build = self.configure(SOURCE / "examples/cmake_consumer",
                               f"-DCMAKE_PREFIX_PATH={self.install_and_move()}",
                               "-DCMAKE_CUDA_SEPARABLE_COMPILATION=ON", "-DCMAKE_UNITY_BUILD=ON",
                               "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
        commands = json.loads((build / "compile_commands.json").read_text())
        [kernel] = [command for command in commands if command["file"].endswith(".cu")]
        self.assertTrue(kernel["file"].endswith("_h100.cu"))
        self.assertNotIn("-rdc=true", kernel["command"])

    def check_vendored(self, compiler):
        """The README's command, but for the name of the program."""
        folder = SOURCE / "examples/vendored"
        commands = (folder / "README.md").read_text().replace("\\\n", " ").splitlines()
        [command] = [line for line in commands if line.startswith(f"{compiler} ")]
        words = command.split()
        self.assertEqual(words[-2:], ["-o", "vendored"])
        run(*words[:-1], self.folder / "vendored", folder=folder)
        print(run(self.folder / "vendored", status=(0, SKIPPED)).stdout, end="")

    def test_example_vendored(self):
        self.check_vendored("nvcc")

    def test_example_vendored_hip(self):
        self.check_vendored("hipcc")


if __name__ == "__main__":
    unittest.main(verbosity=2)
