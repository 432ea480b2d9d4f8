"""Commands that run patterns in this process: `cep replay` and `cep test`."""
