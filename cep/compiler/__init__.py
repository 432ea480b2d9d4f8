"""The passes, one file each; `cep.compiler.pipeline` lists them in order."""
