"""Evaluation runs: exams over a library, calibration of abstention, benchmarks. Answers nothing itself."""
