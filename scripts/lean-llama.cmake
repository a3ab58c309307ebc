# Read by CMake while pip builds llama-cpp-python (scripts/stages.py hands it over). The Python package needs libllama and libggml
# only; its own CMakeLists.txt forces llama.cpp's `common` library (argument parsing, chat parsers, an HTTP client) on.
# A normal variable set here, before that line, wins over the forced cache entry (CMake policy CMP0126).
set(LLAMA_BUILD_COMMON OFF)
