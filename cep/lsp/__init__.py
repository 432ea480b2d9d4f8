"""The language server: what an editor shows about pattern files while they are being written.

The compiler does the work. What the compiler cannot say about a file that does not parse (which variables does this
half-written pattern have?) is read off its tokens, so completion works where it is needed most: in the middle of a
line. Needs the extra `lsp`; nothing but `cep.lsp.server` and `cep.lsp.protocol` import pygls.
"""
