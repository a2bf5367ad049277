"""Models that were exported as ONNX: files of it, written here, and the runtime that is not ours."""
