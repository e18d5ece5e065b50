"""Language models by URI: `echo:`, `local:`, `vllm:` and `openai:`."""
